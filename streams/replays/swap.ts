/**
 * The exchange of an organization's rows for those of its shadows, a day (UTC) at a time: one transaction of a day's
 * rows, in which nobody else counts. Rows of a day are of that day at every grain, so nothing is cut.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { DAY_MS, GRAINS } from "../figures/grain.ts"
import { QUERY_CHARACTERS_MAX } from "../figures/candidate-queries.ts"
import { weightOf } from "../figures/recency.ts"
import { numbersLiteral, textsLiteral } from "../processors/literals.ts"
import { recountMakers } from "../processors/popularity/popularity.ts"
import { foldOrganization, holdFolds } from "../processors/rollups/fold.ts"
import { INSTANTS_TABLE, ROLLUP_TABLES, UNFOLDED_TABLE } from "../processors/rollups/rollups.ts"

const GRAIN_LIST = `(${GRAINS.minute}, ${GRAINS.hour}, ${GRAINS.day})`

/** Holds up every flush and fold of the group until the transaction ends, and waits for those under way. */
export const lockPartitions = Effect.fnUntraced(function* (group: string, partitions: number) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`SELECT pg_advisory_xact_lock(hashtext(${group}), p) FROM generate_series(0, ${partitions - 1}::int4) AS p`
  yield* holdFolds
})

export const emptyShadows = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql.unsafe(`TRUNCATE shadow_${INSTANTS_TABLE}`)
})

/**
 * The first day from `from` on, before `before`, that has a row of the organization or of its shadows; `before` when
 * none has. What is counted meanwhile goes to both, so an empty day stays exchanged. Some index probes a shadow.
 */
export const nextDay = Effect.fnUntraced(function* (
  organizationId: string,
  shadows: ReadonlyArray<string>,
  from: number,
  before: number
) {
  const sql = yield* SqlClient.SqlClient
  const within = (column: string) => `${column} >= $3::text::int8 AND ${column} < $4::text::int8`
  const firstRow = ROLLUP_TABLES.flatMap(({ table }) =>
    [GRAINS.minute, GRAINS.hour, GRAINS.day].map(
      (grain) =>
        `(SELECT bucket_at AS at FROM ${table} WHERE organization_id = $1 AND grain = ${grain} AND ${within("bucket_at")} ORDER BY bucket_at LIMIT 1)`
    )
  )
  const firstInstant = (prefix: string, name: string) =>
    `(SELECT minute_at AS at FROM ${prefix}${INSTANTS_TABLE} WHERE organization_id = ${name} AND ${within("minute_at")} ORDER BY minute_at LIMIT 1)`
  const [row] = yield* sql.unsafe<{ at: number | null }>(
    `SELECT min(at)::float8 AS at FROM (${[...firstRow, firstInstant("", "$1")].join(" UNION ALL ")} UNION ALL SELECT s.at FROM unnest($2::text::text[]) AS n (name) CROSS JOIN LATERAL ${firstInstant("shadow_", "n.name")} s) firsts`,
    [organizationId, textsLiteral(shadows), String(from), String(before)]
  )
  return row?.at === null || row === undefined ? before : Math.floor(row.at / DAY_MS) * DAY_MS
})

/**
 * Call with the partitions locked. Rows that were taken out, by table. Rows are made of the shadows' instants, as they
 * always are.
 */
export const swapDay = Effect.fnUntraced(function* (
  organizationId: string,
  shadows: ReadonlyArray<string>,
  day: number
) {
  const sql = yield* SqlClient.SqlClient
  const range = [String(day), String(day + DAY_MS)]
  const take = (table: string, column: string, condition: string) =>
    Effect.map(
      sql.unsafe<{ n: number }>(
        `WITH gone AS (DELETE FROM ${table} WHERE organization_id = $1 AND ${condition} AND ${column} >= $2::text::int8 AND ${column} < $3::text::int8 RETURNING 1) SELECT count(*)::int4 AS n FROM gone`,
        [organizationId, ...range]
      ),
      ([gone]) => gone!.n
    )
  // Nothing is left beside the rows, so that what goes is told whole.
  yield* foldOrganization(organizationId)
  const rows: Record<string, number> = {}
  for (const { table } of ROLLUP_TABLES) rows[table] = yield* take(table, "bucket_at", `grain IN ${GRAIN_LIST}`)
  rows[INSTANTS_TABLE] = yield* take(INSTANTS_TABLE, "minute_at", "true")
  // What no fold could make rows of.
  yield* take(UNFOLDED_TABLE, "minute_at", "true")
  yield* sql.unsafe(
    `WITH written AS (INSERT INTO ${INSTANTS_TABLE} (organization_id, minute_at, packed) SELECT $1, minute_at, packed FROM shadow_${INSTANTS_TABLE}
        WHERE organization_id = ANY($4::text::text[]) AND minute_at >= $2::text::int8 AND minute_at < $3::text::int8 ORDER BY minute_at, flush RETURNING organization_id, minute_at, flush)
      INSERT INTO ${UNFOLDED_TABLE} (organization_id, minute_at, flush) SELECT * FROM written`,
    [organizationId, ...range, textsLiteral(shadows)]
  )
  yield* foldOrganization(organizationId)
  // Whoever keeps sums in memory reads them anew.
  yield* sql`INSERT INTO analytics_rewrites (organization_id, rewrites) VALUES (${organizationId}, 1) ON CONFLICT (organization_id) DO UPDATE SET rewrites = analytics_rewrites.rewrites + 1`
  return rows
})

/**
 * Use of the organization's queries again from its rows, which say it exactly: a day's searches weigh the same. Call
 * with the partitions locked. What nobody used any more stays with nothing, which tells suggestions to drop it; the
 * next sweep removes it.
 */
export const settlePopularity = Effect.fnUntraced(function* (organizationId: string) {
  const sql = yield* SqlClient.SqlClient
  yield* foldOrganization(organizationId)
  const days = yield* sql<{
    day: number
  }>`SELECT DISTINCT bucket_at::float8 AS day FROM analytics_query_rollup WHERE organization_id = ${organizationId} AND grain = ${GRAINS.day}::int2`
  const changed = yield* sql.unsafe<{ q: string }>(
    `INSERT INTO query_popularity (organization_id, collection, q, searches, weight, zero_weight, click_weight, changed)
      SELECT $1, collection, q, sum(searches), sum((searches - zero_results) * w), sum(zero_results * w), sum((searches_with_click + searches_with_purchase) * w), pg_current_xact_id()::text::int8
      FROM analytics_query_rollup JOIN unnest($2::text::int8[], $3::text::float8[]) AS d (day, w) ON bucket_at = day
      WHERE organization_id = $1 AND grain = ${GRAINS.day} AND q <> '' AND q <> '*' AND length(q) <= ${QUERY_CHARACTERS_MAX}
      GROUP BY collection, q HAVING sum(searches) <> 0
      ON CONFLICT (organization_id, collection, q) DO UPDATE SET searches = EXCLUDED.searches, weight = EXCLUDED.weight, zero_weight = EXCLUDED.zero_weight, click_weight = EXCLUDED.click_weight, changed = EXCLUDED.changed
      WHERE (query_popularity.searches, query_popularity.weight, query_popularity.zero_weight, query_popularity.click_weight) IS DISTINCT FROM (EXCLUDED.searches, EXCLUDED.weight, EXCLUDED.zero_weight, EXCLUDED.click_weight)
      RETURNING q`,
    [organizationId, numbersLiteral(days.map(({ day }) => day)), numbersLiteral(days.map(({ day }) => weightOf(day)))]
  )
  const unused = yield* sql<{
    q: string
  }>`UPDATE query_popularity p SET searches = 0, weight = 0, zero_weight = 0, click_weight = 0, changed = pg_current_xact_id()::text::int8
    WHERE p.organization_id = ${organizationId} AND (p.searches, p.weight, p.zero_weight, p.click_weight) IS DISTINCT FROM (0::int8, 0::float8, 0::float8, 0::float8)
      AND (p.collection, p.q) NOT IN (SELECT collection, q FROM analytics_query_rollup WHERE organization_id = ${organizationId} AND grain = ${GRAINS.day}::int2 GROUP BY collection, q HAVING sum(searches) <> 0) RETURNING q`
  return changed.length + unused.length
})

/**
 * Takes an erased person out of what is known of who made a query, and texts out that nobody else made: of the queries
 * at once, of rules when they are published no more. `makers` are the numbers of his fingerprints. Call with the
 * partitions locked.
 */
export const forgetMaker = Effect.fnUntraced(function* (organizationId: string, makers: ReadonlyArray<number>) {
  const sql = yield* SqlClient.SqlClient
  const made = yield* sql<{
    collection: string
    q: string
  }>`DELETE FROM query_makers WHERE organization_id = ${organizationId} AND person = ANY(${numbersLiteral(makers)}::text::int8[]) RETURNING collection, q`
  if (made.length > 0) yield* recountMakers(made.map((row) => ({ ...row, organizationId })))
  const queries =
    yield* sql`DELETE FROM query_popularity WHERE organization_id = ${organizationId} AND searches <= 0 AND NOT is_known RETURNING q`
  yield* sql`DELETE FROM query_makers m WHERE organization_id = ${organizationId} AND NOT EXISTS (SELECT 1 FROM query_popularity p WHERE p.organization_id = m.organization_id AND p.collection = m.collection AND p.q = m.q)`
  const asked = sql`(SELECT q FROM analytics_query_rollup WHERE organization_id = ${organizationId} AND grain = ${GRAINS.day}::int2 GROUP BY q HAVING sum(searches) <> 0)`
  // The publisher takes the document of a query without a count away, and then forgets the query.
  const published =
    yield* sql`UPDATE analytics_rule_queries SET count = 0 WHERE organization_id = ${organizationId} AND published_as IS NOT NULL AND count <> 0 AND q NOT IN ${asked} RETURNING q`
  const unpublished =
    yield* sql`DELETE FROM analytics_rule_queries WHERE organization_id = ${organizationId} AND published_as IS NULL AND q NOT IN ${asked} RETURNING q`
  return {
    query_makers: made.length,
    query_popularity: queries.length,
    analytics_rule_queries: published.length + unpublished.length
  }
})
