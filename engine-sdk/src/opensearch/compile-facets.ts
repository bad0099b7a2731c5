/** Facets as aggregations of the cluster, and what it counted as facets (engine-contract 9). Pure. */
import { compareUtf8 } from "../index/bytes.ts"
import { floatText } from "../index/builders.ts"
import type { FacetCount, FacetRequest, SearchPlan } from "../plan.ts"
import type { CollectionSchema } from "../schema.ts"
import { highlightTokens } from "../search/highlight/highlight-text.ts"
import { matchingValues } from "../search/facets/facet-query.ts"
import { compareCounts } from "../search/facets/facet-rows.ts"
import type { Aggregation, Aggregations, Bucket } from "./aggregations.ts"
import { FACET_VALUES_MAX } from "./capabilities.ts"
import type { QueryScope } from "./compile-filter.ts"
import { countingGroups, groupsIn } from "./groups.ts"
import { slotsFor } from "./slots.ts"

/** Values that each shard tells, at least: with fewer the counts of the first ten may be wrong. */
const SHARD_VALUES_MIN = 1_000
/** Values among which a facet query looks. */
const QUERIED_VALUES = 5_000
/** Found documents from which on only the largest values of a collection are looked at. */
const LARGE_RESULT = 1_000,
  FEW_VALUES = 250

const slotOf = (scope: QueryScope, field: string): string | undefined => {
  const own = slotsFor(scope.slots, field)
  return own?.value ?? own?.number ?? own?.boolean
}
const isAsked = ({ facetQuery }: SearchPlan, field: string): boolean =>
  facetQuery?.field === field && facetQuery.tokens.length > 0
/** Those that the cluster counts; the others count the hits of the page. */
const clusterFacets = ({ facets }: SearchPlan): ReadonlyArray<FacetRequest> => facets.filter(({ topK }) => !topK)

export const compileFacets = (scope: QueryScope, plan: SearchPlan): Record<string, object> => {
  const groups = countingGroups(scope, plan)
  return Object.fromEntries(
    clusterFacets(plan).flatMap((request, i) => {
      const slot = slotOf(scope, request.field)
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
  const first = isByAlphabet ? firstOf(plan, request) : Infinity
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

interface Row {
  readonly value: string
  readonly count: number
  readonly sibling: number
}

/** As the contract shows them, in the order of the requests that the cluster counts; `found` documents of `all`. */
export const readFacets = (
  schema: CollectionSchema,
  plan: SearchPlan,
  aggregations: Aggregations | undefined,
  found: number,
  all: number
): FacetCount[] =>
  clusterFacets(plan).map((request, i) => {
    const own = aggregations?.[`f${i}`]
    const distinct = aggregations?.[`d${i}`]?.value
    const rows = rowsOf(plan, own?.buckets ?? [], schema.fields.find(({ name }) => name === request.field)?.type ?? "")
    const stats = statsOf(aggregations?.[`s${i}`])
    return facetOf(schema, plan, request, rows, { stats, distinct: Math.max(rows.length, distinct ?? 0), found, all })
  })
const statsOf = (stats: Aggregation | undefined): object =>
  stats === undefined || (stats.count ?? 0) === 0
    ? {}
    : { min: stats.min, max: stats.max, sum: stats.sum, avg: stats.avg }
/** Numbers that show the same text are one value. */
const rowsOf = (plan: SearchPlan, buckets: ReadonlyArray<Bucket>, type: string): Row[] => {
  const rows = new Map<string, Row>()
  for (const bucket of buckets) {
    const { key, key_as_string, by } = bucket
    const value =
      typeof key === "number" && type.startsWith("float")
        ? floatText(key)
        : type.startsWith("bool")
          ? (key_as_string ?? String(key))
          : String(key)
    const known = rows.get(value)
    const count = groupsIn(plan, bucket) + (known?.count ?? 0)
    if (count > 0) rows.set(value, { value, count, sibling: by?.value ?? known?.sibling ?? 0 })
  }
  return [...rows.values()]
}
const facetOf = (
  schema: CollectionSchema,
  plan: SearchPlan,
  request: FacetRequest,
  rows: Row[],
  counted: { readonly stats: object; readonly distinct: number; readonly found: number; readonly all: number }
): FacetCount => {
  const { facetQuery, facetValuesMax } = plan
  const matched =
    facetQuery !== undefined && isAsked(plan, request.field)
      ? matchingValues(
          schema,
          request.field,
          rows.map(({ value }) => value),
          facetQuery
        )
      : undefined
  const kept = matched === undefined ? rows : rows.filter(({ value }) => matched.has(value))
  const most = shownOf(plan, request, counted)
  const picked = [...kept].sort((a, b) => compareCounts(a.value, a.count, b.value, b.count)).slice(0, facetValuesMax)
  return {
    field_name: request.field,
    sampled: false,
    counts: ordered(picked, request.order).map(({ value, count }) => {
      const found = matched?.get(value)
      const { startTag, endTag, bytes_max } = plan.highlight
      const highlighted =
        found === undefined
          ? value
          : highlightTokens(value, found.spans, found.matcher, { startTag, endTag, bytesMax: bytes_max })
      return { value, highlighted, count }
    }),
    stats: {
      ...counted.stats,
      total_values: matched !== undefined || request.ranges.length > 0 ? kept.length : Math.min(counted.distinct, most)
    }
  }
}
/** How many values the contract's engine looks at, which is what it says there are. */
const shownOf = (
  plan: SearchPlan,
  request: FacetRequest,
  { distinct, found, all }: { readonly distinct: number; readonly found: number; readonly all: number }
): number => {
  const first = firstOf(plan, request)
  const isLarge = found > LARGE_RESULT && (distinct < FEW_VALUES || found * 2 > all)
  return isLarge && !looksAtAll(plan, request) ? Math.min(first, 2 * plan.facetValuesMax) : first
}
/** The same as far as it does not depend on what is found. */
const firstOf = (plan: SearchPlan, request: FacetRequest): number => {
  if (looksAtAll(plan, request)) return Infinity
  if (plan.text === undefined && plan.filter === undefined) return plan.facetValuesMax
  return request.strategy === "top_values" || request.order.kind === "alpha" ? 2 * plan.facetValuesMax : Infinity
}
const looksAtAll = ({ group }: SearchPlan, { order, strategy }: FacetRequest): boolean =>
  group !== undefined || order.kind === "field" || strategy === "exhaustive"
const ordered = (rows: Row[], order: FacetRequest["order"]): Row[] => {
  if (order.kind === "count") return rows
  const sign = order.order === "asc" ? 1 : -1
  return rows.sort((a, b) =>
    order.kind === "alpha" ? sign * compareUtf8(a.value, b.value) : sign * (a.sibling - b.sibling)
  )
}
