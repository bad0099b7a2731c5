/**
 * Adds device, country and surface to the figures of products; older figures have none. Adds a rollup of the filters
 * and facets that searches used; its measures are those of the query rollup for searches.
 *
 * And how much each query of a collection was used recently, and by whom, as far as needed to know that enough visitors
 * made it. `weight` and its siblings are forward-decayed sums (streams/figures/recency.ts). `is_known` stays true once
 * three visitors have made the query, so that the index also finds a query that has lost one. `changed` is the writer's
 * transaction: readers query what was written since the oldest transaction still open at their last read.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE TABLE query_popularity (
    organization_id text NOT NULL,
    collection text NOT NULL,
    q text NOT NULL,
    searches bigint NOT NULL,
    weight float8 NOT NULL,
    zero_weight float8 NOT NULL,
    click_weight float8 NOT NULL,
    makers int4 NOT NULL DEFAULT 0,
    visitors int4 NOT NULL DEFAULT 0,
    is_known boolean NOT NULL DEFAULT false,
    changed bigint NOT NULL,
    PRIMARY KEY (organization_id, collection, q)
  ) WITH (fillfactor = 80)`
  yield* sql`CREATE INDEX query_popularity_known ON query_popularity (organization_id, collection, changed) WHERE is_known`
  yield* sql`CREATE TABLE query_makers (
    organization_id text NOT NULL,
    collection text NOT NULL,
    q text NOT NULL,
    person bigint NOT NULL,
    session bigint NOT NULL,
    anonymous bigint NOT NULL,
    searches bigint NOT NULL,
    PRIMARY KEY (organization_id, collection, q, person)
  )`
  // Counts from before this table: their visitors are unknown, so a query is shown once three visitors make it again.
  yield* sql`INSERT INTO query_popularity (organization_id, collection, q, searches, weight, zero_weight, click_weight, changed)
    SELECT organization_id, collection, q, sum(searches), sum((searches - zero_results) * w), sum(zero_results * w), sum((searches_with_click + searches_with_purchase) * w), 0
    FROM (SELECT *, round(power(2::float8, (d - 7 * floor(d / 7)) / 7) * 1024) * power(2::float8, floor(d / 7)) AS w
      FROM (SELECT *, bucket_at / 86400000 - 20454::float8 AS d FROM analytics_query_rollup WHERE grain = 3) days) weighed
    WHERE q <> '' AND q <> '*' AND length(q) <= 100
    GROUP BY organization_id, collection, q HAVING sum(searches) > 0`
  yield* sql`ALTER TABLE analytics_product_rollup ADD COLUMN device text NOT NULL DEFAULT '', ADD COLUMN country text NOT NULL DEFAULT '', ADD COLUMN surface text NOT NULL DEFAULT '',
    DROP CONSTRAINT analytics_product_rollup_pkey, ADD PRIMARY KEY (organization_id, grain, bucket_at, collection, document_id, device, country, surface)`
  yield* sql`CREATE TABLE analytics_filter_rollup (
    organization_id text NOT NULL,
    grain int2 NOT NULL,
    bucket_at bigint NOT NULL,
    collection text NOT NULL,
    type text NOT NULL,
    field text NOT NULL,
    value text NOT NULL,
    device text NOT NULL,
    country text NOT NULL,
    surface text NOT NULL,
    searches bigint NOT NULL,
    zero_results bigint NOT NULL,
    searches_with_click bigint NOT NULL,
    searches_with_purchase bigint NOT NULL,
    PRIMARY KEY (organization_id, grain, bucket_at, collection, type, field, value, device, country, surface)
  )`
})
