/**
 * What the tenant API stores in addition to the engine: aliases, presets, synonym and curation sets, stopwords,
 * stemming dictionaries.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE TABLE engine_resources (
    organization_id text NOT NULL REFERENCES organizations (id),
    kind text NOT NULL,
    name text NOT NULL,
    value jsonb NOT NULL,
    PRIMARY KEY (organization_id, kind, name)
  )`
})
