/** Descriptions of the analytics operations, each with a request that succeeds (`src/http/operation.ts`). */
import type { Described } from "../http/operation.ts"

const range = { from: "2026-11-01", to: "2026-11-30" } as const
const bounds =
  "`from` and `to` are required ISO 8601 dates or date-times, both inclusive, at most 366 days apart; anything else is a 400."

export const described = {
  getQueryMetrics: {
    description: `Shows each query with its searches, clicks, carts, purchases, revenue and rates, most searched first. ${bounds} A page has 1 to 1,000 rows (100 by default); \`segment=device\` groups rows, \`segment=device:mobile\` keeps one value.`,
    example: { query: { ...range, collection: "products", limit: "20" } }
  },
  getZeroResultMetrics: {
    description: `Shows which queries found nothing and how often, highest rate first, with the rate over all searches of the organization beside. ${bounds}`,
    example: { query: { ...range, limit: "20" } }
  },
  getOverviewMetrics: {
    description: `Shows totals and one entry for every day (UTC) of the range, days without a search included. ${bounds} Figures follow the events within seconds, at most five minutes behind.`,
    example: { query: { ...range, collection: "products" } }
  },
  getProductMetrics: {
    description: `Shows each document with its views, clicks, carts, purchases and revenue, highest revenue first. ${bounds} A page has 1 to 1,000 rows, 100 by default.`,
    example: { query: { ...range, collection: "products", segment: "device" } }
  },
  getFilterMetrics: {
    description: `Shows the filter values and facets that searches used, most used first, and what became of those searches. ${bounds} A page has 1 to 1,000 rows, 100 by default.`,
    example: { query: { ...range, collection: "products" } }
  }
} as const satisfies Readonly<Record<string, Described>>
