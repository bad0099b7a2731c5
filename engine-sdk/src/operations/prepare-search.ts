/**
 * `prepare`: turns typed requests into plans, which are all that `run` needs. The steps, in order: restrictions, plan,
 * the plan's lookups in the engine (placeholders, examples), embedding. A failure concerns only its search, but a
 * failure of the caller's restrictions refuses the entire request (`isRestriction`).
 */
import { fail, invalid, notFound, ok, type EngineError, type Result } from "../errors.ts"
import type { SearchPlan } from "../plan.ts"
import type { Filter } from "../filter.ts"
import { compileParameters } from "../query/compile-search.ts"
import { embedQuery } from "../embedding/embed-query.ts"
import { unionPaging } from "../query/compile-union.ts"
import type { Parameters } from "../query/parameters.ts"
import { allOf } from "../query/filter-parser.ts"
import { fieldNamed, type KnownFilters, type SearchContext } from "../query/query-context.ts"
import type { CollectionInfo } from "../schema.ts"
import type { AnswerBudget } from "../budget/answer-budget.ts"
import { givingWay } from "../turns.ts"
import { hasExample, Lookups } from "./lookups.ts"
import { COLLECTION_NOT_FOUND, type OperationContext, type QueryParameters } from "./operation.ts"
import type { SearchRequest } from "./read-search.ts"
import { searchResourcesOf } from "./resources.ts"
import { CLOSED, isRestriction, Reach } from "./restrictions.ts"
import type { PlannedSearch, PlannedUnion } from "./planned-search.ts"
import { budgetOf, refusable } from "./answer-bound.ts"

const PLACEHOLDER_ROUNDS_MAX = 16

/** State shared by the searches of one request. */
interface Shared {
  readonly reach: Reach
  readonly budget: AnswerBudget
  readonly filters: KnownFilters
}

/** Prepares one search. NotFound if the collection does not exist. */
export const prepareSearch = (
  context: OperationContext,
  request: SearchRequest,
  reach: Reach
): Promise<Result<PlannedSearch>> =>
  refusable(() => planned(context, request, { reach, budget: budgetOf(context), filters: new Map() }))

/**
 * Prepares several searches, each with its own plan or failure. Fails if a restriction refuses the request. Compiling
 * fifty searches takes a while, so other work runs in between.
 */
export const prepareSearches = (
  context: OperationContext,
  requests: ReadonlyArray<SearchRequest>,
  reach: Reach
): Promise<Result<ReadonlyArray<Result<PlannedSearch>>>> =>
  refusable(async () => {
    const shared = { reach, budget: budgetOf(context), filters: new Map() }
    const give = givingWay()
    const plans: Array<Result<PlannedSearch>> = []
    for (const request of requests) {
      const plan = reach.reaches(request.name) ? await planned(context, request, shared) : fail(CLOSED)
      if (!plan.ok && isRestriction(plan.error)) return plan
      plans.push(plan)
      await give()
    }
    return ok(plans)
  })

/** Prepares the searches of a union; the first failure fails all of them. */
export const prepareUnion = (
  context: OperationContext,
  requests: ReadonlyArray<SearchRequest>,
  reach: Reach,
  shared: QueryParameters,
  removeDuplicates: boolean
): Promise<Result<PlannedUnion>> =>
  refusable(async () => {
    // Refused before the caller could learn whether any of the collections exists.
    if (!requests.every(({ name }) => reach.reaches(name))) return fail(CLOSED)
    const missing = requests.find(({ collection }) => collection === undefined)
    if (missing !== undefined) return fail(notFound(`\`${missing.name}\` collection not found.`))
    const paging = unionPaging(shared, context.limits)
    if (!paging.ok) return paging
    const own = { reach, budget: budgetOf(context), filters: new Map() }
    const give = givingWay()
    const searches: PlannedSearch[] = []
    for (const request of requests) {
      await give()
      const plan = await planned(context, request, own)
      if (!plan.ok) return plan
      searches.push(plan.value)
    }
    return ok({ searches, paging: paging.value, removeDuplicates })
  })

const planned = async (
  context: OperationContext,
  { bounds, collection, parameters }: SearchRequest,
  { budget, filters, reach }: Shared
): Promise<Result<PlannedSearch>> => {
  if (collection === undefined) return fail(COLLECTION_NOT_FOUND)
  const plan = await planSearch(context, collection, parameters, reach, budget, filters, bounds?.filter)
  if (!plan.ok) return plan
  const { fields } = reach
  return ok({ plan: plan.value, collection, parameters, ...(fields === undefined ? {} : { fields }) })
}

/**
 * Plans one search over a collection (name or alias). Placeholders of curation rules query the engine; if the engine
 * answers asynchronously, the search is compiled again with the result. Query texts are embedded here, too. `bound`:
 * the host's filter (`SearchBounds`).
 */
export const planSearch = async (
  context: OperationContext,
  collection: CollectionInfo,
  parameters: Parameters,
  reach: Reach = new Reach(context, {}),
  budget?: AnswerBudget,
  filters?: KnownFilters,
  bound?: Filter
): Promise<Result<SearchPlan>> => {
  reach.forget()
  const restricting = reach.forcedFilter(collection)
  const forced = restricting.ok ? ok(allOf(restricting.value, bound)) : restricting
  const lookups = new Lookups(context, collection, forced.ok ? forced.value : undefined)
  const searchContext = searchContextOf(context, collection, reach, lookups, forced.ok ? forced.value : undefined)
  const own: SearchContext = {
    ...searchContext,
    ...(budget === undefined ? {} : { budget }),
    ...(filters === undefined ? {} : { filters })
  }
  for (let round = 0; ; round++) {
    const plan = compileParameters(parameters, own)
    const refused = refusalOf(plan, forced, reach, parameters)
    if (refused !== undefined) return fail(refused)
    // Hardly any search has lookups or embeds, so these steps are skipped: an asynchronous step costs a turn of the
    // queue even if it does not wait.
    if (lookups.isOpen && (await lookups.settle()) && round < PLACEHOLDER_ROUNDS_MAX) continue
    const known = plan.ok && hasExample(plan.value) ? await lookups.knowsExample(plan.value) : plan
    return known.ok && known.value.vector?.embed !== undefined ? withVector(context, collection, known.value) : known
  }
}
/** A forbidden join is reported first, then the caller's own mistakes, then filters of its key that do not fit. */
const refusalOf = (
  plan: Result<SearchPlan>,
  forced: Result<Filter | undefined>,
  reach: Reach,
  parameters: Parameters
): EngineError | undefined => {
  if (reach.joinsClosed(parameters)) return CLOSED
  if (forced.ok) return undefined
  return plan.ok ? forced.error : plan.error
}
const searchContextOf = (
  context: OperationContext,
  collection: CollectionInfo,
  reach: Reach,
  lookups: Lookups,
  forcedFilter: Filter | undefined
): SearchContext => {
  const { fields } = reach
  return {
    collection,
    collectionOf: reach.joinable,
    resources: searchResourcesOf(context.resources, context.namespace),
    now_s: context.now_s,
    matchesAny: (filter) => lookups.matchesAny(filter),
    ...(forcedFilter === undefined ? {} : { forcedFilter }),
    limits: context.limits,
    ...(fields === undefined ? {} : { fields })
  }
}
const withVector = async (
  context: OperationContext,
  collection: CollectionInfo,
  plan: SearchPlan
): Promise<Result<SearchPlan>> => {
  const { vector } = plan
  if (vector?.embed === undefined || vector.vector !== undefined) return ok(plan)
  const field = fieldNamed(collection.schema, vector.field)
  if (field === undefined || context.embedder === undefined)
    return fail(invalid(`No model is available to embed a query for the field \`${vector.field}\`.`, "query_by"))
  const embedded = await embedQuery(context.embedder, context.namespace, collection, field, vector.embed)
  return embedded.ok ? ok({ ...plan, vector: { ...vector, vector: embedded.value } }) : embedded
}
