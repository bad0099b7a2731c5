/**
 * Several searches as one ranked list (`docs/contract/search.md#union`): shared paging, the same sort structure for
 * all, and either all grouped or none. The plans come from `compileSearch`; this file only compares and combines them.
 */
import { fail, invalid, ok, type Result } from "../errors.ts"
import type { SearchPlan, SortKey, UnionPlan } from "../plan.ts"
import { readIntegers, type Parameters } from "./parameters.ts"
import { DEFAULT_LIMITS, type QueryLimits } from "./query-context.ts"

/** Parameters that a union reads only from its query string. */
export const SHARED_PAGING: ReadonlyArray<string> = ["page", "per_page", "offset", "limit", "limit_hits"]
export interface UnionPaging {
  readonly offset: number
  readonly limit: number
  readonly hits_max: number
  readonly page?: number
  readonly echoOffset?: number
}

/** Paging of the merged list, from the query string. */
export const unionPaging = (shared: Parameters, limits: Partial<QueryLimits> = {}): Result<UnionPaging> => {
  const only: Record<string, string> = {}
  for (const name of SHARED_PAGING) if (shared[name] !== undefined) only[name] = shared[name]
  const integers = readIntegers(only)
  if (!integers.ok)
    return fail(invalid(`Error while initializing global parameters of union: ${integers.error.message}`))
  const { page, per_page, limit, offset, limit_hits } = integers.value
  const size = per_page >= 0 ? per_page : limit >= 0 ? limit : 10
  const max = limits.per_page_max ?? DEFAULT_LIMITS.per_page_max
  if (size > max) return fail(invalid(`Only upto ${max} hits can be fetched per page.`, "per_page"))
  if (page > 0) return ok({ offset: (page - 1) * size, limit: size, hits_max: limit_hits, page })
  return offset > 0
    ? ok({ offset, limit: size, hits_max: limit_hits, echoOffset: offset })
    : ok({ offset: 0, limit: size, hits_max: limit_hits, page: 1 })
}

/** Combines plans that were compiled without their own paging. O(plans). */
export const compileUnion = (
  plans: ReadonlyArray<SearchPlan>,
  paging: UnionPaging,
  removeDuplicates: boolean
): Result<UnionPlan> => {
  const grouped = plans.filter((plan) => plan.group !== undefined).length
  if (grouped !== 0 && grouped !== plans.length)
    return fail(
      invalid("Invalid group_by searches count. All searches with union search should be uniform.", "group_by")
    )
  for (const [index, plan] of plans.entries()) {
    const problem = index === 0 ? undefined : differenceOf(plans[0], plan, index)
    if (problem !== undefined) return fail(invalid(problem, "sort_by"))
  }
  const shared = plans.map((plan): SearchPlan => ({
    ...plan,
    offset: paging.offset,
    limit: paging.limit,
    hits_max: paging.hits_max,
    facets: [],
    facetQuery: undefined,
    echo: { ...plan.echo, per_page: paging.limit }
  }))
  return ok({ plans: shared, removeDuplicates: removeDuplicates && grouped === 0, ...paging })
}

/** The name of a key in explanations. */
export const sortKeyName = (key: SortKey): string => {
  switch (key.kind) {
    case "text_match":
      return "_text_match"
    case "vector_distance":
      return "_vector_distance"
    case "vector_query":
      return "_vector_query"
    case "group_found":
      return "_group_found"
    case "random":
      return "_rand"
    case "seq":
      return "_seq_id"
    case "eval":
      return "_eval"
    case "boosts":
      return "_boosts"
    case "listed":
      return "_listed"
    case "join":
      return `$${key.collection}(${sortKeyName(key.key)})`
    default:
      return key.field
  }
}
const typeOf = (key: SortKey): string => {
  switch (key.kind) {
    case "field":
      return `${key.type}_field`
    case "geo":
      return "geopoint_field"
    case "seq":
      return "insertion_order"
    case "random":
      return "random_order"
    case "join":
      return typeOf(key.key)
    default:
      return key.kind
  }
}
const shapeOf = (plan: SearchPlan): string => {
  const keys = plan.sort.map((key) => `\`${sortKeyName(key)}: ${typeOf(key)}\``)
  if (keys.length <= 1) keys.push("`_union_search_index: union_query_order`", "`_seq_id: insertion_order`")
  return `{${keys.join(", ")}}`
}
const sizeOf = (plan: SearchPlan): number => (plan.sort.length <= 1 ? plan.sort.length + 2 : plan.sort.length)
const differenceOf = (first: SearchPlan, other: SearchPlan, index: number): string | undefined => {
  if (sizeOf(first) !== sizeOf(other)) {
    return `Expected size of \`sort_by\` parameter of all searches to be equal. The first union search sorts on ${shapeOf(first)} but the search at index \`${index}\` sorts on ${shapeOf(other)}.`
  }
  for (const [i, key] of other.sort.entries()) {
    const expected = first.sort[i]
    if (expected === undefined) break
    if (typeOf(key) !== typeOf(expected)) {
      return `Expected type of \`${sortKeyName(key)}\` sort_by (${typeOf(key)}) at search index \`${index}\` to be the same as the type of \`${sortKeyName(expected)}\` sort_by (${typeOf(expected)}) at search index \`0\`.`
    }
    if (key.order !== expected.order) {
      return `Expected order of \`${sortKeyName(key)}\` sort_by (${key.order.toUpperCase()}) at search index \`${index}\` to be the same as the order of \`${sortKeyName(expected)}\` sort_by (${expected.order.toUpperCase()}) at search index \`0\`.`
    }
  }
  return undefined
}
