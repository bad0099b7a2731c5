/**
 * Entries of the log that a consumer group has not counted and never will, because they could not be read or their
 * figures were refused. A replay of the state must skip exactly these, or it would remember what was never written.
 * `entry_index` is -1 for an entire record.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE TABLE stream_skipped (
    consumer_group text NOT NULL,
    topic text NOT NULL,
    partition int4 NOT NULL,
    record_offset bigint NOT NULL,
    entry_index int4 NOT NULL,
    reason text NOT NULL,
    PRIMARY KEY (consumer_group, partition, topic, record_offset, entry_index)
  )`
})
