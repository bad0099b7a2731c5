/**
 * What changed in an organization's figures since an earlier look: instants are only ever added, so the transaction
 * that wrote them says which are new to whom. What does change rows that were there (a replay, an erasure) counts one
 * up in `analytics_rewrites`, in its own transaction: whoever keeps sums in memory then reads them anew.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  // Rows that are there already need no transaction: everybody sees them.
  yield* sql`ALTER TABLE analytics_instants ADD COLUMN written_by xid8 NOT NULL DEFAULT '0'::xid8`
  yield* sql`ALTER TABLE analytics_instants ALTER COLUMN written_by SET DEFAULT pg_current_xact_id()`
  yield* sql`CREATE INDEX analytics_instants_written ON analytics_instants (organization_id, written_by)`
  yield* sql`CREATE TABLE analytics_rewrites (organization_id text PRIMARY KEY, rewrites bigint NOT NULL)`
})
