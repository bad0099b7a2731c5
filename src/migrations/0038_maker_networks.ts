/**
 * The network that a query's visitor came from, as a keyed fingerprint: visitors of one network count as one. For
 * existing visitors it is unknown, so each of those counts.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`ALTER TABLE query_makers ADD COLUMN network bigint NOT NULL DEFAULT 0`
})
