/**
 * The versions of the configuration, for installations of several processes. One counter for all organizations, whose
 * row each write locks until it commits: versions have no gaps and become visible in order. Changes name the rows of
 * the newest versions; leases are the processes that a write waits for.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE TABLE configuration_version (id int4 PRIMARY KEY CHECK (id = 1), version bigint NOT NULL)`
  yield* sql`INSERT INTO configuration_version VALUES (1, 0)`
  yield* sql`CREATE TABLE configuration_changes (version bigint PRIMARY KEY, kind text NOT NULL, organization_id text NOT NULL, subject text NOT NULL)`
  yield* sql`CREATE TABLE configuration_leases (process text PRIMARY KEY, confirmed bigint NOT NULL, renewals bigint NOT NULL) WITH (fillfactor = 50)`
})
