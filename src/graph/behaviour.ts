/** What visitors did with the documents of a collection, for its reports: revenue, and the most frequent queries. */
import { Clock, Effect } from "effect"
import { Analytics } from "../analytics/service.ts"
import { keyOf } from "./building/keys.ts"
import type { Behaviour } from "./building/reports.ts"

const DAYS = 30,
  DAY_MS = 86_400_000
/** Limits of documents by revenue, and of queries; more would not change a report. */
const DOCUMENTS_MAX = 10_000,
  QUERIES_MAX = 1_000

/** `collections` are the names by which visitors search it. */
export const makeBehaviour = Effect.gen(function* () {
  const analytics = yield* Analytics
  return Effect.fnUntraced(function* (organizationId: string, collections: ReadonlySet<string>) {
    const before = Math.ceil((yield* Clock.currentTimeMillis) / DAY_MS) * DAY_MS
    const range = { from: before - DAYS * DAY_MS, before }
    const revenue = new Map<string, number>()
    const queries: Array<Behaviour["queries"][number]> = []
    for (const collection of collections) {
      const of = { organizationId, range, collection, segment: undefined, offset: 0 }
      const products = yield* analytics.getProductMetrics({ ...of, limit: DOCUMENTS_MAX })
      for (const row of products.data)
        if (row.revenue > 0) revenue.set(row.document_id, (revenue.get(row.document_id) ?? 0) + row.revenue)
      for (const { q, searches } of (yield* analytics.getQueryMetrics({ ...of, limit: QUERIES_MAX })).data) {
        const key = keyOf(q)
        if (key !== undefined && searches > 0) queries.push({ key, q, count: searches })
      }
    }
    queries.sort((a, b) => b.count - a.count || (a.q < b.q ? -1 : 1))
    return { revenue, days: DAYS, queries } satisfies Behaviour
  })
})
