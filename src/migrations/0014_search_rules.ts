/**
 * Search rules, one set per collection. `collection_created_at` (Unix seconds) identifies the collection: a set that
 * outlived its collection must not apply to the next one of the same name. Sets are read as units and never queried, so
 * they are `json`, which keeps every text as it was written; `jsonb` refuses some.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE TABLE search_rule_sets (
    organization_id text NOT NULL REFERENCES organizations (id),
    collection text NOT NULL,
    collection_created_at bigint NOT NULL,
    rule_set json NOT NULL,
    updated_at bigint NOT NULL,
    PRIMARY KEY (organization_id, collection)
  )`
})
