/** Models trained on collections: some megabytes each at most, one per collection, two while it changes. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export const trainedModels = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE TABLE trained_models (
    organization_id text NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    hash text COLLATE "C" NOT NULL,
    collection text NOT NULL,
    bytes bytea NOT NULL,
    created_at bigint NOT NULL,
    PRIMARY KEY (organization_id, hash, collection)
  )`
})
