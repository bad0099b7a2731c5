/** Rows of runs, and their counts (`streams/processors/experiments`). One function per statement. */
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { UnitSums } from "@dowser/engine-sdk/experiments"
import { SUM_UP } from "@dowser/streams/figures/experiment-sums"
import type { Definition } from "./definition.ts"
import { DAYS_MAX, type Metric } from "./schema.ts"

export interface StoredRun {
  readonly organization_id: string
  readonly experiment_id: string
  readonly run: number
  /** The definition at the start of the run. */ readonly definition: Definition
  /** Unix milliseconds. */ readonly started_at: number
  readonly stopped_at: number | null
  /** Cap on a unit's revenue, in millionths, as text; null until it is fixed. */ readonly revenue_cap: string | null
  /** The smallest p-value of all evaluations, by id of the variant, and of `guardrail …`. */
  readonly least_p: Readonly<Record<string, number>>
  /** The smallest p-value of the split. */ readonly split_p: number
  readonly winner_variant_id: string | null
}
/**
 * Sums over one variant's units (-1: units that received responses of several variants) by day of their first
 * response. Covariates are the same metric before the run, per search.
 */
export interface SumsRow extends UnitSums {
  readonly variant: number
  /** Milliseconds, UTC. */ readonly day: number
  /** `vote_…`: units that chose from an interleaved list, 1 for the second ranking, -1 for the first. */
  readonly metric: Metric | "vote_ctr" | "vote_conversion_rate"
}
export interface ExposuresRow {
  readonly variant: number
  readonly day: number
  readonly exposures: number
}
/** Responses of a variant with about the same latency (`quantile-sketch.ts`). */
export interface LatencyRow {
  readonly variant: number
  readonly bucket: number
  readonly exposures: number
}
/** Units of a variant by dimension; empty if unknown. */
export interface SplitRow {
  readonly dimension: "device" | "country" | "surface"
  readonly value: string
  readonly variant: number
  readonly units: number
}
interface RunKey {
  readonly organization_id: string
  readonly experiment_id: string
  readonly run: number
}
const COLUMNS =
  "organization_id, experiment_id, run, definition, started_at::float8 AS started_at, stopped_at::float8 AS stopped_at, revenue_cap::text AS revenue_cap, least_p, split_p, winner_variant_id"

export const makeRunsRepository = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const columns = sql.literal(COLUMNS)
  const time = (at: number) => sql`${String(at)}::text::int8`
  const is = ({ experiment_id, organization_id, run }: RunKey) =>
    sql`organization_id = ${organization_id} AND experiment_id = ${experiment_id} AND run = ${run}::int4`
  return {
    begin: ({ definition, started_at, ...key }: Pick<StoredRun, "definition" | "started_at"> & RunKey) =>
      sql`INSERT INTO experiment_runs (organization_id, experiment_id, run, definition, started_at, least_p, split_p, looked_at)
        VALUES (${key.organization_id}, ${key.experiment_id}, ${key.run}::int4, ${JSON.stringify(definition)}::text::json, ${time(started_at)}, '{}', 1, 0)`,
    end: (key: RunKey, stopped_at: number) =>
      sql`UPDATE experiment_runs SET stopped_at = ${time(stopped_at)} WHERE ${is(key)}`,
    get: (key: RunKey) =>
      Effect.map(sql<StoredRun>`SELECT ${columns} FROM experiment_runs WHERE ${is(key)}`, ([row]) => row),
    /** Blocks counting of the run's units until the transaction ends. */
    lock: (key: RunKey) =>
      Effect.map(sql<StoredRun>`SELECT ${columns} FROM experiment_runs WHERE ${is(key)} FOR UPDATE`, ([row]) => row),
    /** Claims runs not evaluated since `before`, except those that another process is evaluating. */
    due: (before: number, now: number, limit: number) =>
      sql<StoredRun>`UPDATE experiment_runs SET looked_at = ${time(now)} WHERE (organization_id, experiment_id, run) IN
          (SELECT organization_id, experiment_id, run FROM experiment_runs WHERE stopped_at IS NULL AND looked_at <= ${time(before)} ORDER BY looked_at LIMIT ${limit}::int4 FOR UPDATE SKIP LOCKED)
          RETURNING ${columns}`,
    /** Stores the result of an evaluation. */
    storeResult: (run: StoredRun) =>
      sql`UPDATE experiment_runs SET least_p = ${JSON.stringify(run.least_p)}::text::json, split_p = ${String(run.split_p)}::text::float8, winner_variant_id = ${run.winner_variant_id} WHERE ${is(run)}`,
    /** By day and variant; money is converted from millionths to units. */
    sums: (key: RunKey) =>
      sql<SumsRow>`SELECT variant, day::float8 AS day, metric, n::float8 AS n, (x / scale)::float8 AS x, (xx / scale / scale)::float8 AS xx, y::float8 AS y, yy::float8 AS yy, (xy / scale)::float8 AS xy,
          (c / 1000000)::float8 AS c, (cc / 1000000 / 1000000)::float8 AS cc, (xc / scale / 1000000)::float8 AS xc, (yc / 1000000)::float8 AS yc, known::float8 AS known
        FROM experiment_sums, LATERAL (SELECT CASE WHEN metric = 'revenue_per_search' THEN 1000000::numeric ELSE 1 END AS scale) s WHERE ${is(key)} ORDER BY day, variant, metric`,
    exposures: (key: RunKey) =>
      sql<ExposuresRow>`SELECT variant, day::float8 AS day, exposures::float8 AS exposures FROM experiment_exposures WHERE ${is(key)} ORDER BY day, variant`,
    latencies: (key: RunKey) =>
      sql<LatencyRow>`SELECT variant, bucket, exposures::float8 AS exposures FROM experiment_latencies WHERE ${is(key)} ORDER BY variant, bucket`,
    splits: (key: RunKey) =>
      sql<SplitRow>`SELECT dimension, value, variant, units::float8 AS units FROM experiment_splits WHERE ${is(key)} AND variant >= 0 AND units > 0 ORDER BY dimension, value, variant`,
    /** The revenue below which this share of units lies, in millionths; null without units. O(units). */
    percentile: (key: RunKey, share: number) =>
      Effect.map(
        sql<{
          cap: string | null
        }>`SELECT (percentile_disc(${share}) WITHIN GROUP (ORDER BY revenue))::text AS cap FROM experiment_units WHERE ${is(key)}`,
        ([row]) => row?.cap ?? null
      ),
    /** Days of users that were dropped for lack of room (`HISTORY_ROWS_MAX`). */
    droppedDays: (organizationId: string) =>
      Effect.map(
        sql<{
          dropped: number
        }>`SELECT dropped::float8 AS dropped FROM experiment_history_use WHERE organization_id = ${organizationId}`,
        ([row]) => row?.dropped ?? 0
      ),
    /** Fixes the cap and recomputes the run's sums under it. Call while holding the run's lock. O(units). */
    cap: Effect.fnUntraced(function* (key: RunKey, cap: string) {
      yield* sql`UPDATE experiment_runs SET revenue_cap = ${cap}::text::numeric WHERE ${is(key)}`
      yield* sql`DELETE FROM experiment_sums WHERE ${is(key)}`
      yield* sql.unsafe(SUM_UP, [key.organization_id, key.experiment_id, key.run, cap])
    })
  }
})

const DAY_MS = 86_400_000
/** After this time, events that would identify a unit are no longer accepted, so its sums are final. */
const UNITS_KEPT_MS = 31 * DAY_MS
/** Longer than any experiment looks back plus the maximum lateness of an event. */
const HISTORY_KEPT_MS = (DAYS_MAX + 31) * DAY_MS

/** Removes days of users that no run needs. */
export const expireHistories = Effect.fnUntraced(function* (rowsMax: number) {
  const sql = yield* SqlClient.SqlClient
  const now = yield* Clock.currentTimeMillis
  const [gone] = yield* sql<{ n: number }>`WITH gone AS (
      DELETE FROM experiment_histories WHERE ctid IN (SELECT h.ctid FROM experiment_histories h WHERE h.day < ${String(now - HISTORY_KEPT_MS)}::text::int8
        AND NOT EXISTS (SELECT 1 FROM experiment_runs r WHERE r.organization_id = h.organization_id AND r.definition->>'unit' = 'user'
          AND (r.stopped_at IS NULL OR r.stopped_at > ${String(now - UNITS_KEPT_MS)}::text::int8) AND h.day < r.started_at
          AND h.day >= r.started_at - ((r.definition->>'covariate_days')::int8 + 1) * ${String(DAY_MS)}::text::int8) LIMIT ${rowsMax}::int4) RETURNING organization_id
    ), counted AS (SELECT organization_id, count(*) AS n FROM gone GROUP BY 1
    ), told AS (UPDATE experiment_history_use u SET rows = u.rows - c.n FROM counted c WHERE u.organization_id = c.organization_id)
    SELECT count(*)::int4 AS n FROM gone`
  return gone!.n
})

/**
 * Removes units of runs that ended long ago, and all rows of deleted runs: their sums last, because they show that
 * rows are left.
 */
export const expireUnits = Effect.fnUntraced(function* (rowsMax: number) {
  const sql = yield* SqlClient.SqlClient
  const before = String((yield* Clock.currentTimeMillis) - UNITS_KEPT_MS)
  const orphans =
    sql.literal(`SELECT DISTINCT s.organization_id, s.experiment_id, s.run FROM experiment_sums s WHERE NOT EXISTS (
    SELECT 1 FROM experiment_runs r WHERE r.organization_id = s.organization_id AND r.experiment_id = s.experiment_id AND r.run = s.run)`)
  const units = yield* sql`DELETE FROM experiment_units WHERE ctid IN (SELECT u.ctid FROM (${orphans}
    UNION SELECT organization_id, experiment_id, run FROM experiment_runs WHERE stopped_at <= ${before}::text::int8) r
    JOIN experiment_units u USING (organization_id, experiment_id, run) LIMIT ${rowsMax}::int4) RETURNING 1`
  if (units.length > 0) return units.length
  let rest = 0
  for (const table of ["experiment_exposures", "experiment_latencies", "experiment_splits"])
    rest +=
      (yield* sql`DELETE FROM ${sql.literal(table)} WHERE (organization_id, experiment_id, run) IN (${orphans}) RETURNING 1`)
        .length
  const sums =
    yield* sql`DELETE FROM experiment_sums WHERE (organization_id, experiment_id, run) IN (${orphans}) RETURNING 1`
  return rest + sums.length
})
