/** Tables of rules and of their pages. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export const seoPages = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE TABLE seo_rules (
    organization_id text NOT NULL REFERENCES organizations (id),
    id text NOT NULL,
    collection text NOT NULL,
    name text NOT NULL,
    facet_field text NOT NULL,
    url_template text NOT NULL,
    site_name text NOT NULL,
    active boolean NOT NULL,
    min_products int4 NOT NULL,
    templates json NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    PRIMARY KEY (organization_id, id)
  )`
  yield* sql`CREATE TABLE seo_pages (
    organization_id text NOT NULL,
    rule_id text NOT NULL,
    slug text COLLATE "C" NOT NULL,
    value text NOT NULL,
    status text NOT NULL,
    canonical text,
    moved_to text,
    title text NOT NULL,
    description text NOT NULL,
    h1 text NOT NULL,
    text text NOT NULL,
    count int4 NOT NULL,
    document_ids json NOT NULL,
    products json NOT NULL,
    related json NOT NULL,
    prev text,
    next text,
    hash text NOT NULL,
    changed_at bigint NOT NULL,
    generated_at bigint NOT NULL,
    empty_since bigint,
    PRIMARY KEY (organization_id, rule_id, slug),
    FOREIGN KEY (organization_id, rule_id) REFERENCES seo_rules (organization_id, id) ON DELETE CASCADE
  )`
})
