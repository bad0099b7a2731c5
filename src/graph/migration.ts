/**
 * Tables of graphs. The visible generation of a collection is the one that its graph names; rows of other generations
 * are invisible.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export const graphs = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE TABLE graphs (
    organization_id text NOT NULL REFERENCES organizations (id),
    collection text NOT NULL,
    entity_generation text NOT NULL,
    community_generation text,
    documents int4 NOT NULL,
    entities int4 NOT NULL,
    edges bytea,
    generated_at bigint NOT NULL,
    PRIMARY KEY (organization_id, collection)
  )`
  yield* sql`CREATE TABLE graph_entities (
    organization_id text NOT NULL,
    collection text NOT NULL,
    generation text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    name text NOT NULL,
    type text NOT NULL,
    key text NOT NULL,
    description text NOT NULL,
    aliases json NOT NULL,
    documents int4 NOT NULL,
    source_doc_ids json NOT NULL,
    neighbours json NOT NULL,
    community_id text NOT NULL,
    hash text NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    PRIMARY KEY (organization_id, collection, generation, id)
  )`
  yield* sql`CREATE INDEX graph_entities_newest ON graph_entities (organization_id, collection, generation, updated_at DESC, id)`
  yield* sql`CREATE TABLE graph_communities (
    organization_id text NOT NULL,
    collection text NOT NULL,
    generation text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    place int4 NOT NULL,
    title text NOT NULL,
    parent_id text,
    members json NOT NULL,
    report json NOT NULL,
    hash text NOT NULL,
    updated_at bigint NOT NULL,
    PRIMARY KEY (organization_id, collection, generation, id)
  )`
})
