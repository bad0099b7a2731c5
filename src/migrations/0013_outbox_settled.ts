/**
 * When an outbound event was delivered, or given up: settled rows are removed after a while
 * (src/outbox/outbox-retention.ts).
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`ALTER TABLE outbox ADD COLUMN settled_at bigint`
  yield* sql`CREATE INDEX outbox_settled ON outbox (settled_at) WHERE settled_at IS NOT NULL`
})
