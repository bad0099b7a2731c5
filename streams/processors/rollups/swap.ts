/**
 * Exchanges an organization's rows for those of its shadows, one day (UTC) at a time: one transaction per day, during
 * which nobody else counts. Rows of a day belong to that day at every grain, so no row is split.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { DAY_MS, GRAINS } from "../../figures/grain.ts"
import { textsLiteral } from "../literals.ts"
import { foldOrganization } from "./fold.ts"
import { INSTANTS_TABLE, ROLLUP_TABLES, UNFOLDED_TABLE } from "./tables.ts"

const GRAIN_LIST = `(${GRAINS.minute}, ${GRAINS.hour}, ${GRAINS.day})`

export const emptyShadows = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql.unsafe(`TRUNCATE shadow_${INSTANTS_TABLE}`)
})

/**
 * The first day from `from` on, before `before`, with a row of the organization or of its shadows; undefined if there
 * is none. New counts are written to both, so an empty day needs no exchange later. A few index probes per shadow.
 */
export const firstDay = Effect.fnUntraced(function* (
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
  return row === undefined || row.at === null ? undefined : Math.floor(row.at / DAY_MS) * DAY_MS
})

/**
 * Call with the partitions locked. Returns the rows removed, by table. The new rows are built from the shadows'
 * instants, like any others.
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
  // Nothing remains unfolded, so the numbers of removed rows are complete.
  yield* foldOrganization(organizationId)
  const rows: Record<string, number> = {}
  for (const { table } of ROLLUP_TABLES) rows[table] = yield* take(table, "bucket_at", `grain IN ${GRAIN_LIST}`)
  rows[INSTANTS_TABLE] = yield* take(INSTANTS_TABLE, "minute_at", "true")
  // Also removes instants that no fold could turn into rows.
  yield* take(UNFOLDED_TABLE, "minute_at", "true")
  yield* sql.unsafe(
    `WITH written AS (INSERT INTO ${INSTANTS_TABLE} (organization_id, minute_at, packed) SELECT $1, minute_at, packed FROM shadow_${INSTANTS_TABLE}
        WHERE organization_id = ANY($4::text::text[]) AND minute_at >= $2::text::int8 AND minute_at < $3::text::int8 ORDER BY minute_at, flush RETURNING organization_id, minute_at, flush)
      INSERT INTO ${UNFOLDED_TABLE} (organization_id, minute_at, flush) SELECT * FROM written`,
    [organizationId, ...range, textsLiteral(shadows)]
  )
  yield* foldOrganization(organizationId)
  // Makes processes that cache sums in memory reload them.
  yield* sql`INSERT INTO analytics_rewrites (organization_id, rewrites) VALUES (${organizationId}, 1) ON CONFLICT (organization_id) DO UPDATE SET rewrites = analytics_rewrites.rewrites + 1`
  return rows
})
