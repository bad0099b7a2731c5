/** Rows of graphs. One function per statement; each takes organization, collection and generation. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { EntityRow } from "./building/build.ts"

export interface GraphRow {
  readonly entity_generation: string
  readonly community_generation: string | null
  readonly documents: number
  readonly entities: number
  readonly edges: Uint8Array | null
  readonly generated_at: number
}
/** The rows of one run for one collection. */
export interface Generation {
  readonly organizationId: string
  readonly collection: string
  readonly generation: string
}
export interface StoredEntity extends Omit<EntityRow, "neighbours"> {
  readonly created_at: number
  readonly updated_at: number
}
interface Dated {
  readonly hash: string
  readonly created_at: number
  readonly updated_at: number
}
export interface EntitiesAsked {
  readonly key: string
  readonly type: string | undefined
  readonly community: string | undefined
  readonly limit: number
}

/** A key consists of words of letters and digits, so it contains no LIKE wildcard. */
const within = (key: string): string => `%${key}%`

export const makeGraphsRepository = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const columns = sql.literal(
    "id, name, type, key, description, aliases, documents, source_doc_ids, community_id, created_at::float8 AS created_at, updated_at::float8 AS updated_at"
  )
  const of = ({ collection, generation, organizationId }: Generation) =>
    sql`organization_id = ${organizationId} AND collection = ${collection} AND generation = ${generation}`
  return {
    /** Serializes runs and drops of a collection. */
    lock: (organizationId: string, collection: string) =>
      sql`SELECT pg_advisory_xact_lock(hashtextextended(${`graph of ${organizationId}/${collection}`}, 0))`,
    get: (organizationId: string, collection: string) =>
      Effect.map(
        sql<GraphRow>`SELECT entity_generation, community_generation, documents, entities, edges, generated_at::float8 AS generated_at FROM graphs WHERE organization_id = ${organizationId} AND collection = ${collection}`,
        ([row]) => row
      ),
    put: (organizationId: string, collection: string, row: GraphRow) =>
      sql`INSERT INTO graphs (organization_id, collection, entity_generation, community_generation, documents, entities, edges, generated_at)
        VALUES (${organizationId}, ${collection}, ${row.entity_generation}, ${row.community_generation}, ${row.documents}::int4, ${row.entities}::int4, ${row.edges}, ${String(row.generated_at)}::text::int8)
        ON CONFLICT (organization_id, collection) DO UPDATE SET entity_generation = EXCLUDED.entity_generation, community_generation = EXCLUDED.community_generation,
          documents = EXCLUDED.documents, entities = EXCLUDED.entities, edges = EXCLUDED.edges, generated_at = EXCLUDED.generated_at`,
    /** Number of entities in the organization's other collections. */
    countOthers: (organizationId: string, collection: string) =>
      Effect.map(
        sql<{
          n: number
        }>`SELECT coalesce(sum(entities), 0)::int4 AS n FROM graphs WHERE organization_id = ${organizationId} AND collection <> ${collection}`,
        ([row]) => row!.n
      ),
    /** For each entity of a generation, the columns that show whether it changed. */
    dated: (asked: Generation) =>
      Effect.map(
        sql<
          Dated & { readonly id: string }
        >`SELECT id, hash, created_at::float8 AS created_at, updated_at::float8 AS updated_at FROM graph_entities WHERE ${of(asked)}`,
        (rows) => new Map<string, Dated>(rows.map(({ id, ...dated }) => [id, dated]))
      ),
    putEntities: ({ collection, generation, organizationId }: Generation, rows: ReadonlyArray<EntityRow & Dated>) =>
      sql`INSERT INTO graph_entities (organization_id, collection, generation, id, name, type, key, description, aliases, documents, source_doc_ids, neighbours, community_id, hash, created_at, updated_at)
        SELECT ${organizationId}, ${collection}, ${generation}, r.* FROM json_to_recordset(${JSON.stringify(rows)}::text::json) AS r(
          id text, name text, type text, key text, description text, aliases json, documents int4, source_doc_ids json, neighbours json, community_id text, hash text, created_at int8, updated_at int8)
        ON CONFLICT DO NOTHING`,
    /** Newest first, then by id. */
    entities: (asked: Generation, { community, key, limit, type }: EntitiesAsked) =>
      sql<StoredEntity>`SELECT ${columns} FROM graph_entities WHERE ${of(asked)} AND (${key === ""} OR key LIKE ${within(key)})
        AND (${type ?? null}::text IS NULL OR type = ${type ?? null}) AND (${community ?? null}::text IS NULL OR community_id = ${community ?? null})
        ORDER BY updated_at DESC, id LIMIT ${limit}::int4`,
    /** For lists whose order must not reveal what changed. */
    entitiesById: (
      asked: Generation,
      { after, key, limit, type }: Pick<EntitiesAsked, "key" | "limit" | "type"> & { readonly after: string }
    ) =>
      sql<StoredEntity>`SELECT ${columns} FROM graph_entities WHERE ${of(asked)} AND id > ${after} AND (${key === ""} OR key LIKE ${within(key)})
        AND (${type ?? null}::text IS NULL OR type = ${type ?? null}) ORDER BY id LIMIT ${limit}::int4`,
    /** Removes rows of a collection that do not belong to its graph's generation; all rows if it has no graph. */
    removeOthers: Effect.fnUntraced(function* (
      organizationId: string,
      collection: string,
      entities: string,
      communities: string | null
    ) {
      yield* sql`DELETE FROM graph_entities WHERE organization_id = ${organizationId} AND collection = ${collection} AND generation <> ${entities}`
      yield* sql`DELETE FROM graph_communities WHERE organization_id = ${organizationId} AND collection = ${collection} AND generation <> ${communities ?? ""}`
    }),
    remove: Effect.fnUntraced(function* (organizationId: string, collection: string) {
      yield* sql`DELETE FROM graph_entities WHERE organization_id = ${organizationId} AND collection = ${collection}`
      yield* sql`DELETE FROM graph_communities WHERE organization_id = ${organizationId} AND collection = ${collection}`
      yield* sql`DELETE FROM graphs WHERE organization_id = ${organizationId} AND collection = ${collection}`
    })
  }
})
