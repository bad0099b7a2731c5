/** The key with which an organization signs scoped tokens and browser keys, sealed with the operator's key. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE TABLE organization_signing_keys (
    organization_id text PRIMARY KEY REFERENCES organizations (id),
    sealed_key text NOT NULL,
    created_at bigint NOT NULL
  )`
})
