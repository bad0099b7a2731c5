/** Descriptions of the operations on events, each with an example request that succeeds (`src/http/operation.ts`). */
import type { Described } from "../http/operation.ts"

export const described = {
  ingestEvents: {
    description:
      "Reports what visitors did: searches, views, clicks, carts, purchases and events of your own. A JSON batch has at most 1,000 entries and 1 MB; `application/x-ndjson` carries one event per line and has no limit on length. Each entry is judged by itself: the answer counts the accepted and the deduplicated ones and names each refused one with its reason. Accepted entries are on disk before the answer; if the log cannot keep up the answer is 429 with `Retry-After`.",
    example: {
      body: {
        events: [
          {
            type: "click",
            collection: "products",
            event_id: "evt-1",
            session_id: "s-42",
            document_id: "p1",
            q: "mug",
            position: 1
          },
          {
            type: "purchase",
            collection: "products",
            event_id: "evt-2",
            session_id: "s-42",
            items: [{ document_id: "p1", quantity: 2, price: 14.5 }],
            revenue: 29,
            currency: "EUR"
          }
        ]
      }
    }
  },
  listFailedEvents: {
    description:
      "Lists the entries that were refused in the last seven days, newest first, each as it was sent and with the reason. A page has at most 250.",
    example: { query: { collection: "products", limit: "50" } }
  },
  retryFailedEvents: {
    description:
      "Sends refused entries through again after a fix: those in `ids`, or without ids all of them, 1,000 at a time. `set` first sets keys in every entry, and null removes a key. Entries that are refused again stay in the list with their new reason.",
    example: { body: { collection: "products", set: { collection: "products" } } }
  },
  replayEvents: {
    description:
      "Starts a job that rebuilds the figures of whole days from the event log, and returns the job. Readers see the old figures until the new ones are complete. With the target `recommendations` every process rebuilds the organization's models from everything that the log keeps; meanwhile answers use what has been read so far. An organization has one replay per target at a time (409); the plan must include replays (403).",
    example: { body: { from: "2026-11-01", to: "2026-11-02", target: "analytics" } }
  },
  eraseSubject: {
    description:
      "Starts a job that erases one person's events and everything derived from them, searches included. Erased events are hidden from every read at once, so the job cannot be cancelled. Its result is a receipt of the topics and tables that were touched and, in `models`, of every keeper of personal data, with the rows that were `removed` or that it was `rebuilt` without the person.",
    example: { params: { userId: "visitor-99" } }
  }
} as const satisfies Readonly<Record<string, Described>>
