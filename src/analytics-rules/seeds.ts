/** Bodies that the fuzz test (`test/program/fuzz.test.ts`) starts from; they refer to resources that it creates. */
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
