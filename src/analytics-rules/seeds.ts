/** Bodies that the fuzz starts from (`test/program/fuzz.test.ts`), over the things that it furnishes. */
import type { Seeds } from "../room.ts"

export const seeds: Seeds = {
  createAnalyticsRule: [
    {
      name: "fresh",
      type: "counter",
      collection: "goods",
      event_type: "click",
      params: { counter_field: "stock", weight: 1 }
    },
    {
      name: "pq",
      type: "popular_queries",
      collection: "goods",
      event_type: "search",
      params: { destination_collection: "spare", limit: 10 }
    },
    [{ name: "l", type: "log", collection: "goods", event_type: "click", params: {} }]
  ],
  upsertAnalyticsRule: [
    { type: "counter", collection: "goods", event_type: "click", params: { counter_field: "stock", weight: 1 } }
  ]
}
