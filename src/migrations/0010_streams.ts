/** The offsets of the event log's consumers, and the secret with which event ids are fingerprinted. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE TABLE stream_offsets (
    consumer_group text NOT NULL,
    topic text NOT NULL,
    partition int4 NOT NULL,
    next_offset bigint NOT NULL,
    PRIMARY KEY (consumer_group, topic, partition)
  )`
  yield* sql`CREATE TABLE stream_settings (name text PRIMARY KEY, value bytea NOT NULL)`
  // Random and generated here, so that every process of an installation computes the same fingerprints.
  yield* sql`INSERT INTO stream_settings (name, value) VALUES ('fingerprint_key', decode(replace(gen_random_uuid()::text, '-', ''), 'hex'))`
})
