/** Rows and envelopes of analytics responses. */
import { Schema } from "effect"

export const PAGE_LIMIT_MAX = 1_000
/** Decision: clients may rely on the limits, but not on the default. */
export const PAGE_LIMIT_DEFAULT = 100

export const SEGMENT_DIMENSIONS = ["device", "country", "surface"] as const
export type SegmentDimension = (typeof SEGMENT_DIMENSIONS)[number]
/** `surface:search` filters by that value; `surface` alone groups rows by it. */
export interface Segment {
  readonly dimension: SegmentDimension
  readonly value: string | undefined
}

const text = Schema.optionalKey(Schema.String)
export const MetricsQuery = Schema.Struct({
  from: text,
  to: text,
  collection: text,
  segment: text,
  limit: text,
  offset: text
}).annotate({ identifier: "AnalyticsMetricsQuery" })

/** Present only if rows are grouped by a segment. */
const dimensions = { device: text, country: text, surface: text }
const count = Schema.Int
const rate = Schema.Number

const QueryRow = Schema.Struct({
  q: Schema.String,
  ...dimensions,
  searches: count,
  clicks: count,
  add_to_carts: count,
  purchases: count,
  results_found_rate: rate,
  ctr: rate,
  no_click_rate: rate,
  revenue: rate,
  conversion_rate: rate,
  revenue_per_search: rate,
  cart_value: rate
}).annotate({ identifier: "QueryAnalyticsRow" })

const ZeroResultRow = Schema.Struct({
  q: Schema.String,
  ...dimensions,
  searches: count,
  zero_results: count,
  zero_result_rate: rate
}).annotate({ identifier: "ZeroResultRow" })

const ProductRow = Schema.Struct({
  document_id: Schema.String,
  ...dimensions,
  views: count,
  clicks: count,
  add_to_carts: count,
  purchases: count,
  revenue: rate,
  cart_value: rate
}).annotate({ identifier: "ProductAnalyticsRow" })

const FilterRow = Schema.Struct({
  type: Schema.Literals(["filter", "facet"]),
  field: Schema.String,
  value: text,
  ...dimensions,
  searches: count,
  zero_results: count,
  results_found_rate: rate,
  ctr: rate,
  conversion_rate: rate
}).annotate({
  identifier: "FilterAnalyticsRow",
  description:
    "A `filter` with its value, preceded by an operator if that is not equality; a requested `facet` has no value."
})

const envelope = {
  /** The first and the last instant counted. */
  from: Schema.String,
  to: Schema.String,
  collection: Schema.NullOr(Schema.String),
  events: count,
  truncated: Schema.Boolean,
  total: count,
  next_offset: Schema.NullOr(Schema.Int)
}
export const QueryMetrics = Schema.Struct({ ...envelope, data: Schema.Array(QueryRow) }).annotate({
  identifier: "QueryMetrics"
})
export const ZeroResultMetrics = Schema.Struct({
  ...envelope,
  organization_zero_result_rate: rate,
  data: Schema.Array(ZeroResultRow)
}).annotate({ identifier: "ZeroResultMetrics" })

export const ProductMetrics = Schema.Struct({ ...envelope, data: Schema.Array(ProductRow) }).annotate({
  identifier: "ProductMetrics"
})
export const FilterMetrics = Schema.Struct({ ...envelope, data: Schema.Array(FilterRow) }).annotate({
  identifier: "FilterMetrics"
})

const totals = {
  searches: count,
  zero_results: count,
  clicks: count,
  add_to_carts: count,
  purchases: count,
  revenue: rate,
  cart_value: rate,
  results_found_rate: rate,
  zero_result_rate: rate,
  ctr: rate,
  no_click_rate: rate,
  conversion_rate: rate,
  revenue_per_search: rate
}
const Totals = Schema.Struct(totals).annotate({ identifier: "AnalyticsTotals" })
export const OverviewMetrics = Schema.Struct({
  from: Schema.String,
  to: Schema.String,
  collection: Schema.NullOr(Schema.String),
  events: count,
  totals: Totals,
  /** One entry for every UTC day of the range, including days without searches. */
  series: Schema.Array(Schema.Struct({ date: Schema.String, ...totals }).annotate({ identifier: "AnalyticsDay" }))
}).annotate({ identifier: "OverviewMetrics" })
