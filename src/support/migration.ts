/** Threads and messages. `last_seq` counts the messages; a side's read position is the last number it saw. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export const supportTables = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE TABLE support_threads (
    organization_id text NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    id text NOT NULL,
    session_id text NOT NULL,
    subject text NOT NULL,
    status text NOT NULL CHECK (status IN ('open', 'pending', 'closed')),
    visitor_name text,
    visitor_email text,
    user_id text,
    assignee_id text,
    last_text text NOT NULL DEFAULT '',
    last_seq int4 NOT NULL DEFAULT 0,
    read_by_visitor int4 NOT NULL DEFAULT 0,
    read_by_agent int4 NOT NULL DEFAULT 0,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    last_message_at bigint NOT NULL,
    PRIMARY KEY (organization_id, id)
  )`
  yield* sql`CREATE INDEX support_threads_newest ON support_threads (organization_id, last_message_at DESC, id DESC)`
  yield* sql`CREATE INDEX support_threads_of_session ON support_threads (organization_id, session_id, last_message_at DESC, id DESC)`
  yield* sql`CREATE INDEX support_threads_of_user ON support_threads (organization_id, user_id) WHERE user_id IS NOT NULL`
  yield* sql`CREATE INDEX support_threads_ending ON support_threads (last_message_at)`
  yield* sql`CREATE TABLE support_messages (
    organization_id text NOT NULL,
    thread_id text NOT NULL,
    seq int4 NOT NULL,
    id text NOT NULL,
    author text NOT NULL CHECK (author IN ('visitor', 'agent')),
    text text NOT NULL,
    media_ids text[] NOT NULL DEFAULT '{}',
    created_at bigint NOT NULL,
    PRIMARY KEY (organization_id, thread_id, seq),
    FOREIGN KEY (organization_id, thread_id) REFERENCES support_threads (organization_id, id) ON DELETE CASCADE
  )`
})
