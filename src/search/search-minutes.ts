/**
 * How long searches took and how many failed by our fault, by organization and minute, over all processes: what alerts
 * look at. Each process counts for itself and stores its minutes every few seconds; a crash loses those seconds.
 *
 * Bound: in memory the organizations of two minutes, and of more while Postgres is away, but never more than
 * `MINUTES_MAX`, 15 MB: the oldest are forgotten. In Postgres a row of some hundred bytes a minute, process and
 * organization that searched, for 25 hours.
 */
import { Clock, Effect, type Scope } from "effect"
import { SqlClient } from "effect/sql"
import { Identifiers } from "@dowser/log/identifiers"

const MINUTE_MS = 60_000
const STORED_EVERY_MS = 10_000
/** A day, which is the longest window of an alert, and an hour. */
const KEPT_MS = 25 * 3_600_000
const MINUTES_MAX = 20_000
/** Times are counted in steps of a quarter: a percentile is right to an eighth. */
const FIRST_MS = 0.25
const FACTOR = 1.25
const STEPS = 60

export const stepOf = (took_ms: number): number =>
  Math.min(STEPS - 1, Math.max(0, Math.ceil(Math.log(took_ms / FIRST_MS) / Math.log(FACTOR))))
/** The middle of a step, ms. */
const timeOf = (step: number): number => FIRST_MS * FACTOR ** (step - 0.5)
/** undefined where nothing was counted. Pure. */
export const percentileOf = (counts: ReadonlyArray<number>, share: number): number | undefined => {
  const all = counts.reduce((sum, count) => sum + count, 0)
  if (all === 0) return undefined
  let left = Math.ceil(all * share)
  const step = counts.findIndex((count) => (left -= count) <= 0)
  return timeOf(step)
}

interface Minute {
  readonly organizationId: string
  readonly minute_at: number
  errors: number
  readonly counts: Array<number>
  isStored: boolean
}
export interface SearchMinutes {
  /** Of a search that ended. O(1). */
  readonly add: (organizationId: string, took_ms: number, isError: boolean) => void
  /** Minutes of organizations in memory. */ readonly held: () => number
}

/** Counts, and stores what was counted, as long as the scope is open; the rest when it closes. */
export const makeSearchMinutes: Effect.Effect<SearchMinutes, never, Identifiers | Scope.Scope | SqlClient.SqlClient> =
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const clock = yield* Clock.Clock
    const process = yield* (yield* Identifiers).make("prc")
    const minutes = new Map<string, Minute>()
    const stored = Effect.gen(function* () {
      const now = clock.currentTimeMillisUnsafe()
      const changed = [...minutes.values()].filter(({ isStored }) => !isStored)
      for (const minute of changed) minute.isStored = true
      if (changed.length > 0)
        yield* sql`INSERT INTO search_minutes (organization_id, minute_at, process, errors, counts)
        SELECT organization_id, minute_at, ${process}, errors, counts FROM json_to_recordset(${JSON.stringify(
          changed.map(({ counts, errors, minute_at, organizationId }) => ({
            organization_id: organizationId,
            minute_at,
            errors,
            counts
          }))
        )}::text::json) AS m (organization_id text, minute_at int8, errors int4, counts json)
        ON CONFLICT (organization_id, minute_at, process) DO UPDATE SET errors = EXCLUDED.errors, counts = EXCLUDED.counts`
      for (const [key, { isStored, minute_at }] of minutes)
        if (isStored && minute_at + 2 * MINUTE_MS < now) minutes.delete(key)
    })
    /** A `Map` keeps the order in which minutes began. */
    const forgetOldest = (): void => {
      for (const [key] of minutes) {
        minutes.delete(key)
        return
      }
    }
    const told = Effect.catch(stored, (error) =>
      Effect.andThen(
        Effect.sync(() => {
          for (const minute of minutes.values()) minute.isStored = false
        }),
        Effect.logWarning("Times of searches could not be stored; tried again in a moment", error)
      )
    )
    yield* Effect.addFinalizer(() => told)
    yield* Effect.forkScoped(Effect.forever(Effect.andThen(Effect.sleep(STORED_EVERY_MS), told)))
    return {
      held: () => minutes.size,
      add: (organizationId, took_ms, isError) => {
        const minute_at = Math.floor(clock.currentTimeMillisUnsafe() / MINUTE_MS) * MINUTE_MS
        const key = `${minute_at} ${organizationId}`
        let minute = minutes.get(key)
        if (minute === undefined) {
          minute = { organizationId, minute_at, errors: 0, counts: new Array<number>(STEPS).fill(0), isStored: false }
          minutes.set(key, minute)
          if (minutes.size > MINUTES_MAX) forgetOldest()
        }
        minute.isStored = false
        if (isError) minute.errors++
        const step = stepOf(took_ms)
        minute.counts[step] = minute.counts[step]! + 1
      }
    }
  })

/** Of searches of the minutes that begin in a range: how many, how many failed by our fault, p95 (ms). */
export const readSearchMinutes = Effect.fnUntraced(function* (organizationId: string, from: number, before: number) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ errors: number; counts: ReadonlyArray<number> }>`SELECT errors, counts FROM search_minutes
    WHERE organization_id = ${organizationId} AND minute_at >= ${String(Math.floor(from / MINUTE_MS) * MINUTE_MS)}::text::int8 AND minute_at < ${String(before)}::text::int8`
  const counts = new Array<number>(STEPS).fill(0)
  for (const row of rows) row.counts.forEach((count, step) => (counts[step] = counts[step]! + count))
  return {
    searches: counts.reduce((sum, count) => sum + count, 0),
    errors: rows.reduce((sum, { errors }) => sum + errors, 0),
    p95_ms: percentileOf(counts, 0.95)
  }
})

/** Removes at most `rowsMax` rows that no window reaches any more; answers how many. */
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
    // What is over is found without a look at what is not.
    sql`CREATE INDEX search_minutes_at ON search_minutes (minute_at)`
  )
)
