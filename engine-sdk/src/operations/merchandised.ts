/**
 * Planned searches on their way through the rules and stages that a host has for them. A host that says nothing about a
 * search costs it one call: its plan goes to the engine as it is and the engine's answer comes back.
 */
import type { Awaitable } from "../engine.ts"
import type { Result } from "../errors.ts"
import { ok } from "../errors.ts"
import type { SearchAnswer, SearchPlan, UnionAnswer } from "../plan.ts"
import { after } from "../pipeline/awaitable.ts"
import {
  merchandise,
  merchandiseUnion,
  type MerchandisedSearch,
  type MerchandiseEnvironment,
  type SearchExtras,
  type Trace
} from "../pipeline/mod.ts"
import { compileUnion, type UnionPaging } from "../query/compile-union.ts"
import type { FieldList } from "../query/field-list.ts"
import type { Parameters } from "../query/parameters.ts"
import type { CollectionInfo } from "../schema.ts"
import type { OperationContext, SearchMerchandise } from "./operation.ts"

export interface PlannedSearch {
  readonly plan: SearchPlan
  readonly collection: CollectionInfo
  readonly parameters: Parameters
  readonly merchandise: SearchMerchandise | undefined
  /** What the caller may see, where that is not everything. */ readonly fields?: FieldList
}
/** An answer with what rules and stages say beside it. */
export interface FoundAnswer<Answer = SearchAnswer> {
  readonly answer: Answer
  readonly extras?: SearchExtras
  readonly trace?: Trace
  /** False for a redirect. */ readonly asked: boolean
}

/** One answer or one failure per search, in order; as few engine calls as the engine's limit allows. */
export const answersOf = (
  context: OperationContext,
  searches: ReadonlyArray<PlannedSearch>
): Awaitable<ReadonlyArray<Result<FoundAnswer>>> => {
  const environment = environmentOf(context, searches)
  return environment === undefined
    ? engineAnswers(
        context,
        searches.map(({ plan }) => plan)
      )
    : merchandise(environment, searches.map(merchandisedOf))
}

/** Invalid where the searches do not fit together (`compileUnion`). */
export const unionAnswerOf = (
  context: OperationContext,
  searches: ReadonlyArray<PlannedSearch>,
  paging: UnionPaging,
  removeDuplicates: boolean
): Awaitable<Result<FoundAnswer<UnionAnswer>>> => {
  const environment = environmentOf(context, searches)
  if (environment !== undefined)
    return merchandiseUnion(environment, searches.map(merchandisedOf), { ...paging, removeDuplicates })
  const union = compileUnion(
    searches.map(({ plan }) => plan),
    paging,
    removeDuplicates
  )
  return union.ok ? after(context.engine.union(context.namespace, union.value), plain) : union
}

/** undefined where no search has any merchandise. */
const environmentOf = (
  { engine, merchandising, namespace }: OperationContext,
  searches: ReadonlyArray<PlannedSearch>
): MerchandiseEnvironment | undefined =>
  merchandising === undefined || !searches.some((search) => search.merchandise !== undefined)
    ? undefined
    : {
        ...merchandising.environment,
        engine,
        namespace,
        explain: searches.some((search) => search.merchandise?.explain === true)
      }
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

/** A search without merchandise beside others that have some passes unchanged. */
const merchandisedOf = ({ fields, merchandise: own, parameters, plan }: PlannedSearch): MerchandisedSearch => ({
  plan,
  ...(fields === undefined ? {} : { fields }),
  rules: own?.rules,
  ...(own?.rerank === undefined ? {} : { rerank: own.rerank }),
  filterCuratedHits: parameters.filter_curated_hits === "false" ? false : undefined,
  request: {
    now_ms: 0,
    ...own?.request,
    q: parameters.q ?? "",
    ...(parameters.filter_by === undefined ? {} : { filter_by: parameters.filter_by })
  }
})
