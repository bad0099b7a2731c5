/**
 * Figures of products by device, country and surface as well, which were not kept apart before: older ones have none. And
 * a rollup of the filters and facets that searches used; its measures are those of the query rollup that searches have.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
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
