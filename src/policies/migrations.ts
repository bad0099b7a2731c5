/** Named search parameters, overridden by profiles and requests. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export const migrations = {
  "2026112319_search_policies": Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql`CREATE TABLE search_policies (
      organization_id text NOT NULL REFERENCES organizations (id),
      name text NOT NULL,
      params json NOT NULL,
      created_at bigint NOT NULL,
      updated_at bigint NOT NULL,
      bytes int4 NOT NULL GENERATED ALWAYS AS (octet_length(name) + octet_length(params::text)) STORED,
      PRIMARY KEY (organization_id, name)
    )`
  )
}
