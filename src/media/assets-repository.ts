/** Rows of media, one function per statement. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { MediaAsset } from "./schema.ts"

export interface StoredAsset {
  readonly id: string
  readonly organization_id: string
  readonly kind: MediaAsset["kind"]
  readonly filename: string | null
  readonly content_type: string | null
  readonly size: number | null
  readonly sha256: string | null
  /** The name of its content in the blob store. */ readonly blob: string | null
  readonly width: number | null
  readonly height: number | null
  readonly created_at: number
  readonly updated_at: number
  readonly expires_at: number | null
}
/** Measured properties of the content. */
interface Content {
  readonly size: number
  readonly sha256: string
  readonly contentType: string
}
export const makeAssetsRepository = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const columns = sql.literal(
    "id, organization_id, kind, filename, content_type, size::float8 AS size, sha256, blob, width, height, created_at::float8 AS created_at, updated_at::float8 AS updated_at, expires_at::float8 AS expires_at"
  )
  const whole = (n: number) => sql`${String(n)}::text::int8`
  return {
    get: (organizationId: string, id: string) =>
      Effect.map(
        sql<StoredAsset>`SELECT ${columns} FROM media_assets WHERE organization_id = ${organizationId} AND id = ${id}`,
        ([row]) => row
      ),
    page: (organizationId: string, after: string | undefined, limit: number) =>
      sql<StoredAsset>`SELECT ${columns} FROM media_assets WHERE organization_id = ${organizationId} AND id > ${after ?? ""} ORDER BY id LIMIT ${limit}::int4`,
    insert: (asset: StoredAsset) =>
      sql`INSERT INTO media_assets (id, organization_id, kind, filename, content_type, width, height, created_at, updated_at, expires_at)
        VALUES (${asset.id}, ${asset.organization_id}, ${asset.kind}, ${asset.filename}, ${asset.content_type}, ${asset.width}, ${asset.height}, ${whole(asset.created_at)}, ${whole(asset.updated_at)},
          ${asset.expires_at === null ? null : whole(asset.expires_at)})`,
    complete: (id: string, writing: string, { contentType, sha256, size }: Content, now: number) =>
      Effect.map(
        sql<StoredAsset>`UPDATE media_assets SET blob = writing, writing = NULL, writing_until = NULL, bytes_reserved = 0, size = ${whole(size)}, sha256 = ${sha256}, content_type = ${contentType}, updated_at = ${whole(now)}
          WHERE id = ${id} AND writing = ${writing} RETURNING ${columns}`,
        ([row]) => row
      ),
    /** Returns its content to be removed too. */
    remove: (organizationId: string, id: string) =>
      Effect.map(
        sql<{
          blob: string | null
          bytes: number
        }>`DELETE FROM media_assets WHERE organization_id = ${organizationId} AND id = ${id}
          RETURNING blob, (coalesce(size, 0) + bytes_reserved)::float8 AS bytes`,
        ([row]) => row
      ),
    /** The expired ones. */
    expired: (now: number, rowsMax: number) =>
      sql<{
        id: string
        organization_id: string
      }>`SELECT id, organization_id FROM media_assets WHERE expires_at < ${whole(now)} LIMIT ${rowsMax}::int4`,
    /** Blobs of an organization without a row. */
    unknown: (organizationId: string, blobs: ReadonlyArray<string>) =>
      Effect.map(
        sql<{ blob: string }>`SELECT t.blob FROM unnest(${[...blobs]}::text[]) AS t (blob) WHERE NOT EXISTS
          (SELECT 1 FROM media_assets a WHERE a.organization_id = ${organizationId} AND (a.blob = t.blob OR a.writing = t.blob))`,
        (rows) => rows.map(({ blob }) => blob)
      )
  }
})
