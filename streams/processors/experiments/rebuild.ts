/**
 * Rebuilds runs of experiments from the log (`POST /events/replays`, target `experiments`). A run can only be rebuilt
 * completely: the runs that began on the replay's days are rebuilt from their first search until now, together with
 * what users did on those days. For other targets nothing is written.
 */
import { Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { millionths } from "../../facts/money.ts"
import { FROM_SHADOWS, SHADOW_IN, SPLIT_UP, SUM_UP } from "../../figures/experiment-sums.ts"
import type { RowCounts } from "../../processor/erasing.ts"
import { numbersLiteral, ROWS_PER_STATEMENT, textsLiteral } from "../literals.ts"
import { DIMENSIONS, type ExperimentFacts, type RunChange } from "./emitted.ts"
import { isNothing } from "./figures.ts"
import type { HistoryChange } from "./histories.ts"
import { OTHERS, VALUES_MAX } from "./labels.ts"
import { columnsOf, lockRun } from "./write.ts"
import { HISTORY_ROWS_MAX, LOCK } from "./write-histories.ts"

type Sql<A> = Effect.Effect<A, SqlError.SqlError, SqlClient.SqlClient>

const TABLES = ["shadow_experiment_units", "shadow_experiment_answers", "shadow_experiment_histories"]
export const emptyShadowRuns: Sql<void> = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.asVoid(sql.unsafe(`TRUNCATE ${TABLES.join(", ")}`))
)

interface Asked {
  readonly from_at: number
  readonly before_at: number
  readonly shadows: ReadonlyArray<string>
}
/** The current replay if its target is experiments of the organization; undefined for other targets, or an erasure. */
const askedFor = (organizationId: string): Sql<Asked | undefined> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const [asked] = yield* sql<Asked>`SELECT r.from_at::float8 AS from_at, r.before_at::float8 AS before_at,
        coalesce((SELECT array_agg(p.shadow) FROM stream_replay_partitions p WHERE p.job_id = r.job_id), ARRAY[]::text[]) AS shadows
      FROM stream_replays r JOIN jobs j ON j.id = r.job_id WHERE r.organization_id = ${organizationId} AND j.config->>'target' = 'experiments'`
    return asked
  })

const shadowRun = ({ exposures, id, latencies, run, units: all }: RunChange, shadow: string): Sql<void> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const units = [...all.values()]
    for (let from = 0; from < units.length; from += ROWS_PER_STATEMENT) {
      const { figures, parts } = columnsOf(units.slice(from, from + ROWS_PER_STATEMENT))
      yield* sql.unsafe(SHADOW_IN, [shadow, id, run, ...figures, ...parts])
    }
    for (const { answers, kind } of [
      { kind: "day", answers: [...exposures.values()] },
      { kind: "bucket", answers: [...latencies.values()] }
    ])
      yield* sql.unsafe(
        `INSERT INTO shadow_experiment_answers AS s (shadow, experiment_id, run, kind, variant, at, exposures)
          SELECT $1, $2, $3::int4, $4, v, a, n FROM unnest($5::text::int4[], $6::text::int8[], $7::text::int8[]) AS t (v, a, n)
          ON CONFLICT (shadow, experiment_id, run, kind, variant, at) DO UPDATE SET exposures = s.exposures + EXCLUDED.exposures`,
        [
          shadow,
          id,
          run,
          kind,
          numbersLiteral(answers.map(({ variant }) => variant)),
          numbersLiteral(answers.map(({ at }) => at)),
          numbersLiteral(answers.map(({ count }) => count))
        ]
      )
  })
const shadowHistories = (all: ReadonlyArray<HistoryChange>, shadow: string): Sql<void> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    for (let from = 0; from < all.length; from += ROWS_PER_STATEMENT) {
      const part = all.slice(from, from + ROWS_PER_STATEMENT)
      const numbers = (of: (change: HistoryChange) => number | string) => numbersLiteral(part.map(of))
      yield* sql.unsafe(
        `INSERT INTO shadow_experiment_histories AS s (shadow, unit, day, searches, no_results, clicked, purchased, revenue)
          SELECT $1, * FROM unnest($2::text::int8[], $3::text::int8[], $4::text::int8[], $5::text::int8[], $6::text::int8[], $7::text::int8[], $8::text::int8[]) AS t
          ON CONFLICT (shadow, unit, day) DO UPDATE SET searches = s.searches + EXCLUDED.searches, no_results = s.no_results + EXCLUDED.no_results,
            clicked = s.clicked + EXCLUDED.clicked, purchased = s.purchased + EXCLUDED.purchased, revenue = s.revenue + EXCLUDED.revenue`,
        [
          shadow,
          numbers(({ unit }) => unit),
          numbers(({ day }) => day),
          numbers(({ searches }) => searches),
          numbers(({ noResults }) => noResults),
          numbers(({ clicked }) => clicked),
          numbers(({ purchased }) => purchased),
          numbers(({ micros, units }) => millionths(units, micros))
        ]
      )
    }
  })

/** Writes one organization's part, under the shadow's name. */
export const writeShadowRuns = (facts: ExperimentFacts, organizationId: string, shadow: string): Sql<void> =>
  Effect.gen(function* () {
    if (facts.size === 0 || (yield* askedFor(organizationId)) === undefined) return
    for (const run of facts.runs) if (run.organizationId === organizationId) yield* shadowRun(run, shadow)
    const days = facts.histories.changes(organizationId).filter((change) => !isNothing(change))
    yield* shadowHistories(days, shadow)
  })

/** Replaces days of users by those of the replay. */
const settleHistories = (organizationId: string, { before_at, from_at, shadows }: Asked): Sql<number> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql.unsafe(LOCK, [textsLiteral([organizationId])])
    const range = [organizationId, String(from_at), String(before_at)]
    yield* sql.unsafe(
      "DELETE FROM experiment_histories WHERE organization_id = $1 AND day >= $2::text::int8 AND day < $3::text::int8",
      range
    )
    const [row] = yield* sql.unsafe<{ n: number }>(
      `WITH made AS (
        INSERT INTO experiment_histories (organization_id, unit, day, searches, no_results, clicked, purchased, revenue)
        SELECT $1, unit, day, sum(searches), sum(no_results), sum(clicked), sum(purchased), sum(revenue) FROM shadow_experiment_histories
        WHERE shadow = ANY($4::text::text[]) AND day >= $2::text::int8 AND day < $3::text::int8 GROUP BY unit, day HAVING sum(searches) > 0
        ORDER BY day DESC, unit LIMIT greatest(0, $5::text::int8 - (SELECT count(*) FROM experiment_histories WHERE organization_id = $1)) RETURNING 1)
      SELECT count(*)::int4 AS n FROM made`,
      [...range, textsLiteral(shadows), String(HISTORY_ROWS_MAX)]
    )
    yield* sql`UPDATE experiment_history_use SET rows = (SELECT count(*) FROM experiment_histories WHERE organization_id = ${organizationId}) WHERE organization_id = ${organizationId}`
    return row!.n
  })

const COUNTED = ["units", "sums", "splits", "exposures", "latencies"].map((name) => `experiment_${name}`)
/** Replaces the units of a run. */
const settleRun = (organizationId: string, id: string, run: number, shadows: ReadonlyArray<string>): Sql<number> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const key = [organizationId, id, run]
    const found = yield* lockRun(organizationId, id, run)
    const names = textsLiteral(shadows)
    for (const table of COUNTED)
      yield* sql.unsafe(
        `DELETE FROM ${table} WHERE organization_id = $1 AND experiment_id = $2 AND run = $3::int4`,
        key
      )
    const [from, before] = found?.covariates ?? [null, null]
    yield* sql.unsafe(FROM_SHADOWS, [
      ...key,
      names,
      from === null ? null : String(from),
      before === null ? null : String(before)
    ])
    for (const name of DIMENSIONS)
      yield* sql.unsafe(
        `UPDATE experiment_units SET ${name} = $4 WHERE organization_id = $1 AND experiment_id = $2 AND run = $3::int4 AND ${name} NOT IN (
          SELECT ${name} FROM experiment_units WHERE organization_id = $1 AND experiment_id = $2 AND run = $3::int4 GROUP BY ${name} ORDER BY ${name} LIMIT $5::text::int8)`,
        // The value for "unknown" sorts first and is not one of the labels.
        [...key, OTHERS, String(VALUES_MAX + 1)]
      )
    yield* sql.unsafe(SUM_UP, [...key, found?.cap ?? null])
    yield* sql.unsafe(SPLIT_UP, key)
    for (const [table, column, kind] of [
      ["experiment_exposures", "day", "day"],
      ["experiment_latencies", "bucket", "bucket"]
    ])
      yield* sql.unsafe(
        `INSERT INTO ${table} (organization_id, experiment_id, run, variant, ${column}, exposures) SELECT $1, $2, $3::int4, variant, at, sum(exposures)
          FROM shadow_experiment_answers WHERE shadow = ANY($4::text::text[]) AND experiment_id = $2 AND run = $3::int4 AND kind = $5 GROUP BY variant, at`,
        [...key, names, kind]
      )
    const [row] = yield* sql.unsafe<{ n: number }>(
      "SELECT count(*)::int4 AS n FROM experiment_units WHERE organization_id = $1 AND experiment_id = $2 AND run = $3::int4",
      key
    )
    return row!.n
  })

/** Exchanges the rebuilt runs. Returns the rows rebuilt, by table. */
export const settleRuns = (organizationId: string): Sql<RowCounts> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const asked = yield* askedFor(organizationId)
    if (asked === undefined) return {} as RowCounts
    const experiment_histories = yield* settleHistories(organizationId, asked)
    const runs = yield* sql<{ experiment_id: string; run: number }>`SELECT experiment_id, run FROM experiment_runs
      WHERE organization_id = ${organizationId} AND started_at >= ${String(asked.from_at)}::text::int8 AND started_at < ${String(asked.before_at)}::text::int8 ORDER BY experiment_id, run`
    let experiment_units = 0
    for (const { experiment_id, run } of runs)
      experiment_units += yield* settleRun(organizationId, experiment_id, run, asked.shadows)
    return { experiment_units, experiment_histories, experiment_runs: runs.length }
  })
