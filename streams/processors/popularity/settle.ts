/** Updates popularity after figures have been rebuilt from the log, with or without erasing a person. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { makerOf } from "../../erasure/erasures.ts"
import { QUERY_CHARACTERS_MAX } from "../../figures/candidate-queries.ts"
import { GRAINS } from "../../figures/grain.ts"
import { weightOf } from "../../figures/recency.ts"
import { numbersLiteral } from "../literals.ts"
import { recountMakers } from "./write.ts"

/**
 * Recomputes the use of the organization's queries from the rows of rollups, which contain it exactly, because all
 * searches of a day weigh the same. Call with the partitions locked, once rollups have settled. A query without any use
 * left keeps an empty row, which makes suggestions drop it; the next sweep removes it. Returns the rows changed.
 */
export const settlePopularity = Effect.fnUntraced(function* (organizationId: string) {
  const sql = yield* SqlClient.SqlClient
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
  return { query_popularity: changed.length + unused.length }
})

/**
 * Removes an erased person from the visitors of queries, and queries that nobody else made. Call with the partitions
 * locked. Returns the rows removed.
 */
export const forgetMaker = Effect.fnUntraced(function* (organizationId: string, prints: ReadonlyArray<string>) {
  const sql = yield* SqlClient.SqlClient
  const made = yield* sql<{
    collection: string
    q: string
  }>`DELETE FROM query_makers WHERE organization_id = ${organizationId} AND person = ANY(${numbersLiteral(prints.map(makerOf))}::text::int8[]) RETURNING collection, q`
  if (made.length > 0) yield* recountMakers(made.map((row) => ({ ...row, organizationId })))
  const queries =
    yield* sql`DELETE FROM query_popularity WHERE organization_id = ${organizationId} AND searches <= 0 AND NOT is_known RETURNING q`
  yield* sql`DELETE FROM query_makers m WHERE organization_id = ${organizationId} AND NOT EXISTS (SELECT 1 FROM query_popularity p WHERE p.organization_id = m.organization_id AND p.collection = m.collection AND p.q = m.q)`
  return { query_makers: made.length, query_popularity: queries.length }
})
