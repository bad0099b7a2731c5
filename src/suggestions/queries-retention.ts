/**
 * Removes queries that are no longer used, and a collection's least used ones beyond its limit, with their visitors.
 * Rows locked by a flush are left for the next sweep, so the two never wait for each other.
 */
import { Clock, Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { QUERIES_PER_COLLECTION_MAX } from "@dowser/streams/figures/candidate-queries"
import { weightOf } from "@dowser/streams/figures/recency"

/** Eight half-lives: one search is forgotten after eight weeks, a hundred after fifteen. */
const FADED = 1 / 256

const remove = (
  condition: string,
  order: string,
  parameters: ReadonlyArray<unknown>,
  rowsMax: number
): Effect.Effect<number, SqlError.SqlError, SqlClient.SqlClient> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const [row] = yield* sql.unsafe<{ n: number }>(
      `WITH picked AS MATERIALIZED (
          SELECT ctid AS place FROM query_popularity WHERE ${condition} ${order} LIMIT ${rowsMax} FOR UPDATE SKIP LOCKED
        ), gone AS (
          DELETE FROM query_popularity WHERE ctid IN (SELECT place FROM picked) RETURNING organization_id, collection, q
        ), makers AS (DELETE FROM query_makers m USING gone g WHERE m.organization_id = g.organization_id AND m.collection = g.collection AND m.q = g.q)
        SELECT count(*)::int4 AS n FROM gone`,
      parameters
    )
    return row!.n
  })

/** Removes at most `rowsMax` queries of a kind; returns how many. O(stored queries). */
export const expireQueries = Effect.fnUntraced(function* (rowsMax: number, queriesMax = QUERIES_PER_COLLECTION_MAX) {
  const sql = yield* SqlClient.SqlClient
  const faded = FADED * weightOf(yield* Clock.currentTimeMillis)
  let removed = yield* remove("searches <= 0 OR weight + zero_weight < $1::text::float8", "", [String(faded)], rowsMax)
  const full = yield* sql.unsafe<{ organization_id: string; collection: string; surplus: number }>(
    `SELECT organization_id, collection, (count(*) - ${queriesMax})::int4 AS surplus FROM query_popularity GROUP BY 1, 2 HAVING count(*) > ${queriesMax}`
  )
  for (const { collection, organization_id, surplus } of full) {
    removed += yield* remove(
      "organization_id = $1 AND collection = $2",
      "ORDER BY weight + click_weight",
      [organization_id, collection],
      Math.min(rowsMax, surplus)
    )
  }
  return removed
})
