/**
 * Deletes from the outbox: events settled (delivered, or given up after the last attempt) a week ago, and events that
 * nothing settled for thirty days. Decision: thirty days, because attempts end within hours; an event still waiting
 * then will never be taken.
 */
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"

const DAY_MS = 86_400_000
const SETTLED_KEPT_MS = 7 * DAY_MS
const UNSETTLED_KEPT_MS = 30 * DAY_MS

/**
 * Removes at most `rowsMax` rows of each kind; returns how many. Reads the settled ones by their index, the others from
 * the oldest on.
 */
export const expireOutbox = Effect.fnUntraced(function* (rowsMax: number) {
  const sql = yield* SqlClient.SqlClient
  const now = yield* Clock.currentTimeMillis
  const settled = yield* sql`DELETE FROM outbox WHERE id IN (
    SELECT id FROM outbox WHERE settled_at < ${String(now - SETTLED_KEPT_MS)}::text::int8 ORDER BY settled_at LIMIT ${rowsMax}::int4) RETURNING id`
  const unsettled = yield* sql`DELETE FROM outbox WHERE id IN (
    SELECT id FROM (SELECT id, created_at, settled_at FROM outbox ORDER BY id LIMIT ${rowsMax}::int4) AS oldest
    WHERE settled_at IS NULL AND created_at < ${String(now - UNSETTLED_KEPT_MS)}::text::int8) RETURNING id`
  if (unsettled.length > 0)
    yield* Effect.logInfo(`${unsettled.length} outbound events that nothing delivered within 30 days were removed`)
  return settled.length + unsettled.length
})
