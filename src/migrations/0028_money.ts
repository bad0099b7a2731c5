/**
 * What an organization may use beyond its plan, and its wallet: one balance, its reserved part, and an entry for every
 * movement. Credits are integer millionths, so that sums are exact. No statement can make the balance negative or
 * reserve more than there is: the constraints hold whatever a program does.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`ALTER TABLE organizations ADD COLUMN quota_units bigint CHECK (quota_units >= 0), ADD COLUMN has_overage boolean NOT NULL DEFAULT false`
  yield* sql`CREATE TABLE wallets (
    organization_id text PRIMARY KEY REFERENCES organizations (id),
    balance bigint NOT NULL CHECK (balance >= 0),
    reserved bigint NOT NULL CHECK (reserved >= 0 AND reserved <= balance)
  ) WITH (fillfactor = 50)`
  yield* sql`CREATE TABLE wallet_reservations (
    id text PRIMARY KEY,
    organization_id text NOT NULL REFERENCES wallets (organization_id),
    amount bigint NOT NULL CHECK (amount > 0),
    reference text NOT NULL,
    status text NOT NULL CHECK (status IN ('open', 'settled', 'released', 'expired')),
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    closed_at bigint
  )`
  yield* sql`CREATE INDEX wallet_reservations_open ON wallet_reservations (expires_at) WHERE status = 'open'`
  yield* sql`CREATE INDEX wallet_reservations_closed ON wallet_reservations (closed_at) WHERE closed_at IS NOT NULL`
  // 'amount' is what the movement added to the balance; 'reserve' and 'release' move only the reserved part.
  yield* sql`CREATE TABLE wallet_ledger (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    organization_id text NOT NULL REFERENCES wallets (organization_id),
    kind text NOT NULL CHECK (kind IN ('top_up', 'reserve', 'settle', 'release', 'expire')),
    amount bigint NOT NULL,
    reserved bigint NOT NULL,
    balance_after bigint NOT NULL,
    reserved_after bigint NOT NULL,
    reference text NOT NULL,
    reservation_id text,
    created_at bigint NOT NULL
  )`
  yield* sql`CREATE INDEX wallet_ledger_organization ON wallet_ledger (organization_id, id DESC)`
  // A top-up that is sent again with the same reference is booked only once.
  yield* sql`CREATE UNIQUE INDEX wallet_ledger_top_up ON wallet_ledger (organization_id, reference) WHERE kind = 'top_up' AND reference <> ''`
  // For paging through all keys.
  yield* sql`CREATE INDEX api_keys_pages ON api_keys (id COLLATE "C")`
  // Sent once per organization and period, by whichever process notices.
  yield* sql`CREATE TABLE quota_notices (
    organization_id text NOT NULL REFERENCES organizations (id),
    period_at bigint NOT NULL,
    event text NOT NULL,
    PRIMARY KEY (organization_id, period_at, event)
  )`
})
