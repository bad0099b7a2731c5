/** Organizations, keys, settings and the outbox: the tables that all others depend on. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE TABLE organizations (
    id text PRIMARY KEY,
    name text NOT NULL,
    status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'paused')),
    paused_reason text CHECK (paused_reason IN ('payment', 'manual')),
    plan text NOT NULL,
    created_at bigint NOT NULL
  )`
  yield* sql`CREATE TABLE api_keys (
    id text PRIMARY KEY,
    organization_id text NOT NULL REFERENCES organizations (id),
    scope text NOT NULL CHECK (scope IN ('full', 'search', 'connector_write')),
    description text NOT NULL,
    actions jsonb NOT NULL,
    collections jsonb NOT NULL,
    value_prefix text NOT NULL,
    lookup_hash text NOT NULL UNIQUE,
    sealed_digest text,
    restrictions jsonb NOT NULL,
    rate_limit_per_minute int4 NOT NULL,
    expires_at bigint NOT NULL,
    created_at bigint NOT NULL,
    revoked_at bigint
  )`
  yield* sql`CREATE INDEX api_keys_organization ON api_keys (organization_id)`
  yield* sql`CREATE TABLE outbox (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    organization_id text NOT NULL REFERENCES organizations (id),
    delivery_id text NOT NULL UNIQUE,
    event text NOT NULL,
    data jsonb NOT NULL,
    created_at bigint NOT NULL
  )`
})
