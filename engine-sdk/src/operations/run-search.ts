/**
 * `run`: sends planned searches to the engine, and applies their host's rules and stages. A search without either costs
 * one call: its plan is sent to the engine unchanged and the engine's answer is returned.
 */
import type { Awaitable } from "../engine.ts"
import { fail, ok, type EngineError, type Result } from "../errors.ts"
import { after } from "../pipeline/awaitable.ts"
import {
  merchandise,
  merchandiseUnion,
  type MerchandisedSearch,
  type MerchandiseEnvironment,
  type SearchExtras,
  type Trace
} from "../pipeline/mod.ts"
import type { SearchAnswer, SearchPlan, UnionAnswer, WordCorrection } from "../plan.ts"
import { compileUnion } from "../query/compile-union.ts"
import type { OperationContext } from "./operation.ts"
import { budgetOf, refusable } from "./answer-bound.ts"
import type { PlannedSearch, PlannedUnion } from "./planned-search.ts"

/**
 * What rules and stages need from their host: its clock, its rerankers, popular and recommended documents, and whether
 * the caller is still waiting for the answer.
 */
export type Environment = Pick<
  MerchandiseEnvironment,
  "now_us" | "reranker" | "popular" | "recommended" | "meaning" | "signal"
>

/** An answer, with what rules and stages report. */
export interface FoundAnswer<Answer = SearchAnswer> {
  readonly answer: Answer
  readonly extras?: SearchExtras
  readonly trace?: Trace
  /** False for a redirect, for which no search is made. */
  readonly asked: boolean
  /** Set if the plan requested them and there are any. */ readonly corrections?: ReadonlyArray<WordCorrection>
}

/** Runs one search; returns its answer, or why there is none. */
export const runSearch = (
  context: OperationContext,
  search: PlannedSearch,
  environment?: Environment
): Promise<Result<FoundAnswer>> => refusable(async () => (await answersOf(context, [search], environment))[0]!)

/** A failure of the engine, not of the request. */
export const isAway = ({ kind }: EngineError): boolean =>
  kind === "Unavailable" || kind === "Overloaded" || kind === "TimedOut"

/**
 * Runs searches; returns one answer or one failure per search, in order. Fails if all of them together are too large;
 * fails with the engine's failure if the engine answers none of them.
 */
export const runSearches = (
  context: OperationContext,
  searches: ReadonlyArray<PlannedSearch>,
  environment?: Environment
): Promise<Result<ReadonlyArray<Result<FoundAnswer>>>> =>
  refusable(async () => {
    const answers = await answersOf(context, searches, environment)
    const { refusal } = budgetOf(context)
    if (refusal !== undefined) return fail(refusal)
    const [first] = answers
    const isNone = first?.ok === false && answers.every((answer) => !answer.ok && isAway(answer.error))
    return isNone ? first : ok(answers)
  })

/** Runs a union. Invalid if the searches do not fit together (`compileUnion`). */
export const runUnion = (
  context: OperationContext,
  { paging, removeDuplicates, searches }: PlannedUnion,
  own?: Environment
): Promise<Result<FoundAnswer<UnionAnswer>>> =>
  refusable(async () => {
    const environment = environmentOf(context, searches, own)
    const found = await (environment === undefined
      ? engineUnion(context, { paging, removeDuplicates, searches })
      : merchandiseUnion(environment, searches.map(merchandisedOf), { ...paging, removeDuplicates }))
    const { refusal } = budgetOf(context)
    return refusal === undefined ? found : fail(refusal)
  })
const engineUnion = (
  context: OperationContext,
  { paging, removeDuplicates, searches }: PlannedUnion
): Awaitable<Result<FoundAnswer<UnionAnswer>>> => {
  const union = compileUnion(
    searches.map(({ plan }) => plan),
    paging,
    removeDuplicates
  )
  return union.ok ? after(context.engine.union(context.namespace, union.value), plain) : union
}

/** One answer or one failure per search, in order, with as few engine calls as the engine's limit allows. */
const answersOf = (
  context: OperationContext,
  searches: ReadonlyArray<PlannedSearch>,
  own: Environment | undefined
): Awaitable<ReadonlyArray<Result<FoundAnswer>>> => {
  const environment = environmentOf(context, searches, own)
  const answers =
    environment === undefined
      ? engineAnswers(
          context,
          searches.map(({ plan }) => plan)
        )
      : merchandise(environment, searches.map(merchandisedOf))
  return searches.some(({ plan }) => plan.corrects === true)
    ? after(answers, (results): ReadonlyArray<Result<FoundAnswer>> => results.map(apart))
    : answers
}
/** Corrections are kept separately from the answer, because they are not sent to the client. */
const apart = (result: Result<FoundAnswer>): Result<FoundAnswer> => {
  const corrections = result.ok ? result.value.answer.corrections : undefined
  if (!result.ok || corrections === undefined) return result
  delete result.value.answer.corrections
  return ok({ ...result.value, corrections })
}

/** undefined if no search has rules or stages. */
const environmentOf = (
  { engine, namespace }: OperationContext,
  searches: ReadonlyArray<PlannedSearch>,
  own: Environment | undefined
): MerchandiseEnvironment | undefined =>
  own === undefined || !searches.some((search) => search.merchandise !== undefined)
    ? undefined
    : { ...own, engine, namespace, explain: searches.some((search) => search.merchandise?.explain === true) }
const plain = <Answer>(result: Result<Answer>): Result<FoundAnswer<Answer>> =>
  result.ok ? ok({ answer: result.value, asked: true }) : result
const engineAnswers = (
  context: OperationContext,
  plans: ReadonlyArray<SearchPlan>
): Awaitable<ReadonlyArray<Result<FoundAnswer>>> => {
  const perTrip = context.engine.capabilities().limits.plans_per_trip_max
  const trip = after(
    context.engine.search(context.namespace, plans.length <= perTrip ? plans : plans.slice(0, perTrip)),
    (results) => results.map(plain)
  )
  return plans.length <= perTrip
    ? trip
    : after(trip, (first) => after(engineAnswers(context, plans.slice(perTrip)), (rest) => [...first, ...rest]))
}

/** Among searches that have rules or stages, one that has none is passed on unchanged. */
const merchandisedOf = ({ fields, merchandise: own, parameters, plan }: PlannedSearch): MerchandisedSearch => ({
  plan,
  ...(fields === undefined ? {} : { fields }),
  rules: own?.rules,
  ...(own?.rerank === undefined ? {} : { rerank: own.rerank }),
  ...(own?.stages === undefined ? {} : { stages: own.stages }),
  ...(own?.visitor === undefined ? {} : { visitor: own.visitor }),
  filterCuratedHits: parameters.filter_curated_hits === "false" ? false : undefined,
  request: {
    now_ms: 0,
    ...own?.request,
    q: parameters.q ?? "",
    ...(parameters.filter_by === undefined ? {} : { filter_by: parameters.filter_by })
  }
})
