/**
 * Deletes old deliveries: those beyond the 100 newest of an endpoint, never a pending one. Decision: failed ones stay
 * 14 days even beyond the 100, because a recovery since a time promises everything that failed.
 */
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { DELIVERIES_LISTED } from "./schema.ts"

export const FAILED_KEPT_MS = 14 * 86_400_000

/**
 * Removes at most `rowsMax` rows; returns how many. Reads the newest 100 of each endpoint by their key, and older ones
 * until enough is found.
 */
export const expireDeliveries = Effect.fnUntraced(function* (rowsMax: number) {
  const sql = yield* SqlClient.SqlClient
  const failedBefore = (yield* Clock.currentTimeMillis) - FAILED_KEPT_MS
  const removed = yield* sql`DELETE FROM webhook_deliveries WHERE ctid = ANY(ARRAY(
    SELECT old.place FROM webhook_endpoints AS e CROSS JOIN LATERAL (
      SELECT d.ctid AS place FROM webhook_deliveries AS d WHERE d.endpoint_id = e.id
        AND d.id < (SELECT id FROM webhook_deliveries WHERE endpoint_id = e.id ORDER BY id DESC OFFSET ${DELIVERIES_LISTED - 1}::int4 LIMIT 1)
        AND (d.status = 'success' OR (d.status = 'failed' AND d.finished_at < ${String(failedBefore)}::text::int8)) LIMIT ${rowsMax}::int4
    ) AS old LIMIT ${rowsMax}::int4)) RETURNING id`
  return removed.length
})
