/** How outbound events leave the queue: they are turned into deliveries once, and settled with their last delivery. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

interface WaitingEvent {
  readonly id: number
  readonly organization_id: string
  readonly delivery_id: string
  readonly event: string
  readonly data: Readonly<Record<string, unknown>>
  readonly created_at: number
}

/** One function per statement; all are called inside the caller's transaction. */
export const makeOutboxSettling = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  return {
    /** At most `rowsMax`, oldest first, locked; events that another process fans out are skipped. */
    waiting: (rowsMax: number) =>
      sql<WaitingEvent>`SELECT id::float8 AS id, organization_id, delivery_id, event, data, created_at::float8 AS created_at FROM outbox WHERE fanned_out_at IS NULL ORDER BY id LIMIT ${rowsMax}::int4 FOR UPDATE SKIP LOCKED`,
    /** `settled`: the events for which there is no delivery. */
    markFannedOut: (ids: ReadonlyArray<number>, settled: ReadonlyArray<number>, now: number) =>
      sql`UPDATE outbox SET fanned_out_at = ${String(now)}::text::int8, settled_at = CASE WHEN id = ANY(${settled.map(String)}::text[]::int8[]) THEN ${String(now)}::text::int8 ELSE settled_at END
        WHERE id = ANY(${ids.map(String)}::text[]::int8[])`,
    /**
     * Settles events without pending deliveries. Their rows are locked first, so that of two processes that record the
     * last two deliveries at the same time the later one sees both.
     */
    settle: Effect.fnUntraced(function* (ids: ReadonlyArray<number>, now: number) {
      if (ids.length === 0) return
      const distinct = [...new Set(ids)].map(String)
      yield* sql`SELECT id FROM outbox WHERE id = ANY(${distinct}::text[]::int8[]) ORDER BY id FOR UPDATE`
      yield* sql`UPDATE outbox SET settled_at = ${String(now)}::text::int8 WHERE id = ANY(${distinct}::text[]::int8[]) AND settled_at IS NULL
        AND NOT EXISTS (SELECT 1 FROM webhook_deliveries AS d WHERE d.outbox_id = outbox.id AND d.status = 'pending')`
    })
  }
})
