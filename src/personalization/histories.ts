/**
 * What visitors did, from the rows that the processor `affinities` writes at each flush, cached for half a second, so
 * that a click affects searches within two. A search that needs it reads the visitor's rows by key in some tenths of a
 * millisecond, and those of up to three earlier ids of the visitor; while Postgres does not answer, nobody has a
 * history.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { BoundedMap } from "@dowser/engine-sdk/host"
import { narrowKey, shortPrint } from "@dowser/log/fingerprint"
import { readFingerprintKey } from "@dowser/log/fingerprint-key"
import { joined, type Take, unpackSeenAs, unpackTakes } from "@dowser/streams/figures/history"
import type { Visitor } from "../identity/visitor.ts"

const FRESH_MS = 500
const BYTES_MAX = 28_000_000
/** Maximum time that a search waits. */
const WAIT = "100 millis"
/** Limit for one visitor in all collections, newest first; and for all ids seen with a user. */
const ROWS_MAX = 100
const TAKE_BYTES = 150

export type Visiting = Pick<Visitor, "user_id" | "anonymous_id" | "session_id">
interface HistoryRow {
  readonly visitor: string
  readonly collection: string
  readonly recent: Uint8Array
}
interface Read {
  readonly takes: ReadonlyArray<Take>
  readonly read_at: number
}
const NOTHING: ReadonlyArray<Take> = []

export class Histories extends Context.Service<
  Histories,
  {
    /**
     * History of the user, else the anonymous id, else the session, in a collection under any of its names; by time. A
     * user's history includes what was done under an anonymous id or session before it was seen with the user.
     */
    readonly of: (
      organizationId: string,
      visiting: Visiting,
      names: ReadonlyArray<string>
    ) => Effect.Effect<ReadonlyArray<Take>>
    /** History of a user in every collection, under the names in events. Read from Postgres directly. */
    readonly ofUser: (
      organizationId: string,
      userId: string
    ) => Effect.Effect<ReadonlyArray<{ readonly collection: string; readonly takes: ReadonlyArray<Take> }>>
  }
>()("dowser/personalization/Histories") {
  static readonly layer: Layer.Layer<Histories, never, SqlClient.SqlClient> = Layer.effect(
    Histories,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock
      const fingerprintKey = yield* Effect.orDie(readFingerprintKey)
      const known = new BoundedMap<string, Read>({
        bytes_max: BYTES_MAX,
        bytesOf: (key, { takes }) => 2 * key.length + TAKE_BYTES * takes.length
      })
      const printOf = (organizationId: string, { anonymous_id, session_id, user_id }: Visiting): number | undefined => {
        const key = narrowKey(fingerprintKey, organizationId)
        if (user_id !== undefined) return shortPrint(key, "user ", user_id)
        if (anonymous_id !== undefined) return shortPrint(key, "anonymous ", anonymous_id)
        return session_id === undefined ? undefined : shortPrint(key, "session ", session_id)
      }
      const rowsOf = (organizationId: string, visitors: ReadonlyArray<number>) => sql<HistoryRow>`
        SELECT visitor::text AS visitor, collection, recent FROM visitor_histories
        WHERE organization_id = ${organizationId} AND visitor = ANY(${`{${visitors.join(",")}}`}::text::int8[])
        ORDER BY updated_at DESC, visitor, collection LIMIT ${ROWS_MAX}::int4`
      /** By collection: what the visitor did, including under earlier ids that were seen with the user's. */
      const read = Effect.fnUntraced(function* (organizationId: string, visitor: number) {
        const own = yield* rowsOf(organizationId, [visitor])
        const seenAs = unpackSeenAs(Buffer.concat(own.map(({ recent }) => recent)))
        const others =
          seenAs.length === 0
            ? []
            : yield* rowsOf(
                organizationId,
                seenAs.map((one) => one.visitor)
              )
        const untilOf = new Map(seenAs.map((one) => [String(one.visitor), one.at_s]))
        const collections = [...new Set([...own, ...others].map(({ collection }) => collection))]
        return collections.map((collection) => {
          const isOf = (row: HistoryRow) => row.collection === collection
          const joining = others.filter(isOf).map((row) => ({ row: row.recent, at_s: untilOf.get(row.visitor) ?? 0 }))
          return {
            collection,
            recent: joined(
              own.filter(isOf).map(({ recent }) => recent),
              joining
            )
          }
        })
      })
      return Histories.of({
        of: Effect.fnUntraced(function* (organizationId, visiting, names) {
          const visitor = printOf(organizationId, visiting)
          if (visitor === undefined) return NOTHING
          const id = `${organizationId}\n${visitor}\n${names.join("\n")}`
          const now = clock.currentTimeMillisUnsafe()
          const kept = known.get(id)
          if (kept !== undefined && now - kept.read_at < FRESH_MS) return kept.takes
          const takes = yield* Effect.map(read(organizationId, visitor), (rows) =>
            rows
              .filter(({ collection }) => names.includes(collection))
              .sort((a, b) => (a.collection < b.collection ? -1 : 1))
              .flatMap(({ recent }) => unpackTakes(recent))
          ).pipe(
            Effect.timeout(WAIT),
            Effect.catch((error) =>
              Effect.as(
                Effect.logWarning("A visitor's history could not be read; the search is not personal", error),
                NOTHING
              )
            )
          )
          known.set(id, { takes, read_at: now })
          return takes
        }),
        ofUser: Effect.fnUntraced(function* (organizationId, userId) {
          const visitor = printOf(organizationId, { user_id: userId, anonymous_id: undefined, session_id: undefined })!
          const rows = yield* Effect.orDie(read(organizationId, visitor))
          return rows.map(({ collection, recent }) => ({ collection, takes: unpackTakes(recent) }))
        })
      })
    })
  )
}
