/**
 * The network that a query's visitor asked from, as a keyed fingerprint: visitors of one network count as one. Of those
 * that are known already it is not known, so each stands for himself.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`ALTER TABLE query_makers ADD COLUMN network bigint NOT NULL DEFAULT 0`
})
