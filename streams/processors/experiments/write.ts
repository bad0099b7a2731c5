/**
 * Writes changes of units to their rows and the sums of variants, in the flush's transaction. A run's row is locked
 * first, so that only one partition at a time counts units of a run: a user who searches in two sessions is one unit,
 * and the sessions may be in two partitions.
 */
import { Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { millionths } from "../../facts/money.ts"
import { DAY_MS } from "../../figures/grain.ts"
import { numbersLiteral, ROWS_PER_STATEMENT, textsLiteral } from "../literals.ts"
import { CREDITS, DIMENSIONS, type ExperimentFacts, RunChange, type UnitChange } from "./emitted.ts"
import { TAKE_IN } from "../../figures/experiment-sums.ts"
import { labelled } from "./labels.ts"
import { touchedRuns, writeHistories } from "./write-histories.ts"

/** Maximum number of units that one run counts; later ones are not tracked. A row of a unit takes some 100 bytes. */
const UNITS_MAX = 5_000_000

type Sql<A> = Effect.Effect<A, SqlError.SqlError, SqlClient.SqlClient>

/** What counting the units of a run needs to know of it. */
interface Counted {
  readonly cap: string | null
  /** Days (ms) of its units' covariates: from, and before. */
  readonly covariates: readonly [from: number, before: number] | undefined
}

/** Columns of units, each as an array literal. */
export const columnsOf = (part: ReadonlyArray<UnitChange>) => {
  const numbers = (of: (unit: UnitChange) => number | string) => numbersLiteral(part.map(of))
  return {
    figures: [
      numbers(({ unit }) => unit),
      numbers(({ variants }) => variants),
      numbers(({ firstDay }) => (firstDay === Infinity ? "NULL" : firstDay)),
      numbers(({ searches }) => searches),
      numbers(({ noResults }) => noResults),
      numbers(({ clicked }) => clicked),
      numbers(({ purchased }) => purchased),
      numbers(({ micros, units: whole }) => millionths(whole, micros))
    ],
    parts: [
      ...DIMENSIONS.map((dimension) => textsLiteral(part.map(({ split }) => split[dimension]))),
      ...CREDITS.map((name) => numbers(({ credits }) => credits[name]))
    ]
  }
}

const takenIn = (change: RunChange, { cap, covariates }: Counted): Sql<void> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const { id, organizationId, run } = change
    const units = [...change.units.values()]
    for (let from = 0; from < units.length; from += ROWS_PER_STATEMENT) {
      const { figures, parts } = columnsOf(units.slice(from, from + ROWS_PER_STATEMENT))
      yield* sql.unsafe(TAKE_IN, [
        organizationId,
        id,
        run,
        cap,
        ...figures,
        covariates === undefined ? null : String(covariates[0]),
        covariates === undefined ? null : String(covariates[1]),
        ...parts
      ])
    }
  })

/** Adds answers by day and by latency. */
const answersTakenIn = ({ exposures, id, latencies, organizationId, run }: RunChange): Sql<void> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    for (const { answers, at, table } of [
      { table: "experiment_exposures", at: "day", answers: [...exposures.values()] },
      { table: "experiment_latencies", at: "bucket", answers: [...latencies.values()] }
    ]) {
      if (answers.length === 0) continue
      yield* sql.unsafe(
        `INSERT INTO ${table} AS e (organization_id, experiment_id, run, variant, ${at}, exposures)
          SELECT $1, $2, $3::int4, v, a, n FROM unnest($4::text::int4[], $5::text::int8[], $6::text::int8[]) AS t (v, a, n)
          ON CONFLICT (organization_id, experiment_id, run, variant, ${at}) DO UPDATE SET exposures = e.exposures + EXCLUDED.exposures`,
        [
          organizationId,
          id,
          run,
          numbersLiteral(answers.map(({ variant }) => variant)),
          numbersLiteral(answers.map((one) => one.at)),
          numbersLiteral(answers.map(({ count }) => count))
        ]
      )
    }
  })

/** Locks the run. Undefined if it no longer exists, in which case nobody needs its figures. */
export const lockRun = (organizationId: string, id: string, run: number): Sql<Counted | undefined> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const [found] = yield* sql<{ cap: string | null; days: number | null; started_at: number }>`
      SELECT revenue_cap::text AS cap, started_at::float8 AS started_at,
        CASE WHEN definition->>'unit' = 'user' THEN (definition->>'covariate_days')::int4 END AS days FROM experiment_runs
      WHERE organization_id = ${organizationId} AND experiment_id = ${id} AND run = ${run}::int4 FOR UPDATE`
    if (found === undefined) return undefined
    const { cap, days, started_at } = found
    if (days === null) return { cap, covariates: undefined }
    // Complete days before the day on which it began, which is partly the run's own.
    const before = Math.floor(started_at / DAY_MS) * DAY_MS
    return { cap, covariates: [before - days * DAY_MS, before] }
  })

/** Keeps only known units of the run; once the maximum is reached, only these continue to be counted. */
const withoutNew = (change: RunChange): Sql<void> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const { id, organizationId, run, units } = change
    const [counted] = yield* sql<{ n: number }>`SELECT coalesce(sum(n), 0)::float8 AS n FROM experiment_sums
      WHERE organization_id = ${organizationId} AND experiment_id = ${id} AND run = ${run}::int4 AND metric = 'ctr'`
    if (counted!.n < UNITS_MAX) return
    const known = yield* sql<{ unit: number }>`SELECT unit::float8 AS unit FROM experiment_units
      WHERE organization_id = ${organizationId} AND experiment_id = ${id} AND run = ${run}::int4 AND unit = ANY(${numbersLiteral([...units.keys()])}::text::int8[])`
    const isKnown = new Set(known.map(({ unit }) => unit))
    for (const unit of units.keys()) if (!isKnown.has(unit)) units.delete(unit)
  })

const keyOf = ({ id, organizationId, run }: RunChange): string => `${organizationId} ${id} ${run}`
const byKey = (a: RunChange, b: RunChange): number => {
  const [x, y] = [keyOf(a), keyOf(b)]
  return x < y ? -1 : x > y ? 1 : 0
}

/** The runs with changes, including units without changes of their own whose earlier days changed. */
const runsOf = (facts: ExperimentFacts): Sql<ReadonlyArray<RunChange>> =>
  Effect.gen(function* () {
    const runs = new Map(facts.runs.map((run) => [keyOf(run), run]))
    for (const { experiment_id: id, organization_id, run, unit } of yield* touchedRuns(facts.histories)) {
      const made = new RunChange(organization_id, { id, run })
      const change = runs.get(keyOf(made)) ?? made
      runs.set(keyOf(change), change)
      change.of(unit)
    }
    return [...runs.values()].sort(byKey)
  })

/** Runs in the flush's transaction: four statements for each changed run, and those for users' days. */
export const writeExperiments = (facts: ExperimentFacts): Sql<void> =>
  Effect.gen(function* () {
    if (facts.size === 0) return
    yield* writeHistories(facts.histories)
    // Always in the same order: two partitions that lock several runs wait for each other, but never deadlock.
    for (const change of yield* runsOf(facts)) {
      const found = yield* lockRun(change.organizationId, change.id, change.run)
      if (found === undefined) continue
      yield* withoutNew(change)
      yield* labelled(change)
      yield* takenIn(change, found)
      yield* answersTakenIn(change)
    }
  })
