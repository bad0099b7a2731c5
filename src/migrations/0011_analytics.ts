/**
 * Rollups of behaviour, each row at three grains (1 minute, 2 hour, 3 day; see streams/figures/grain.ts), and the
 * single instants packed by minute. Every column is a sum that is only changed by additions. Amounts are integer
 * millionths so that sums are exact, and numeric because one shop's absurd prices must not overflow a flush that all
 * shops share.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE TABLE analytics_query_rollup (
    organization_id text NOT NULL,
    grain int2 NOT NULL,
    bucket_at bigint NOT NULL,
    collection text NOT NULL,
    q text NOT NULL,
    device text NOT NULL,
    country text NOT NULL,
    surface text NOT NULL,
    searches bigint NOT NULL,
    zero_results bigint NOT NULL,
    searches_with_click bigint NOT NULL,
    searches_with_purchase bigint NOT NULL,
    clicks bigint NOT NULL,
    add_to_carts bigint NOT NULL,
    purchases bigint NOT NULL,
    cart_value_micros numeric NOT NULL,
    revenue_micros numeric NOT NULL,
    PRIMARY KEY (organization_id, grain, bucket_at, collection, q, device, country, surface)
  )`
  yield* sql`CREATE TABLE analytics_product_rollup (
    organization_id text NOT NULL,
    grain int2 NOT NULL,
    bucket_at bigint NOT NULL,
    collection text NOT NULL,
    document_id text NOT NULL,
    views bigint NOT NULL,
    clicks bigint NOT NULL,
    add_to_carts bigint NOT NULL,
    purchases bigint NOT NULL,
    quantity_micros numeric NOT NULL,
    cart_value_micros numeric NOT NULL,
    revenue_micros numeric NOT NULL,
    PRIMARY KEY (organization_id, grain, bucket_at, collection, document_id)
  )`
  yield* sql`CREATE TABLE analytics_event_rollup (
    organization_id text NOT NULL,
    grain int2 NOT NULL,
    bucket_at bigint NOT NULL,
    collection text NOT NULL,
    type text NOT NULL,
    events bigint NOT NULL,
    PRIMARY KEY (organization_id, grain, bucket_at, collection, type)
  )`
  yield* sql`CREATE TABLE analytics_instants (
    organization_id text NOT NULL,
    minute_at bigint NOT NULL,
    flush bigint GENERATED ALWAYS AS IDENTITY,
    packed bytea NOT NULL,
    PRIMARY KEY (organization_id, minute_at, flush)
  )`
})
