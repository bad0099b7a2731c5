/** Analytics metrics (spec part 4, contract part 3). */
import { operation } from "../wire/operation.ts"
import { MetricsQuery, OverviewMetrics, QueryMetrics, ZeroResultMetrics } from "./schema.ts"

const at = { group: "analytics", plane: "control", scope: "full", method: "GET", query: MetricsQuery } as const
export const getQueryMetrics = operation({ ...at, id: "getQueryMetrics", summary: "Popular queries with metrics, by searches, then revenue", path: "/v1/analytics/metrics/queries", success: QueryMetrics })
export const getZeroResultMetrics = operation({ ...at, id: "getZeroResultMetrics", summary: "Zero-result rate per query, and of the organization", path: "/v1/analytics/metrics/zero-results", success: ZeroResultMetrics })
export const getOverviewMetrics = operation({ ...at, id: "getOverviewMetrics", summary: "Totals and daily series", path: "/v1/analytics/metrics/overview", success: OverviewMetrics })
