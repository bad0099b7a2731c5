/**
 * What changed in an organization's figures since an earlier read: instants are only ever added, so the transaction
 * that wrote them shows which are new. Changes of existing rows (a replay, an erasure) increment `analytics_rewrites`
 * in their own transaction; processes that keep sums in memory then reload them.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  // Existing rows need no transaction id, because everybody sees them.
  yield* sql`ALTER TABLE analytics_instants ADD COLUMN written_by xid8 NOT NULL DEFAULT '0'::xid8`
  yield* sql`ALTER TABLE analytics_instants ALTER COLUMN written_by SET DEFAULT pg_current_xact_id()`
  yield* sql`CREATE INDEX analytics_instants_written ON analytics_instants (organization_id, written_by)`
  yield* sql`CREATE TABLE analytics_rewrites (organization_id text PRIMARY KEY, rewrites bigint NOT NULL)`
})
