/**
 * People who work for an organization, and their console sessions. Only hashes of passwords and tokens are stored.
 * Sessions from `sessions_after` (Unix milliseconds) or earlier are invalid: a new password ends all of them.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE TABLE members (
    id text PRIMARY KEY,
    organization_id text NOT NULL REFERENCES organizations (id),
    email text NOT NULL,
    name text NOT NULL,
    role text NOT NULL CHECK (role IN ('owner', 'admin', 'member')),
    password_hash text NOT NULL,
    sessions_after bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    UNIQUE (organization_id, email)
  )`
  yield* sql`CREATE TABLE console_sessions (
    id text PRIMARY KEY,
    organization_id text NOT NULL,
    member_id text NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    token_hash text NOT NULL UNIQUE,
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL
  )`
  yield* sql`CREATE INDEX console_sessions_member ON console_sessions (member_id, created_at)`
  yield* sql`CREATE INDEX console_sessions_expires_at ON console_sessions (expires_at)`
})
