/** Retention of events stored by log rules: the newest 10,000 per rule, at most 30 days. */
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { EVENTS_KEPT_DAYS, EVENTS_KEPT_MAX } from "./schema.ts"

/** Removes at most `rowsMax` events for each of the two limits; returns how many. O(stored events). */
export const expireRuleEvents = Effect.fnUntraced(function* (rowsMax: number, keptMax = EVENTS_KEPT_MAX) {
  const sql = yield* SqlClient.SqlClient
  const before = (yield* Clock.currentTimeMillis) - EVENTS_KEPT_DAYS * 86_400_000
  const old =
    yield* sql`DELETE FROM analytics_rule_events WHERE ctid = ANY(ARRAY(SELECT ctid FROM analytics_rule_events WHERE occurred_at < ${String(before)}::text::int8 LIMIT ${rowsMax}::int4)) RETURNING id`
  const surplus = yield* sql`DELETE FROM analytics_rule_events WHERE ctid = ANY(ARRAY(
    SELECT e.place FROM analytics_rules r CROSS JOIN LATERAL (
      SELECT i.ctid AS place FROM analytics_rule_events i WHERE i.organization_id = r.organization_id AND i.rule = r.name ORDER BY i.id DESC OFFSET ${keptMax}::int4
    ) AS e WHERE r.type = 'log' LIMIT ${rowsMax}::int4)) RETURNING id`
  return old.length + surplus.length
})
