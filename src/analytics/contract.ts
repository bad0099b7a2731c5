/** Operations on analytics metrics. */
import { operation } from "../http/operation.ts"
import {
  FilterMetrics,
  MetricsQuery,
  OverviewMetrics,
  ProductMetrics,
  QueryMetrics,
  ZeroResultMetrics
} from "./schema.ts"
import { described } from "./examples.ts"

const at = { group: "analytics", plane: "control", scope: "full", method: "GET", query: MetricsQuery } as const
export const getQueryMetrics = operation({
  ...at,
  ...described.getQueryMetrics,
  id: "getQueryMetrics",
  summary: "Popular queries with metrics, by searches, then revenue",
  path: "/v1/analytics/metrics/queries",
  success: QueryMetrics
})
export const getZeroResultMetrics = operation({
  ...at,
  ...described.getZeroResultMetrics,
  id: "getZeroResultMetrics",
  summary: "Zero-result rate per query, and of the organization",
  path: "/v1/analytics/metrics/zero-results",
  success: ZeroResultMetrics
})
export const getOverviewMetrics = operation({
  ...at,
  ...described.getOverviewMetrics,
  id: "getOverviewMetrics",
  summary: "Totals and daily series",
  path: "/v1/analytics/metrics/overview",
  success: OverviewMetrics
})
export const getProductMetrics = operation({
  ...at,
  ...described.getProductMetrics,
  id: "getProductMetrics",
  summary: "Views, clicks, carts, purchases and revenue per document, by revenue",
  path: "/v1/analytics/metrics/products",
  success: ProductMetrics
})
export const getFilterMetrics = operation({
  ...at,
  ...described.getFilterMetrics,
  id: "getFilterMetrics",
  summary: "Filters and facets used by searches, most used first",
  path: "/v1/analytics/metrics/filters",
  success: FilterMetrics
})
