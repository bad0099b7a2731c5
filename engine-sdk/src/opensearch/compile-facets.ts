/** Facets as aggregations of the cluster (`docs/contract/facets.md`). Pure. */
import type { FacetRequest, SearchPlan } from "../plan.ts"
import { FACET_VALUES_MAX } from "./capabilities.ts"
import type { QueryScope } from "./compile-filter.ts"
import { countingGroups } from "./groups.ts"
import { slotsFor } from "./slots.ts"

/** Minimum number of values that each shard returns; with fewer, the counts of the first ten may be wrong. */
const SHARD_VALUES_MIN = 1_000
/** Number of values that a facet query searches. */
const QUERIED_VALUES = 5_000
/** Minimum number of values requested. More are requested if which of them are shown depends on the others. */
const FEW_VALUES = 250

export const facetSlot = (scope: QueryScope, field: string): string | undefined => {
  const own = slotsFor(scope.slots, field)
  return own?.value ?? own?.number ?? own?.boolean
}
export const isAsked = ({ facetQuery }: SearchPlan, field: string): boolean =>
  facetQuery?.field === field && facetQuery.tokens.length > 0
/** Facets that the cluster counts; the others count only the hits of the page. */
export const clusterFacets = ({ facets }: SearchPlan): ReadonlyArray<FacetRequest> => facets.filter(({ topK }) => !topK)

export const compileFacets = (scope: QueryScope, plan: SearchPlan): Record<string, object> => {
  const groups = countingGroups(scope, plan)
  return Object.fromEntries(
    clusterFacets(plan).flatMap((request, i) => {
      const slot = facetSlot(scope, request.field)
      return slot === undefined ? [] : facetAggregations(scope, plan, request, slot, i, groups)
    })
  )
}
const facetAggregations = (
  scope: QueryScope,
  plan: SearchPlan,
  request: FacetRequest,
  field: string,
  i: number,
  groups: Record<string, object> | undefined
): Array<[string, object]> => {
  const inner = innerAggregations(scope, request, groups)
  const stats: Array<[string, object]> = isNumeric(field) ? [[`s${i}`, { stats: { field } }]] : []
  if (request.ranges.length > 0) {
    const ranges = request.ranges.map(({ label, from, to }) => ({
      key: label,
      ...(from === -Infinity ? {} : { from }),
      ...(to === Infinity ? {} : { to })
    }))
    return [[`f${i}`, { range: { field, ranges }, ...inner }], ...stats]
  }
  const isByAlphabet = request.order.kind === "alpha" && !isAsked(plan, request.field)
  const first = isByAlphabet ? lookedAt(plan, request) : Infinity
  const size = isAsked(plan, request.field) ? QUERIED_VALUES : Math.min(sizeOf(plan), first)
  const order = isByAlphabet ? { _key: request.order.order } : undefined
  const terms = { field, size, shard_size: Math.max(SHARD_VALUES_MIN, size), ...(order === undefined ? {} : { order }) }
  return [[`f${i}`, { terms, ...inner }], [`d${i}`, { cardinality: { field, precision_threshold: 40_000 } }], ...stats]
}
const isNumeric = (slot: string): boolean => slot.startsWith("n") || slot.startsWith("l")
const sizeOf = ({ facetValuesMax }: SearchPlan): number =>
  Math.min(FACET_VALUES_MAX, Math.max(FEW_VALUES, 2 * facetValuesMax))
const innerAggregations = (
  scope: QueryScope,
  { order }: FacetRequest,
  groups: Record<string, object> | undefined
): { aggs?: Record<string, object> } => {
  const sibling = order.kind === "field" ? slotsFor(scope.slots, order.field)?.number : undefined
  const aggs = {
    ...(sibling === undefined || order.kind !== "field"
      ? {}
      : { by: { [order.order === "asc" ? "min" : "max"]: { field: sibling } } }),
    ...groups
  }
  return Object.keys(aggs).length === 0 ? {} : { aggs }
}

/** Requests all values of a facet, as far as a response may hold them. */
export const compileAllValues = (
  scope: QueryScope,
  plan: SearchPlan,
  request: FacetRequest,
  field: string
): object => ({
  terms: { field, size: FACET_VALUES_MAX, shard_size: FACET_VALUES_MAX },
  ...innerAggregations(scope, request, countingGroups(scope, plan))
})
export const isMatchAll = ({ filter, text, vector }: SearchPlan): boolean =>
  text === undefined && filter === undefined && vector === undefined
/** Number of values that are examined if only the first or the most frequent of a collection are. */
export const lookedAt = (plan: SearchPlan, request: FacetRequest): number =>
  looksAtAll(plan, request) ? Infinity : isMatchAll(plan) ? plan.facetValuesMax : 2 * plan.facetValuesMax
export const looksAtAll = ({ group }: SearchPlan, { order, strategy }: FacetRequest): boolean =>
  group !== undefined || order.kind === "field" || strategy === "exhaustive"
