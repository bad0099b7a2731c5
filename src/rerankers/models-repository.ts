/** Rows of trained models, one per version. One function per statement. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Subject } from "../configuration/change.ts"
import type { StoredModel } from "./schema.ts"

/** Versions kept per name: older ones are deleted when a new one is stored. */
const VERSIONS_KEPT = 10
/** The id in `Configuration`: names have no slash. */
export const idOf = (collection: string, name: string): string => `${name}/${collection}`
const partsOf = (id: string): readonly [name: string, collection: string] => {
  const slash = id.indexOf("/")
  return [id.slice(0, slash), id.slice(slash + 1)]
}

export const makeModelsRepository = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const columns = sql.literal(
    `organization_id, collection, name, version, fields, weights, metrics, trained_from::float8 AS "from", trained_to::float8 AS "to", created_at::float8 AS created_at`
  )
  return {
    /** The newest version of each. */
    read: (subjects: ReadonlyArray<Subject> | "all") => {
      const ids = subjects === "all" ? [] : subjects.map(({ id }) => partsOf(id))
      return sql<StoredModel>`SELECT DISTINCT ON (organization_id, collection, name) ${columns} FROM rerank_models
        WHERE ${
          subjects === "all"
            ? sql`true`
            : sql`(organization_id, name, collection) IN (SELECT * FROM unnest(${subjects.map(({ organizationId }) => organizationId)}::text[], ${ids.map(([name]) => name)}::text[], ${ids.map(([, collection]) => collection)}::text[]))`
        } ORDER BY organization_id, collection, name, version DESC`
    },
    /** Newest first. */
    versions: (organizationId: string, collection: string, name: string) =>
      sql<StoredModel>`SELECT ${columns} FROM rerank_models WHERE organization_id = ${organizationId} AND collection = ${collection} AND name = ${name} ORDER BY version DESC`,
    /** The organization's number of names; nobody else adds one until the transaction ends. */
    lockCount: (organizationId: string) =>
      Effect.map(
        Effect.andThen(
          sql`SELECT pg_advisory_xact_lock(hashtextextended(${`rerank models of ${organizationId}`}, 0))`,
          sql<{
            n: number
          }>`SELECT count(DISTINCT (collection, name))::int4 AS n FROM rerank_models WHERE organization_id = ${organizationId}`
        ),
        ([row]) => row!.n
      ),
    insert: (model: StoredModel) =>
      sql`INSERT INTO rerank_models (organization_id, collection, name, version, fields, weights, metrics, trained_from, trained_to, created_at)
        VALUES (${model.organization_id}, ${model.collection}, ${model.name}, ${model.version}::int4, ${JSON.stringify(model.fields)}::text::json, ${JSON.stringify(model.weights)}::text::json, ${JSON.stringify(model.metrics)}::text::json,
          ${String(model.from)}::text::int8, ${String(model.to)}::text::int8, ${String(model.created_at)}::text::int8)`,
    prune: ({ collection, name, organization_id, version }: StoredModel) =>
      sql`DELETE FROM rerank_models WHERE organization_id = ${organization_id} AND collection = ${collection} AND name = ${name} AND version <= ${version - VERSIONS_KEPT}::int4`,
    /** Removes all versions. */
    remove: (organizationId: string, collection: string, name: string) =>
      sql`DELETE FROM rerank_models WHERE organization_id = ${organizationId} AND collection = ${collection} AND name = ${name}`
  }
})

export const rerankModelsTable = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql`CREATE TABLE rerank_models (
    organization_id text NOT NULL REFERENCES organizations (id),
    collection text NOT NULL,
    name text NOT NULL,
    version int4 NOT NULL,
    fields json NOT NULL,
    weights json NOT NULL,
    metrics json NOT NULL,
    trained_from bigint NOT NULL,
    trained_to bigint NOT NULL,
    created_at bigint NOT NULL,
    PRIMARY KEY (organization_id, collection, name, version)
  )`
)
