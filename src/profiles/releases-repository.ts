/** Rows of releases, which are immutable. One function per statement. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { ActiveRelease } from "./acting-profile.ts"
import { readManifest } from "./profiles-repository.ts"

export interface StoredRelease extends ActiveRelease {
  readonly change_class: "HOT"
  readonly created_at: number
  readonly created_by: string
  readonly note: string
}
type ReleaseRow = Omit<StoredRelease, "manifest"> & { readonly manifest: unknown }
const releaseOf = (row: ReleaseRow): StoredRelease => ({ ...row, manifest: readManifest(row.manifest) })

const RELEASE_COLUMNS = "id, version, manifest, change_class, created_at::float8 AS created_at, created_by, note"

export const makeReleasesRepository = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  return {
    newestVersion: (organizationId: string, profileId: string) =>
      Effect.map(
        sql<{
          readonly version: number
        }>`SELECT coalesce(max(version), 0)::int4 AS version FROM search_profile_releases WHERE organization_id = ${organizationId} AND profile_id = ${profileId}`,
        ([row]) => row!.version
      ),
    insert: (organizationId: string, profileId: string, release: StoredRelease) =>
      sql`INSERT INTO search_profile_releases (organization_id, profile_id, version, id, manifest, change_class, note, created_at, created_by)
        VALUES (${organizationId}, ${profileId}, ${release.version}::int4, ${release.id}, ${JSON.stringify(release.manifest)}::text::json, ${release.change_class}, ${release.note}, ${String(release.created_at)}::text::int8, ${release.created_by})`,
    get: (organizationId: string, profileId: string, id: string) =>
      Effect.map(
        sql.unsafe<ReleaseRow>(
          `SELECT ${RELEASE_COLUMNS} FROM search_profile_releases WHERE organization_id = $1 AND profile_id = $2 AND id = $3`,
          [organizationId, profileId, id]
        ),
        ([row]) => (row === undefined ? undefined : releaseOf(row))
      ),
    ofVersion: (organizationId: string, profileId: string, version: number) =>
      Effect.map(
        sql.unsafe<ReleaseRow>(
          `SELECT ${RELEASE_COLUMNS} FROM search_profile_releases WHERE organization_id = $1 AND profile_id = $2 AND version = $3::int4`,
          [organizationId, profileId, version]
        ),
        ([row]) => (row === undefined ? undefined : releaseOf(row))
      ),
    /** Newest first, of versions below `before`. */
    list: (organizationId: string, profileId: string, before: number, rowsMax: number) =>
      Effect.map(
        sql.unsafe<ReleaseRow>(
          `SELECT ${RELEASE_COLUMNS} FROM search_profile_releases WHERE organization_id = $1 AND profile_id = $2 AND version < $3::int4 ORDER BY version DESC LIMIT $4::int4`,
          [organizationId, profileId, before, rowsMax]
        ),
        (rows) => rows.map(releaseOf)
      )
  }
})
