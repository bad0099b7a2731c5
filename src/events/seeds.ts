/** Bodies that the fuzz test (`test/program/fuzz.test.ts`) starts from; they refer to resources that it creates. */
import type { Seeds } from "../room.ts"

export const seeds: Seeds = {
  ingestEvents: [
    {
      events: [
        {
          type: "click",
          collection: "goods",
          event_id: "f1",
          session_id: "s",
          document_id: "d1",
          position: 1,
          q: "title"
        },
        {
          type: "purchase",
          collection: "goods",
          event_id: "f2",
          user_id: "u",
          items: [{ document_id: "d1", quantity: 2, price: 9.5 }],
          revenue: 19,
          currency: "EUR",
          metadata: { a: 1 }
        }
      ]
    },
    {
      events: [
        {
          type: "search",
          q: "title",
          filter_by: "tags:=t1 && stock:>1",
          collection: "goods",
          event_id: "f3",
          anonymous_id: "x",
          results_found: 0,
          timestamp: 1_795_000_000_000
        }
      ]
    }
  ],
  replayEvents: [{ from: "2026-01-01", to: "2026-12-31", target: "analytics" }],
  retryFailedEvents: [{}]
}
