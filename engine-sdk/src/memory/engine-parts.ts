/** What the in-process engine reports about itself, and helpers for its answers. */
import { GIVE_WAY } from "../budget/cutoff.ts"
import type { Capabilities } from "../capabilities.ts"
import type { Awaitable, SearchBudget } from "../engine.ts"
import { type EngineError, type Result } from "../errors.ts"
import { type EarlyTexts } from "../index/reader.ts"
import type { SearchAnswer, SearchPlan, UnionAnswer } from "../plan.ts"
import type { LaneDone } from "../lane/job.ts"
import { unpacked } from "../lane/portable.ts"

/** A collection that failed to open; every request for it gets this error. */
export class NotOpened extends Error {
  readonly failure: EngineError
  constructor(failure: EngineError) {
    super(failure.message)
    this.failure = failure
  }
}

export interface DocumentReads {
  text(key: number, seq: number): string | undefined
  bytes(key: number): number
  /** Makes commits by the writer readable. */ refresh(): void
  /** Keeps texts that are not on disk yet. */ keep?(key: number, texts: EarlyTexts): void
  /** Texts up to this batch are on disk. */ readable?(key: number, batch: number): void
  forget?(key: number): void
  /** The texts that it keeps. */ earlyTexts?(key: number): EarlyTexts["texts"]
}

export const EXACT: Capabilities["grades"] = {
  typo_candidates: "exact",
  prefix_typo: "exact",
  infix: "exact",
  token_dropping: "exact",
  text_score_values: "exact",
  exact_ties: "exact",
  facet_counts: "exact",
  distinct_values: "exact",
  group_totals: "exact",
  array_grouping: "exact",
  joins: "exact",
  geo_polygon: "exact",
  vector_index: "exact",
  radial_vector: "exact",
  hybrid: "exact",
  highlight: "exact",
  per_element_filters: "exact",
  stable_scan: "exact",
  by_filter_write_with_ids: "exact",
  conditional_write: "exact"
}
export const APPROXIMATE: Capabilities["grades"] = {
  ...EXACT,
  vector_index: "approximate",
  radial_vector: "approximate",
  hybrid: "approximate"
}
/** Plans of one call share the longest time limit among them. */
export const budgetOf = (plans: ReadonlyArray<SearchPlan>): SearchBudget => ({
  limit_ms: plans.reduce((most, { cutoff_ms }) => Math.max(most, cutoff_ms), 0),
  used_ms: 0
})
export const isLong = (plans: ReadonlyArray<SearchPlan>): boolean => plans.some((plan) => plan.isLong === true)
/** Number of leading answers that can be kept; the answer after them takes too long for this thread. */
export const keptOf = (answers: ReadonlyArray<Result<SearchAnswer>>): number => {
  const first = answers.findIndex((answer) => {
    if (answer.ok) answer.value.window?.keep()
    return answer.ok && answer.value.window?.isWhole === false
  })
  return first < 0 ? answers.length : first
}
export const collectionsOf = (plans: ReadonlyArray<SearchPlan>): ReadonlyArray<string> =>
  plans.map(({ collection }) => collection)
export const unionOf = (laned: Result<LaneDone>): Result<UnionAnswer> =>
  laned.ok && laned.value.done.kind === "union"
    ? unpacked(laned.value.done.answer, laned.value.texts)
    : (laned as Result<never>)
/** Runs work; if a collection could not be opened, the error is returned instead of thrown. */
export const answering = <A>(failed: (error: EngineError) => A, run: () => Awaitable<A>): Awaitable<A> => {
  const answer = run()
  return answer instanceof Promise
    ? answer.catch((error: unknown) => {
        if (error instanceof NotOpened) return failed(error.failure)
        throw error
      })
    : answer
}
/** The outcome of a warm-up search, whose caller does not wait; it has no answer if the search yielded. */
export interface Practised {
  readonly isRun: boolean
  readonly answer: Result<SearchAnswer> | undefined
}
export const NOT_RUN: Practised = { isRun: false, answer: undefined }
export const practising = (run: () => Result<SearchAnswer>): Practised => {
  try {
    return { isRun: true, answer: run() }
  } catch (error) {
    if (error !== GIVE_WAY) throw error
    return { isRun: true, answer: undefined }
  }
}
