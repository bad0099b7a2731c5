/**
 * Writes days of users to their rows, in the flush's transaction. The organizations' rows in `experiment_history_use`
 * are locked first and until the commit: so their rows are counted exactly, and no other partition adds a user to a run
 * while that user's earlier days are being written.
 */
import { Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { millionths } from "../../facts/money.ts"
import { DAY_MS } from "../../figures/grain.ts"
import { numbersLiteral, ROWS_PER_STATEMENT, textsLiteral } from "../literals.ts"
import { isNothing } from "./figures.ts"
import type { Histories, HistoryChange } from "./histories.ts"

/**
 * Maximum number of days of users that an organization keeps, some 150 MB with their keys. Days beyond that are
 * dropped and counted.
 */
export const HISTORY_ROWS_MAX = 1_000_000

type Sql<A> = Effect.Effect<A, SqlError.SqlError, SqlClient.SqlClient>

/** Locks the organizations' rows, in the order given. */
export const LOCK = `INSERT INTO experiment_history_use AS u (organization_id, rows, dropped) SELECT o, 0, 0 FROM unnest($1::text::text[]) AS t (o)
  ON CONFLICT (organization_id) DO UPDATE SET rows = u.rows`
const FIGURES = ["searches", "no_results", "clicked", "purchased", "revenue"] as const
const IS_SAME = "h.organization_id = g.o AND h.unit = g.unit AND h.day = g.day"
/**
 * Only a search creates a row: other facts about a missing day belong to a row that was dropped. A row whose searches
 * were all retracted is removed. If an organization has no room for all, the newest days are kept. $9: maximum rows
 * of an organization.
 */
const WRITE = `WITH given AS (
    SELECT * FROM unnest($1::text::text[], $2::text::int8[], $3::text::int8[], $4::text::int4[], $5::text::int4[], $6::text::int4[], $7::text::int4[], $8::text::int8[]) AS t (o, unit, day, ${FIGURES.join(", ")})
  ), known AS (
    SELECT g.*, h.searches + g.searches AS remaining FROM experiment_histories h JOIN given g ON ${IS_SAME}
  ), changed AS (
    UPDATE experiment_histories h SET ${FIGURES.map((name) => `${name} = h.${name} + g.${name}`).join(", ")} FROM known g WHERE ${IS_SAME} AND g.remaining > 0
  ), gone AS (
    DELETE FROM experiment_histories h USING known g WHERE ${IS_SAME} AND g.remaining <= 0
  ), fresh AS (
    SELECT g.*, row_number() OVER (PARTITION BY g.o ORDER BY g.day DESC, g.unit) <= $9::text::int8 - u.rows AS has_room
    FROM given g JOIN experiment_history_use u ON u.organization_id = g.o LEFT JOIN experiment_histories h ON ${IS_SAME} WHERE h.unit IS NULL AND g.searches > 0
  ), made AS (
    INSERT INTO experiment_histories (organization_id, unit, day, ${FIGURES.join(", ")}) SELECT o, unit, day, ${FIGURES.join(", ")} FROM fresh WHERE has_room
  )
  UPDATE experiment_history_use u SET rows = u.rows + c.rows, dropped = u.dropped + c.dropped
  FROM (SELECT o, sum(rows) AS rows, sum(dropped) AS dropped FROM (
      SELECT o, count(*) FILTER (WHERE has_room) AS rows, count(*) FILTER (WHERE NOT has_room) AS dropped FROM fresh GROUP BY o
      UNION ALL SELECT o, -count(*), 0 FROM known WHERE remaining <= 0 GROUP BY o) AS parts GROUP BY o) c
  WHERE u.organization_id = c.o`

/** One statement, plus one for each 10,000 days of users, however many organizations they belong to. */
export const writeHistories = (histories: Histories, rowsMax = HISTORY_ROWS_MAX): Sql<void> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const { organizations } = histories
    if (organizations.length === 0) return
    yield* sql.unsafe(LOCK, [textsLiteral(organizations)])
    const changes = organizations.flatMap((o) =>
      histories.changes(o).flatMap((change) => (isNothing(change) ? [] : [{ o, ...change }]))
    )
    for (let from = 0; from < changes.length; from += ROWS_PER_STATEMENT) {
      const part = changes.slice(from, from + ROWS_PER_STATEMENT)
      const numbers = (of: (change: HistoryChange) => number | string) => numbersLiteral(part.map(of))
      yield* sql.unsafe(WRITE, [
        textsLiteral(part.map(({ o }) => o)),
        numbers(({ unit }) => unit),
        numbers(({ day }) => day),
        numbers(({ searches }) => searches),
        numbers(({ noResults }) => noResults),
        numbers(({ clicked }) => clicked),
        numbers(({ purchased }) => purchased),
        numbers(({ micros, units }) => millionths(units, micros)),
        String(rowsMax)
      ])
    }
  })

/** A run, and a user counted in it whose earlier days changed in this flush. */
interface Touched {
  readonly organization_id: string
  readonly experiment_id: string
  readonly run: number
  readonly unit: number
}
const TOUCHED = `SELECT r.organization_id, r.experiment_id, r.run, u.unit::float8 AS unit
  FROM unnest($1::text::text[], $2::text::int8[], $3::text::int8[]) AS t (o, unit, day)
  JOIN experiment_runs r ON r.organization_id = t.o AND r.definition->>'unit' = 'user' AND r.started_at >= t.day + ${DAY_MS}
  JOIN experiment_units u ON u.organization_id = t.o AND u.experiment_id = r.experiment_id AND u.run = r.run AND u.unit = t.unit
  GROUP BY 1, 2, 3, 4`

/** Finds runs that began after the changed days, because of late events; mostly none. */
export const touchedRuns = (histories: Histories): Sql<ReadonlyArray<Touched>> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const first = yield* sql.unsafe<{ organization_id: string; last: number }>(
      "SELECT organization_id, max(started_at)::float8 AS last FROM experiment_runs WHERE organization_id = ANY($1::text::text[]) AND definition->>'unit' = 'user' GROUP BY 1",
      [textsLiteral(histories.organizations)]
    )
    const late = first.flatMap(({ last, organization_id }) =>
      histories
        .changes(organization_id)
        .filter((change) => change.day + DAY_MS <= last && !isNothing(change))
        .map(({ day, unit }) => ({ organization_id, unit, day }))
    )
    if (late.length === 0) return []
    return yield* sql.unsafe<Touched>(TOUCHED, [
      textsLiteral(late.map(({ organization_id }) => organization_id)),
      numbersLiteral(late.map(({ unit }) => unit)),
      numbersLiteral(late.map(({ day }) => day))
    ])
  })
