/**
 * How long single instants are kept: as long as a range that ends now can begin at one of them. Older bounds of a
 * range are rounded to minutes, whose rows are kept permanently.
 *
 * Decision: 400 days. A range is at most 366 days, and a late event may change instants of 30 days ago.
 */
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { DateRange } from "./date-range.ts"
import { DAY_MS, MINUTE_MS } from "@dowser/streams/figures/grain"

const INSTANTS_KEPT_DAYS = 400

/** Instants from here on (ms) are available; rounded to days, so that all reads for one response agree. */
export const instantsKeptFrom = (now: number): number => Math.floor(now / DAY_MS) * DAY_MS - INSTANTS_KEPT_DAYS * DAY_MS

/** The range, with each bound before `keptFrom` moved outwards to a whole minute. */
export const withoutOldInstants = ({ before, from }: DateRange, keptFrom: number): DateRange => ({
  from: from < keptFrom ? Math.floor(from / MINUTE_MS) * MINUTE_MS : from,
  before: before < keptFrom ? Math.ceil(before / MINUTE_MS) * MINUTE_MS : before
})

/**
 * Removes at most `rowsMax` packed minutes that no read needs any more, a day after the last read that did; returns
 * how many. O(organizations) index probes in addition to the rows.
 */
export const expireInstants = Effect.fnUntraced(function* (rowsMax: number) {
  const sql = yield* SqlClient.SqlClient
  const before = instantsKeptFrom(yield* Clock.currentTimeMillis) - DAY_MS
  const removed = yield* sql`DELETE FROM analytics_instants WHERE ctid = ANY(ARRAY(
    SELECT old.place FROM organizations o CROSS JOIN LATERAL (
      SELECT i.ctid AS place FROM analytics_instants i WHERE i.organization_id = o.id AND i.minute_at < ${String(before)}::text::int8 LIMIT ${rowsMax}::int4
    ) AS old LIMIT ${rowsMax}::int4)) RETURNING minute_at`
  return removed.length
})
