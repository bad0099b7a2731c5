/**
 * What an organization's plan counts of named resources is stored with each row, computed by the database itself, so
 * that no writer can forget it: their number (a set of synonyms or curations counts with its items), and their bytes.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`ALTER TABLE engine_resources
    ADD COLUMN items int4 NOT NULL GENERATED ALWAYS AS (CASE WHEN kind IN ('synonym_set', 'curation_set') AND jsonb_typeof(value->'items') = 'array' THEN 1 + jsonb_array_length(value->'items') ELSE 1 END) STORED,
    ADD COLUMN bytes int4 NOT NULL GENERATED ALWAYS AS (octet_length(name) + octet_length(value::text)) STORED`
  yield* sql`ALTER TABLE search_rule_sets ADD COLUMN bytes int4 NOT NULL GENERATED ALWAYS AS (octet_length(collection) + octet_length(rule_set::text)) STORED`
  yield* sql`ALTER TABLE analytics_rules ADD COLUMN bytes int4 NOT NULL GENERATED ALWAYS AS (octet_length(name) + octet_length(params::text)) STORED`
  // Sums of an organization are read from the index only.
  yield* sql`CREATE INDEX engine_resources_kept ON engine_resources (organization_id) INCLUDE (items, bytes)`
})
