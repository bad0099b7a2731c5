/** What visitors did with the documents of a collection, for its reports: revenue, and the queries asked most. */
import { Clock, Effect } from "effect"
import { Analytics } from "../analytics/service.ts"
import { makePopularQueriesRepository } from "../suggestions/popular-queries-repository.ts"
import { keyOf } from "./building/keys.ts"
import type { Behaviour } from "./building/reports.ts"

const DAYS = 30,
  DAY_MS = 86_400_000
/** Documents of most revenue, and queries; what is beyond changes no report. */
const DOCUMENTS_MAX = 10_000,
  QUERIES_MAX = 1_000

/** `collections`: names by which visitors search it. */
export const makeBehaviour = Effect.gen(function* () {
  const analytics = yield* Analytics
  const popular = yield* makePopularQueriesRepository
  return Effect.fnUntraced(function* (organizationId: string, collections: ReadonlySet<string>) {
    const before = Math.ceil((yield* Clock.currentTimeMillis) / DAY_MS) * DAY_MS
    const range = { from: before - DAYS * DAY_MS, before }
    const revenue = new Map<string, number>()
    const queries: Array<Behaviour["queries"][number]> = []
    for (const collection of collections) {
      const { data } = yield* analytics.getProductMetrics({
        organizationId,
        range,
        collection,
        segment: undefined,
        limit: DOCUMENTS_MAX,
        offset: 0
      })
      for (const row of data)
        if (row.revenue > 0) revenue.set(row.document_id, (revenue.get(row.document_id) ?? 0) + row.revenue)
      for (const { count, label } of (yield* Effect.orDie(popular.all(organizationId, collection))).slice(
        0,
        QUERIES_MAX
      )) {
        const key = keyOf(label)
        if (key !== undefined) queries.push({ key, q: label, count })
      }
    }
    queries.sort((a, b) => b.count - a.count || (a.q < b.q ? -1 : 1))
    return { revenue, days: DAYS, queries } satisfies Behaviour
  })
})
