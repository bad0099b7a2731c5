/**
 * Refused entries of `POST /events`, kept for seven days. `id` begins with the time, so that the newest are the last of
 * their organization's keys. `organization_id` has no foreign key: rows outlive an organization by a week at most.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE TABLE event_rejections (
    organization_id text NOT NULL,
    id text NOT NULL,
    collection text,
    received_at bigint NOT NULL,
    reason text NOT NULL,
    entry text NOT NULL,
    is_unreadable bool NOT NULL,
    attempts int4 NOT NULL DEFAULT 0,
    last_retried_at bigint,
    PRIMARY KEY (organization_id, id)
  )`
  yield* sql`CREATE INDEX event_rejections_received_at ON event_rejections (received_at)`
})
