/**
 * Which process runs which partition of which processor. `fence` increases with every change of owner: a transaction
 * with an older one is refused. Members are the participating processes.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE TABLE stream_members (member text PRIMARY KEY, processors text[] NOT NULL, expires_at timestamptz NOT NULL)`
  yield* sql`CREATE TABLE stream_leases (
    consumer_group text NOT NULL,
    partition int4 NOT NULL,
    owner text NOT NULL,
    fence bigint NOT NULL,
    expires_at timestamptz NOT NULL,
    progress jsonb,
    PRIMARY KEY (consumer_group, partition)
  )`
})
