/**
 * Endpoints of outbound webhooks, and their deliveries, which are also the queue by due time: a pending row is due at
 * `due_at`; claiming it moves that to the end of the claim, so a claim whose holder died simply becomes due again.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE TABLE webhook_endpoints (
    id text PRIMARY KEY,
    organization_id text NOT NULL REFERENCES organizations (id),
    name text NOT NULL,
    url text NOT NULL,
    events jsonb NOT NULL,
    enabled boolean NOT NULL,
    secrets jsonb NOT NULL,
    failing_since bigint,
    disabled_at bigint,
    disabled_reason text,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL
  )`
  yield* sql`CREATE INDEX webhook_endpoints_organization ON webhook_endpoints (organization_id, id)`
  yield* sql`CREATE TABLE webhook_deliveries (
    endpoint_id text NOT NULL REFERENCES webhook_endpoints (id) ON DELETE CASCADE,
    id text NOT NULL,
    organization_id text NOT NULL,
    outbox_id bigint,
    event text NOT NULL,
    body text NOT NULL,
    status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'success', 'failed')),
    attempts int4 NOT NULL DEFAULT 0,
    round_attempts int4 NOT NULL DEFAULT 0,
    claim int4 NOT NULL DEFAULT 0,
    is_claimed boolean NOT NULL DEFAULT false,
    due_at bigint,
    http_code int4,
    error text,
    created_at bigint NOT NULL,
    last_attempt_at bigint,
    finished_at bigint,
    PRIMARY KEY (endpoint_id, id)
  )`
  yield* sql`CREATE INDEX webhook_deliveries_due ON webhook_deliveries (endpoint_id, due_at, id) WHERE status = 'pending'`
  yield* sql`CREATE INDEX webhook_deliveries_failed ON webhook_deliveries (endpoint_id, finished_at) WHERE status = 'failed'`
  yield* sql`CREATE INDEX webhook_deliveries_outbox ON webhook_deliveries (outbox_id) WHERE status = 'pending'`
  // When an event was turned into deliveries, which happens once; waiters are notified when the cause commits.
  yield* sql`ALTER TABLE outbox ADD COLUMN fanned_out_at bigint`
  yield* sql`CREATE INDEX outbox_waiting ON outbox (id) WHERE fanned_out_at IS NULL`
  yield* sql`CREATE FUNCTION notify_webhooks() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_notify('dowser_webhooks', ''); RETURN NULL; END $$`
  yield* sql`CREATE TRIGGER outbox_notify AFTER INSERT ON outbox FOR EACH STATEMENT EXECUTE FUNCTION notify_webhooks()`
})
