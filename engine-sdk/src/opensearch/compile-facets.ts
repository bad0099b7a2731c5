/** Facets as aggregations of the cluster, and what it counted as facets (engine-contract 9). Pure. */
import { compareUtf8 } from "../index/bytes.ts"
import { floatText } from "../index/builders.ts"
import type { FacetCount, FacetRequest, SearchPlan } from "../plan.ts"
import type { CollectionSchema } from "../schema.ts"
import { highlightTokens } from "../search/highlight/highlight-text.ts"
import { matchingValues } from "../search/facets/facet-query.ts"
import { compareCounts } from "../search/facets/facet-rows.ts"
import { FACET_VALUES_MAX } from "./capabilities.ts"
import type { QueryScope } from "./compile-filter.ts"
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

/** `groups`: counts are of groups, told apart by this place. */
export const compileFacets = (
  scope: QueryScope,
  plan: SearchPlan,
  groups: string | undefined
): Record<string, object> =>
  Object.fromEntries(
    clusterFacets(plan).flatMap((request, i) => {
      const slot = slotOf(scope, request.field)
      return slot === undefined ? [] : facetAggregations(scope, plan, request, slot, i, groups)
    })
  )
const facetAggregations = (
  scope: QueryScope,
  plan: SearchPlan,
  request: FacetRequest,
  field: string,
  i: number,
  groups: string | undefined
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
  const size = isAsked(plan, request.field) ? QUERIED_VALUES : sizeOf(plan)
  const order =
    request.order.kind === "alpha" && !isAsked(plan, request.field) ? { _key: request.order.order } : undefined
  const terms = { field, size, shard_size: Math.max(SHARD_VALUES_MIN, size), ...(order === undefined ? {} : { order }) }
  return [[`f${i}`, { terms, ...inner }], [`d${i}`, { cardinality: { field, precision_threshold: 40_000 } }], ...stats]
}
const isNumeric = (slot: string): boolean => slot.startsWith("n") || slot.startsWith("l")
const sizeOf = ({ facetValuesMax }: SearchPlan): number =>
  Math.min(FACET_VALUES_MAX, Math.max(FEW_VALUES, 2 * facetValuesMax))
const innerAggregations = (
  scope: QueryScope,
  { order }: FacetRequest,
  groups: string | undefined
): { aggs?: Record<string, object> } => {
  const sibling = order.kind === "field" ? slotsFor(scope.slots, order.field)?.number : undefined
  const aggs = {
    ...(sibling === undefined || order.kind !== "field"
      ? {}
      : { by: { [order.order === "asc" ? "min" : "max"]: { field: sibling } } }),
    ...(groups === undefined ? {} : { groups: { cardinality: { field: groups } } })
  }
  return Object.keys(aggs).length === 0 ? {} : { aggs }
}

export interface Bucket {
  readonly key: string | number
  readonly key_as_string?: string
  readonly doc_count: number
  readonly by?: { readonly value: number | null }
  readonly groups?: { readonly value: number }
}
interface Aggregation {
  readonly buckets?: ReadonlyArray<Bucket>
  readonly value?: number
  readonly doc_count?: number
  readonly sum_other_doc_count?: number
  readonly count?: number
  readonly min?: number
  readonly max?: number
  readonly sum?: number
  readonly avg?: number
}
export type Aggregations = Readonly<Record<string, Aggregation>>
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
    const rows = rowsOf(own?.buckets ?? [], schema.fields.find(({ name }) => name === request.field)?.type ?? "")
    const stats = statsOf(aggregations?.[`s${i}`])
    return facetOf(schema, plan, request, rows, { stats, distinct: Math.max(rows.length, distinct ?? 0), found, all })
  })
const statsOf = (stats: Aggregation | undefined): object =>
  stats === undefined || (stats.count ?? 0) === 0
    ? {}
    : { min: stats.min, max: stats.max, sum: stats.sum, avg: stats.avg }
/** Numbers that show the same text are one value. */
const rowsOf = (buckets: ReadonlyArray<Bucket>, type: string): Row[] => {
  const rows = new Map<string, Row>()
  for (const { key, key_as_string, doc_count, by, groups } of buckets) {
    const value =
      typeof key === "number" && type.startsWith("float")
        ? floatText(key)
        : type.startsWith("bool")
          ? (key_as_string ?? String(key))
          : String(key)
    const known = rows.get(value)
    const count = (groups?.value ?? doc_count) + (known?.count ?? 0)
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
  { order, strategy }: FacetRequest,
  { distinct, found, all }: { readonly distinct: number; readonly found: number; readonly all: number }
): number => {
  if (plan.group !== undefined || order.kind === "field" || strategy === "exhaustive") return Infinity
  if (plan.text === undefined && plan.filter === undefined) return plan.facetValuesMax
  const isLarge = found > LARGE_RESULT && (distinct < FEW_VALUES || found * 2 > all)
  return strategy === "top_values" || order.kind === "alpha" || isLarge ? 2 * plan.facetValuesMax : Infinity
}
const ordered = (rows: Row[], order: FacetRequest["order"]): Row[] => {
  if (order.kind === "count") return rows
  const sign = order.order === "asc" ? 1 : -1
  return rows.sort((a, b) =>
    order.kind === "alpha" ? sign * compareUtf8(a.value, b.value) : sign * (a.sibling - b.sibling)
  )
}
