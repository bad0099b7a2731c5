/**
 * Lists refused entries, and retries them after a fix. Accepted entries leave the list; entries refused again stay
 * with their new reason. If a retry is interrupted between the two, it may be repeated: an entry without an
 * `event_id` gets one from its position in the list, so it counts once.
 */
import { Clock, Context, Effect, Layer } from "effect"
import type { SqlClient } from "effect/sql"
import { type FailedRow, makeFailedRepository, type Verdict } from "./failed-repository.ts"
import type { FailedEvent, RetryAnswer } from "@dowser/log/event-schema"
import { Events, type IngestFailure } from "../intake/service.ts"

interface FailedPage {
  readonly collection: string | undefined
  readonly cursor: string | undefined
  readonly limit: number
}
interface RetryRequest {
  readonly collection: string | undefined
  /** All if absent: `limit` at a time, oldest first, from `cursor`. */ readonly ids: ReadonlyArray<string> | undefined
  readonly cursor: string | undefined
  readonly limit: number
  /** Keys that override those of every entry; null removes a key. */ readonly set:
    | Readonly<Record<string, unknown>>
    | undefined
  readonly reaches: ((collection: string) => boolean) | undefined
}

/** The entry to be judged again, or why it cannot be. */
const entryOf = (
  { entry, id, is_unreadable, received_at }: FailedRow,
  set: RetryRequest["set"]
): { readonly entry: unknown } | { readonly reason: string } => {
  if (is_unreadable) return { reason: "only a part of the entry, or no JSON, was kept; send it again" }
  const value = JSON.parse(entry) as unknown
  if (typeof value !== "object" || value === null || Array.isArray(value)) return { entry: value }
  const given = Object.fromEntries(Object.entries({ ...value, ...set }).filter(([, one]) => one !== null))
  // An entry without a time happened when it first arrived, not when it is retried.
  return { entry: { timestamp: received_at, event_id: id, ...given } }
}

const shown = ({
  attempts,
  entry,
  id,
  is_unreadable,
  last_retried_at,
  reason,
  received_at
}: FailedRow): typeof FailedEvent.Type => ({
  id,
  received_at,
  reason,
  attempts,
  ...(is_unreadable ? { text: entry } : { entry: JSON.parse(entry) as unknown }),
  ...(last_retried_at === null ? {} : { last_retried_at })
})

export class FailedEvents extends Context.Service<
  FailedEvents,
  {
    /** Newest first; one more than `limit` shows that there is a next page. */
    readonly list: (organizationId: string, page: FailedPage) => Effect.Effect<ReadonlyArray<typeof FailedEvent.Type>>
    readonly retry: (
      organizationId: string,
      request: RetryRequest
    ) => Effect.Effect<typeof RetryAnswer.Type, IngestFailure>
  }
>()("dowser/events/FailedEvents") {
  static readonly layer: Layer.Layer<FailedEvents, never, Events | SqlClient.SqlClient> = Layer.effect(
    FailedEvents,
    Effect.gen(function* () {
      const repository = yield* makeFailedRepository
      const events = yield* Events
      return FailedEvents.of({
        list: Effect.fn("events/FailedEvents.list")(function* (organizationId, { collection, cursor, limit }) {
          return (yield* Effect.orDie(
            repository.page(organizationId, collection, cursor, limit, yield* Clock.currentTimeMillis)
          )).map(shown)
        }),
        retry: Effect.fn("events/FailedEvents.retry")(function* (
          organizationId,
          { collection, cursor, ids, limit, reaches, set }
        ) {
          const now = yield* Clock.currentTimeMillis
          const found = yield* Effect.orDie(
            ids === undefined
              ? repository.oldest(organizationId, collection, cursor ?? "", limit + 1, now)
              : repository.named(organizationId, collection, ids, now)
          )
          const rows = ids === undefined ? found.slice(0, limit) : found
          const rejected: Array<Verdict> = []
          const entries: Array<unknown> = []
          const idsOf: Array<string> = []
          for (const row of rows) {
            const judged = entryOf(row, set)
            if ("reason" in judged) rejected.push({ id: row.id, reason: judged.reason })
            else {
              entries.push(judged.entry)
              idsOf.push(row.id)
            }
          }
          const answer = yield* events.ingestEvents(organizationId, entries, {
            keepsRejected: false,
            ...(reaches === undefined ? {} : { reaches })
          })
          for (const { index, reason } of answer.rejected) rejected.push({ id: idsOf[index]!, reason })
          const failed = new Set(rejected.map(({ id }) => id))
          const done = idsOf.filter((id) => !failed.has(id))
          if (done.length > 0) yield* Effect.orDie(repository.remove(organizationId, done))
          if (rejected.length > 0) yield* Effect.orDie(repository.failAgain(organizationId, rejected, now))
          return {
            retried: rows.length,
            accepted: answer.accepted,
            deduplicated: answer.deduplicated,
            rejected,
            ...(found.length > rows.length ? { next_cursor: rows[rows.length - 1]!.id } : {})
          }
        })
      })
    })
  )
}
