/**
 * The audit log: one row per change, written in the change's transaction. `before` and `after` are `json`, which keeps
 * texts that `jsonb` refuses; secrets in them are masked. `is_settled` is false during a change that is not stored in
 * Postgres (a collection of the engine), and stays so if the program dies in between.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE TABLE audit_log (
    organization_id text NOT NULL,
    id text NOT NULL,
    at bigint NOT NULL,
    actor_type text NOT NULL CHECK (actor_type IN ('key', 'member', 'operator', 'system')),
    actor_id text,
    operation text,
    request_id text,
    subject_kind text NOT NULL,
    subject_id text NOT NULL,
    action text NOT NULL,
    changed text[] NOT NULL,
    before json,
    after json,
    is_settled boolean NOT NULL DEFAULT true,
    PRIMARY KEY (organization_id, id)
  )`
  yield* sql`CREATE INDEX audit_log_at ON audit_log (at)`
})
