/** Rows of communities. One function per statement; each takes organization, collection and generation. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { CommunityRow } from "./building/build.ts"
import type { Generation } from "./graphs-repository.ts"

export interface StoredCommunity extends Omit<CommunityRow, "parent_id"> {
  readonly parent_id: string | null
  readonly place: number
  readonly updated_at: number
}

export const makeCommunitiesRepository = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const of = ({ collection, generation, organizationId }: Generation) =>
    sql`organization_id = ${organizationId} AND collection = ${collection} AND generation = ${generation}`
  return {
    putCommunities: (
      { collection, generation, organizationId }: Generation,
      rows: ReadonlyArray<CommunityRow & { readonly hash: string; readonly place: number; readonly updated_at: number }>
    ) =>
      sql`INSERT INTO graph_communities (organization_id, collection, generation, id, place, title, parent_id, members, report, hash, updated_at)
        SELECT ${organizationId}, ${collection}, ${generation}, r.* FROM json_to_recordset(${JSON.stringify(rows)}::text::json) AS r(
          id text, place int4, title text, parent_id text, members json, report json, hash text, updated_at int8)
        ON CONFLICT DO NOTHING`,
    communities: (asked: Generation, after: number, limit: number) =>
      sql<StoredCommunity>`SELECT id, place, title, parent_id, members, report, updated_at::float8 AS updated_at FROM graph_communities WHERE ${of(asked)} AND place > ${after}::int4 ORDER BY place LIMIT ${limit}::int4`,
    /** The communities that the next ones are compared with. */
    knownCommunities: (asked: Generation) =>
      sql<
        Pick<StoredCommunity, "id" | "members" | "updated_at"> & { readonly hash: string }
      >`SELECT id, members, hash, updated_at::float8 AS updated_at FROM graph_communities WHERE ${of(asked)} ORDER BY place`
  }
})
