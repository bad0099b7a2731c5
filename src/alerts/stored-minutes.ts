/**
 * Latencies of searches that alerts evaluate, over all processes: for organizations with such an alert, each process
 * stores the counts of its searches (`src/search/search-minutes.ts`) every few seconds; a crash loses those seconds.
 * A new alert starts without history.
 *
 * Bound: a row of some hundred bytes per minute, process and organization that searched, for 25 hours.
 */
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Identifiers } from "@dowser/log/identifiers"
import { percentileOf, type SearchMinutes } from "../search/search-minutes.ts"
import { makeAlertsRepository } from "./alerts-repository.ts"

const MINUTE_MS = 60_000
const STORED_EVERY_MS = 10_000
/** A day, which is the longest window of an alert, plus an hour. */
const KEPT_MS = 25 * 3_600_000

/** Stores the counts while the scope is open, and the rest when it closes. */
export const keepMinutes = Effect.fnUntraced(function* (counted: SearchMinutes) {
  const sql = yield* SqlClient.SqlClient
  const process = yield* (yield* Identifiers).make("prc")
  const { timedOrganizations } = yield* makeAlertsRepository
  const stored = Effect.gen(function* () {
    const wanted = yield* timedOrganizations
    const { again, minutes } = counted.take((organizationId) => wanted.has(organizationId))
    if (minutes.length === 0) return
    yield* Effect.onError(
      sql`INSERT INTO search_minutes (organization_id, minute_at, process, errors, counts)
        SELECT organization_id, minute_at, ${process}, errors, counts FROM json_to_recordset(${JSON.stringify(
          minutes.map(({ counts, errors, minute_at, organizationId }) => ({
            organization_id: organizationId,
            minute_at,
            errors,
            counts
          }))
        )}::text::json) AS m (organization_id text, minute_at int8, errors int4, counts json)
        ON CONFLICT (organization_id, minute_at, process) DO UPDATE SET errors = EXCLUDED.errors, counts = EXCLUDED.counts`,
      () => Effect.sync(again)
    )
  })
  const storing = Effect.catch(stored, (error) =>
    Effect.logWarning("Times of searches could not be stored; tried again in a moment", error)
  )
  yield* Effect.addFinalizer(() => storing)
  yield* Effect.forkScoped(Effect.forever(Effect.andThen(Effect.sleep(STORED_EVERY_MS), storing)))
})

/** Searches in the minutes of a range: how many, how many failed by our fault, p95 (ms). */
export const readSearchMinutes = Effect.fnUntraced(function* (organizationId: string, from: number, before: number) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ errors: number; counts: ReadonlyArray<number> }>`SELECT errors, counts FROM search_minutes
    WHERE organization_id = ${organizationId} AND minute_at >= ${String(Math.floor(from / MINUTE_MS) * MINUTE_MS)}::text::int8 AND minute_at < ${String(before)}::text::int8`
  const counts = new Array<number>()
  for (const row of rows) row.counts.forEach((count, step) => (counts[step] = (counts[step] ?? 0) + count))
  return {
    searches: counts.reduce((sum, count) => sum + count, 0),
    errors: rows.reduce((sum, { errors }) => sum + errors, 0),
    p95_ms: percentileOf(counts, 0.95)
  }
})

/** Removes at most `rowsMax` rows that no window covers any more; returns how many. */
export const expireSearchMinutes = Effect.fnUntraced(function* (rowsMax: number) {
  const sql = yield* SqlClient.SqlClient
  const before = String((yield* Clock.currentTimeMillis) - KEPT_MS)
  return (yield* sql`DELETE FROM search_minutes WHERE ctid = ANY(ARRAY(SELECT ctid FROM search_minutes WHERE minute_at < ${before}::text::int8 LIMIT ${rowsMax}::int4)) RETURNING minute_at`)
    .length
})
export const searchMinutesTable = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.andThen(
    sql`CREATE TABLE search_minutes (
    organization_id text NOT NULL,
    minute_at bigint NOT NULL,
    process text NOT NULL,
    errors int4 NOT NULL,
    counts json NOT NULL,
    PRIMARY KEY (organization_id, minute_at, process)
  )`,
    // Finds expired rows without scanning the others.
    sql`CREATE INDEX search_minutes_at ON search_minutes (minute_at)`
  )
)
