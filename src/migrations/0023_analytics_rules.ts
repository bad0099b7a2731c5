/**
 * Analytics rules and their counts, which change in the transaction that moves the stream's offsets. Deleting a rule
 * deletes its figures. In `analytics_rule_counters`, `counted` events have happened and `applied` of them are in the
 * document; `before`, `after` and `intended` describe a write in progress to the document's field. `published_as` is
 * the document that shows a query in the rule's destination.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE TABLE analytics_rules (
    organization_id text NOT NULL REFERENCES organizations (id),
    name text NOT NULL,
    type text NOT NULL,
    collection text NOT NULL,
    event_type text NOT NULL,
    rule_tag text,
    params json NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    PRIMARY KEY (organization_id, name)
  )`
  yield* sql`CREATE TABLE analytics_rule_queries (
    organization_id text NOT NULL,
    rule text NOT NULL,
    q text NOT NULL,
    filter_by text NOT NULL,
    analytics_tag text NOT NULL,
    count bigint NOT NULL,
    published_as text,
    PRIMARY KEY (organization_id, rule, q, filter_by, analytics_tag),
    FOREIGN KEY (organization_id, rule) REFERENCES analytics_rules (organization_id, name) ON DELETE CASCADE
  )`
  yield* sql`CREATE TABLE analytics_rule_counters (
    organization_id text NOT NULL,
    rule text NOT NULL,
    document_id text NOT NULL,
    counted bigint NOT NULL,
    applied bigint NOT NULL DEFAULT 0,
    before float8,
    after float8,
    intended bigint,
    PRIMARY KEY (organization_id, rule, document_id),
    FOREIGN KEY (organization_id, rule) REFERENCES analytics_rules (organization_id, name) ON DELETE CASCADE
  )`
  yield* sql`CREATE INDEX analytics_rule_counters_waiting ON analytics_rule_counters (organization_id, rule, document_id) WHERE counted <> applied`
  yield* sql`CREATE TABLE analytics_rule_events (
    organization_id text NOT NULL,
    rule text NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    user_id text NOT NULL,
    occurred_at bigint NOT NULL,
    event json NOT NULL,
    PRIMARY KEY (organization_id, rule, id),
    FOREIGN KEY (organization_id, rule) REFERENCES analytics_rules (organization_id, name) ON DELETE CASCADE
  )`
  yield* sql`CREATE INDEX analytics_rule_events_user ON analytics_rule_events (organization_id, user_id, id)`
})
