/**
 * Turns an execution into what the wire shows: hits with their scores and highlights, groups, facets and the envelope
 * (`docs/contract/search.md#envelope`).
 */
import { fail, notFound, ok, type Result } from "../../errors.ts"
import type { SearchAnswer, SearchPlan } from "../../plan.ts"
import { AnswerRefused } from "../../budget/answer-budget.ts"
import { Allowance, Cutoff, LateQuantum, within } from "../../budget/cutoff.ts"
import { execute, type Execution } from "../execution/execution.ts"
import { fixedPlace, organicPlace, type Placed } from "../execution/placed.ts"
import { interleave } from "../rank/placement.ts"
import type { SearchScope } from "../scope.ts"
import { putPage } from "./answer-json.ts"
import { correctionsOf } from "./corrections.ts"
import { facetsOf } from "./facet-answer.ts"
import { HitRenderer } from "./hit-renderer.ts"
import type { FoundHit } from "./page-text.ts"
import { RenderedWindow } from "./rendered-window.ts"

/**
 * Minimum time for making hits, granted even after the deadline. Together with the minimums for ordering and facets, a
 * search takes at most its `search_cutoff_ms` plus fifteen milliseconds.
 */
const HITS_MIN_MS = 5

/** A refusal thrown during the search becomes a failed result; a defect is thrown on. */
export const withinBudget = <A>(plans: ReadonlyArray<SearchPlan>, run: () => Result<A>): Result<A> => {
  const budget = plans[0]?.budget
  if (budget?.refusal !== undefined) return fail(budget.refusal)
  const held = budget?.held ?? 0
  try {
    return run()
  } catch (error) {
    if (!(error instanceof AnswerRefused)) {
      // The search is abandoned and restarted elsewhere, so release what it held.
      budget?.holdAgain(held)
      throw error
    }
    budget?.refuse(error)
    return fail(error.error)
  }
}
/**
 * NotFound for an unknown collection; Invalid or Overloaded if the answer becomes too large. Runs to the end on the
 * calling thread, unless the allowance has a quantum: then it may throw `GIVE_WAY`. `left_ms`: time left for the
 * request, if that is less than the plan allows.
 */
export const executeSearch = (
  scope: SearchScope,
  plan: SearchPlan,
  allowance = new Allowance(),
  left_ms = Infinity
): Result<SearchAnswer> => withinBudget([plan], () => answerOf(scope, plan, allowance, left_ms))
const answerOf = (
  scope: SearchScope,
  plan: SearchPlan,
  allowance: Allowance,
  left_ms: number
): Result<SearchAnswer> => {
  const started = performance.now()
  const reader = scope.collection(plan.collection)
  if (reader === undefined) return fail(notFound("Collection not found"))
  if (plan.vector?.likeId !== undefined && reader.locate(plan.vector.likeId) === undefined)
    return fail({
      kind: "Invalid",
      message: "Document id referenced in vector query is not found.",
      parameter: "vector_query"
    })
  const from = plan.offset,
    end = Math.min(plan.offset + plan.limit, plan.hits_max)
  const reach = Math.max(from, end, plan.window?.size ?? 0)
  const execution = execute(scope, reader, plan, reach, cutoffOf(allowance, plan, left_ms))
  try {
    const answer =
      execution.grouping !== undefined
        ? groupedAnswer(execution, from, end, started)
        : plan.window === undefined
          ? pageAnswer(execution, from, end, started)
          : windowAnswer(execution, plan.window, from, end, started)
    if (plan.injected !== undefined) answer.organic = execution.organicDocuments
    return ok(answer)
  } finally {
    execution.release()
  }
}
const pageAnswer = (execution: Execution, from: number, end: number, started: number): SearchAnswer => {
  const render = new HitRenderer(execution)
  const placed = execution.page(from, end)
  const { found, hits } = rendering(execution, () => {
    const found = render.page(placed)
    return { found, hits: found === undefined ? placed.flatMap((one) => render.hit(one) ?? []) : [] }
  })
  const answer = envelope(execution, execution.foundDocuments, started, {
    page: found,
    hits,
    facet_counts: facetsOf(execution, placed)
  })
  putCorrections(answer, execution, placed, render)
  return answer
}
const groupedAnswer = (execution: Execution, from: number, end: number, started: number): SearchAnswer => {
  const render = new HitRenderer(execution)
  const { groups, total } = execution.groupPage(from, end)
  const grouped = rendering(execution, () =>
    groups.map(({ members, found }) => ({
      group_key: render.groupKey(members[0]),
      hits: members.flatMap((one) => render.hit(one) ?? []),
      found
    }))
  )
  const placed = groups.flatMap(({ members }) => members)
  const answer = envelope(execution, total, started, {
    found_docs: execution.unplacedDocuments,
    grouped_hits: grouped,
    facet_counts: facetsOf(execution, placed)
  })
  putCorrections(answer, execution, placed, render)
  return answer
}
/** There are no hits yet: they are made from the window once it is ordered. */
const windowAnswer = (
  execution: Execution,
  window: NonNullable<SearchPlan["window"]>,
  from: number,
  end: number,
  started: number
): SearchAnswer => {
  const render = new HitRenderer(execution)
  const organic = execution.rank(window.size).slice(0, window.size).map(organicPlace)
  const fixed = execution.pinned.map((pin) => ({ ...fixedPlace(pin), position: pin.position }))
  const answer = envelope(execution, execution.foundDocuments, started, {
    hits: [],
    facet_counts: facetsOf(execution, interleave(organic, fixed, end).slice(from))
  })
  answer.window = new RenderedWindow(
    window.fields,
    new LateQuantum(execution.cutoff),
    organic.map((placed) => ({ placed, render })),
    fixed.map((placed) => ({ placed, render, position: placed.position }))
  )
  putCorrections(answer, execution, organic, render)
  return answer
}
const putCorrections = (
  answer: SearchAnswer,
  execution: Execution,
  placed: ReadonlyArray<Placed>,
  render: HitRenderer
): void => {
  if (execution.plan.corrects !== true) return
  const corrections = rendering(execution, () => correctionsOf(execution, placed, render))
  if (corrections.length > 0) answer.corrections = corrections
}

export const cutoffOf = (allowance: Allowance, plan: SearchPlan, left_ms: number): Cutoff =>
  new Cutoff(allowance, Math.min(allowance.used_ms() + plan.cutoff_ms, left_ms))
const rendering = <A>(execution: Execution, run: () => A): A => {
  const cutoff = execution.cutoff.atLeast(HITS_MIN_MS)
  const made = within(cutoff, run)
  execution.isCutOff ||= cutoff.isPast
  return made
}

/**
 * `page`: hits that may never be read, given in place of `hits`. Assigning members one by one is several times cheaper
 * than spreading the object.
 */
const envelope = (
  execution: Execution,
  found: number,
  started: number,
  parts: Pick<SearchAnswer, "found_docs" | "hits" | "grouped_hits" | "facet_counts"> & {
    readonly page?: ReadonlyArray<FoundHit> | undefined
  }
): SearchAnswer => {
  const { plan, reader } = execution
  const { echo } = plan
  const answer = { facet_counts: parts.facet_counts, found } as SearchAnswer
  if (parts.found_docs !== undefined) answer.found_docs = parts.found_docs
  if (parts.grouped_hits !== undefined) answer.grouped_hits = parts.grouped_hits
  else if (parts.page !== undefined) putPage(answer, { found: parts.page, v1: plan.highlight.v1 })
  else answer.hits = parts.hits ?? []
  if (plan.metadata !== undefined) answer.metadata = plan.metadata
  if (echo.offset !== undefined) answer.offset = echo.offset
  if (!echo.excludeOutOf) answer.out_of = reader.documentCount
  if (echo.page !== undefined) answer.page = echo.page
  answer.request_params = { collection_name: plan.collection, first_q: echo.q, per_page: echo.per_page, q: echo.q }
  answer.search_cutoff = execution.isCutOff
  if (!echo.excludeSearchTime) answer.search_time_ms = Math.round(performance.now() - started)
  return answer
}
