/** The table of synonym suggestions. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export const synonymSuggestions = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql`CREATE TABLE synonym_suggestions (
    organization_id text NOT NULL REFERENCES organizations (id),
    collection text NOT NULL,
    id text COLLATE "C" NOT NULL,
    term text NOT NULL,
    synonyms json NOT NULL,
    evidence json NOT NULL,
    score float8 NOT NULL,
    status text NOT NULL,
    synonym_set text,
    created_at bigint NOT NULL,
    PRIMARY KEY (organization_id, collection, id)
  )`
)
