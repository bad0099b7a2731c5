/** Organizations' own models: one row per port. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export const aiProviders = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql`CREATE TABLE ai_providers (
    organization_id text NOT NULL REFERENCES organizations (id),
    port text NOT NULL,
    value json NOT NULL,
    sealed_api_key text,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    PRIMARY KEY (organization_id, port)
  )`
)
