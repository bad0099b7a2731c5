/** Assistants, and their conversations. `turns_made` counts all turns; the newest fifty are kept. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export const assistantTables = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE TABLE assistants (
    organization_id text NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    id text NOT NULL,
    value json NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    PRIMARY KEY (organization_id, id)
  )`
  yield* sql`CREATE TABLE conversations (
    organization_id text NOT NULL,
    assistant_id text NOT NULL,
    id text NOT NULL,
    session_id text NOT NULL,
    user_id text,
    title text NOT NULL,
    turns_made int4 NOT NULL DEFAULT 0,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    PRIMARY KEY (organization_id, id),
    FOREIGN KEY (organization_id, assistant_id) REFERENCES assistants (organization_id, id) ON DELETE CASCADE
  )`
  yield* sql`CREATE INDEX conversations_newest ON conversations (organization_id, assistant_id, updated_at DESC, id DESC)`
  yield* sql`CREATE INDEX conversations_of_session ON conversations (organization_id, assistant_id, session_id, updated_at DESC, id DESC)`
  yield* sql`CREATE INDEX conversations_of_user ON conversations (organization_id, user_id) WHERE user_id IS NOT NULL`
  yield* sql`CREATE INDEX conversations_oldest ON conversations (organization_id, updated_at)`
  yield* sql`CREATE INDEX conversations_ending ON conversations (expires_at)`
  yield* sql`CREATE TABLE conversation_turns (
    organization_id text NOT NULL,
    conversation_id text NOT NULL,
    seq int4 NOT NULL,
    message_id text NOT NULL,
    question text NOT NULL,
    answer text NOT NULL,
    cited_title text,
    refused boolean NOT NULL,
    aborted boolean NOT NULL,
    created_at bigint NOT NULL,
    PRIMARY KEY (organization_id, conversation_id, seq),
    FOREIGN KEY (organization_id, conversation_id) REFERENCES conversations (organization_id, id) ON DELETE CASCADE
  )`
})
