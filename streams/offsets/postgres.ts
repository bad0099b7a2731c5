/** Offsets in Postgres, moved in the transaction that writes what was counted. */
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { storable } from "@dowser/log/normalize-query"
import { OffsetStore } from "./offset-store.ts"
import { placeKey } from "../reading/skipped.ts"
import type { Positions } from "../state/state.ts"

/**
 * How long a transaction may be idle before Postgres ends it: an owner that hangs inside one would block its successor.
 */
export const STANDSTILL_MAX_MS = "10000"
/** Reasons may quote the record's contents. */
const REASON_CHARACTERS_MAX = 500

export const layerOffsetStore: Layer.Layer<OffsetStore, never, SqlClient.SqlClient> = Layer.effect(
  OffsetStore,
  Effect.map(SqlClient.SqlClient, (sql) =>
    OffsetStore.of({
      offsets: ({ group, partition }) =>
        Effect.map(
          sql<{
            topic: string
            next_offset: number
          }>`SELECT topic, next_offset::float8 AS next_offset FROM stream_offsets WHERE consumer_group = ${group} AND partition = ${partition}`,
          (rows) => Object.fromEntries(rows.map(({ next_offset, topic }) => [topic, next_offset])) as Positions
        ),
      skipped: Effect.fnUntraced(function* ({ group, partition }, starts) {
        for (const [topic, start] of Object.entries(starts)) {
          yield* sql`DELETE FROM stream_skipped WHERE consumer_group = ${group} AND partition = ${partition}::int4 AND topic = ${topic} AND record_offset < ${String(start)}::text::int8`
        }
        const rows = yield* sql<{ topic: string; record_offset: number; entry_index: number; reason: string }>`
      SELECT topic, record_offset::float8 AS record_offset, entry_index, reason FROM stream_skipped WHERE consumer_group = ${group} AND partition = ${partition}::int4`
        return new Map(
          rows.map(({ entry_index, reason, record_offset, topic }) => [
            placeKey({ topic, offset: record_offset, index: entry_index }),
            reason
          ])
        )
      }),
      transaction: sql.withTransaction,
      // Not FOR UPDATE: before the first commit there is no row to lock, and two consumers could both be first.
      lock: ({ group, partition }) =>
        Effect.asVoid(
          sql`SELECT set_config('idle_in_transaction_session_timeout', ${STANDSTILL_MAX_MS}, true), pg_advisory_xact_lock(hashtext(${group}), ${partition}::int4)`
        ),
      holdsFence: ({ group, partition }, fence) =>
        Effect.map(
          sql`SELECT 1 FROM stream_leases WHERE consumer_group = ${group} AND partition = ${partition}::int4 AND fence = ${String(fence)}::text::int8`,
          (held) => held.length > 0
        ),
      moveOffsets: ({ group, partition }, to) => {
        const topics = Object.keys(to)
        return Effect.asVoid(sql`INSERT INTO stream_offsets (consumer_group, topic, partition, next_offset)
      SELECT ${group}, topic, ${partition}::int4, next_offset FROM unnest(${topics}::text[], ${topics.map((topic) => String(to[topic]))}::text[]::int8[]) AS t (topic, next_offset)
      ON CONFLICT (consumer_group, topic, partition) DO UPDATE SET next_offset = EXCLUDED.next_offset`)
      },
      skip: Effect.fnUntraced(function* ({ group, partition }, places) {
        for (const { index, offset, reason, topic } of places) {
          yield* sql`INSERT INTO stream_skipped (consumer_group, topic, partition, record_offset, entry_index, reason)
        VALUES (${group}, ${topic}, ${partition}::int4, ${String(offset)}::text::int8, ${index}::int4, ${storable(reason).slice(0, REASON_CHARACTERS_MAX)}) ON CONFLICT DO NOTHING`
        }
      })
    })
  )
)
