/** Offsets of consumer groups in Postgres, moved in the transaction that writes what was counted. */
import { Data, Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Positions } from "./state.ts"

/** Somebody else moved this group's offsets: another consumer owns the partition, or Postgres was restored. */
export class OffsetsMoved extends Data.TaggedError("OffsetsMoved")<{ readonly message: string }> {}

/** The partition has another owner by now (`leases.ts`): what this one counted since its last flush is the other's to count. */
export class LeaseLost extends Data.TaggedError("LeaseLost")<{ readonly message: string }> {}

/** Offsets by topic; a topic never read is absent. */
export const readOffsets = Effect.fnUntraced(function*(group: string, partition: number) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ topic: string; next_offset: number }>`
    SELECT topic, next_offset::float8 AS next_offset FROM stream_offsets WHERE consumer_group = ${group} AND partition = ${partition}`
  return Object.fromEntries(rows.map(({ next_offset, topic }) => [topic, next_offset])) as Positions
})

const equal = (a: Positions, b: Positions): boolean => {
  const topics = new Set([...Object.keys(a), ...Object.keys(b)])
  return [...topics].every((topic) => (a[topic] ?? 0) === (b[topic] ?? 0))
}

/** How long a transaction may stand still before Postgres ends it: an owner that froze in one would hold up its successor. */
const STANDSTILL_MAX_MS = "10000"

/**
 * Runs `write` and moves the group from `from` to `to` in one transaction. When the group already stands at `to`, an
 * earlier attempt had committed without our hearing of it, and nothing is written twice. With a `fence`, nothing is
 * written either once the partition has a newer owner: the successor's offsets must not move under it, and the check of
 * the offsets alone would let a predecessor win that comes back before the successor's first flush.
 */
export const commitWith = <E, R>(group: string, partition: number, from: Positions, to: Positions, write: Effect.Effect<void, E, R>, fence?: number) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    return yield* sql.withTransaction(Effect.gen(function*() {
      // Not FOR UPDATE: before the first commit there is no row to lock, and two consumers would both be first.
      yield* sql`SELECT set_config('idle_in_transaction_session_timeout', ${STANDSTILL_MAX_MS}, true), pg_advisory_xact_lock(hashtext(${group}), ${partition}::int4)`
      if (fence !== undefined) {
        const held = yield* sql`SELECT 1 FROM stream_leases WHERE consumer_group = ${group} AND partition = ${partition}::int4 AND fence = ${String(fence)}::text::int8`
        if (held.length === 0) return yield* new LeaseLost({ message: `${group}/${partition} has another owner` })
      }
      const at = yield* readOffsets(group, partition)
      if (equal(at, to)) return
      if (!equal(at, from)) return yield* new OffsetsMoved({ message: `offsets of ${group}/${partition} moved from under this consumer` })
      yield* write
      const topics = Object.keys(to)
      yield* sql`INSERT INTO stream_offsets (consumer_group, topic, partition, next_offset)
        SELECT ${group}, topic, ${partition}::int4, next_offset FROM unnest(${topics}::text[], ${topics.map((topic) => String(to[topic]))}::text[]::int8[]) AS t (topic, next_offset)
        ON CONFLICT (consumer_group, topic, partition) DO UPDATE SET next_offset = EXCLUDED.next_offset`
    }))
  })
