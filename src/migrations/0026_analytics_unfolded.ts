/**
 * Which packed instants are not in the rows of the rollups yet. A flush writes instants and lists them here; seconds
 * later they are folded into rows (streams/processors/rollups/fold.ts), each row once for many events, and removed from
 * this list. Readers add what is listed here to the rows. Existing data was written with its rows.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  // `is_refused`: Postgres does not accept its rows, so it stays here for readers and is not retried.
  yield* sql`CREATE TABLE analytics_unfolded (
    organization_id text NOT NULL,
    minute_at bigint NOT NULL,
    flush bigint NOT NULL,
    is_refused boolean NOT NULL DEFAULT false,
    PRIMARY KEY (organization_id, minute_at, flush)
  )`
  // Rows of a replay are folded from its instants when they are exchanged.
  yield* sql`DROP TABLE shadow_analytics_query_rollup, shadow_analytics_product_rollup, shadow_analytics_event_rollup, shadow_analytics_filter_rollup`
})
