/** Rows of profiles, with the active release of each. One function per statement. */
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { Subject } from "../configuration/change.ts"
import type { ActiveRelease } from "./acting-profile.ts"
import { manifestOf, type ProfileManifest } from "./manifest.ts"
import { ProfileManifestShown } from "./schema.ts"

export interface StoredProfile {
  readonly organization_id: string
  /** The real name. */ readonly collection: string
  /** Unix seconds: when the collection was created. */ readonly collection_created_at: number
  readonly name: string
  /** `prf_` + ULID; differs if a profile of the same name is created again. */ readonly id: string
  readonly is_default: boolean
  readonly draft: ProfileManifest
  readonly revision: number
  /** Undefined before the first publication: the draft applies then. */ readonly active: ActiveRelease | undefined
  /** Unix milliseconds. */ readonly created_at: number
  readonly updated_at: number
}

const decode = Schema.decodeUnknownSync(ProfileManifestShown)
/** Throws if it is not a manifest. */
export const readManifest = (stored: unknown): ProfileManifest => manifestOf(decode(stored))

export interface ProfileRow extends Omit<StoredProfile, "draft" | "active"> {
  readonly manifest: unknown
  readonly active_release_id: string | null
  readonly active_version: number | null
  readonly active_manifest: unknown
}
/** Throws if a row cannot be what was stored, or if the active release is missing. */
export const profileOf = ({
  active_manifest,
  active_release_id,
  active_version,
  manifest,
  ...row
}: ProfileRow): StoredProfile => {
  if (active_release_id !== null && active_version === null) throw new Error("The active release is missing.")
  return {
    ...row,
    draft: readManifest(manifest),
    active:
      active_release_id === null || active_version === null
        ? undefined
        : { id: active_release_id, version: active_version, manifest: readManifest(active_manifest) }
  }
}
/** Data beyond a profile's maximum is not read. */
const PROFILE_COLUMNS =
  "p.organization_id, p.collection, p.collection_created_at::float8 AS collection_created_at, p.name, p.id, p.is_default, CASE WHEN p.bytes > 1000000 THEN NULL ELSE p.manifest END AS manifest, p.revision, p.active_release_id, r.version AS active_version, CASE WHEN r.bytes > 1000000 THEN NULL ELSE r.manifest END AS active_manifest, p.created_at::float8 AS created_at, p.updated_at::float8 AS updated_at"
const FROM =
  "FROM search_profiles p LEFT JOIN search_profile_releases r ON r.id = p.active_release_id AND r.profile_id = p.id AND r.organization_id = p.organization_id"

/** A profile's place: the collection may have slashes in its name, the profile may not. */
export const subjectOf = (collection: string, name: string): string => `${collection}/${name}`
export const placeOf = (subject: string): { readonly collection: string; readonly name: string } => {
  const slash = subject.lastIndexOf("/")
  return { collection: subject.slice(0, slash), name: subject.slice(slash + 1) }
}

export const makeProfilesRepository = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  return {
    /** All profiles of the subjects' collections, because a change of one may take the default from another. */
    read: (subjects: ReadonlyArray<Subject> | "all") =>
      subjects === "all"
        ? sql.unsafe<ProfileRow>(`SELECT ${PROFILE_COLUMNS} ${FROM}`)
        : sql.unsafe<ProfileRow>(
            `SELECT ${PROFILE_COLUMNS} ${FROM} WHERE (p.organization_id, p.collection) IN (SELECT DISTINCT o, c FROM unnest($1::text[], $2::text[]) AS t (o, c))`,
            [subjects.map(({ organizationId }) => organizationId), subjects.map(({ id }) => placeOf(id).collection)]
          ),
    /** Blocks other writes of the collection's profiles until the transaction ends. */
    lock: (organizationId: string, collection: string) =>
      sql`SELECT pg_advisory_xact_lock(hashtextextended(${`search profiles of ${organizationId}/${collection}`}, 0))`,
    get: (organizationId: string, collection: string, createdAt: number, name: string) =>
      Effect.map(
        sql.unsafe<ProfileRow>(
          `SELECT ${PROFILE_COLUMNS} ${FROM} WHERE p.organization_id = $1 AND p.collection = $2 AND p.collection_created_at = $3::text::int8 AND p.name = $4`,
          [organizationId, collection, String(createdAt), name]
        ),
        ([row]) => (row === undefined ? undefined : profileOf(row))
      ),
    /** Removes profiles of an earlier collection of the name. */
    removeOrphans: (organizationId: string, collection: string, createdAt: number) =>
      sql`DELETE FROM search_profiles WHERE organization_id = ${organizationId} AND collection = ${collection} AND collection_created_at <> ${String(createdAt)}::text::int8`,
    count: (organizationId: string, collection: string) =>
      Effect.map(
        sql<{
          readonly n: number
        }>`SELECT count(*)::int4 AS n FROM search_profiles WHERE organization_id = ${organizationId} AND collection = ${collection}`,
        ([row]) => row!.n
      ),
    defaultBeside: (organizationId: string, collection: string, name: string) =>
      Effect.map(
        sql<{
          readonly name: string
        }>`SELECT name FROM search_profiles WHERE organization_id = ${organizationId} AND collection = ${collection} AND is_default AND name <> ${name}`,
        (rows) => rows.map((row) => row.name)
      ),
    clearDefault: (organizationId: string, collection: string, name: string, now: number) =>
      sql`UPDATE search_profiles SET is_default = false, updated_at = ${String(now)}::text::int8 WHERE organization_id = ${organizationId} AND collection = ${collection} AND name = ${name}`,
    insert: (profile: StoredProfile) =>
      sql`INSERT INTO search_profiles (organization_id, collection, name, id, collection_created_at, is_default, manifest, revision, created_at, updated_at)
        VALUES (${profile.organization_id}, ${profile.collection}, ${profile.name}, ${profile.id}, ${String(profile.collection_created_at)}::text::int8, ${profile.is_default}, ${JSON.stringify(profile.draft)}::text::json, ${profile.revision}::int4, ${String(profile.created_at)}::text::int8, ${String(profile.updated_at)}::text::int8)`,
    update: ({ collection, draft, is_default, name, organization_id, revision, updated_at }: StoredProfile) =>
      sql`UPDATE search_profiles SET is_default = ${is_default}, manifest = ${JSON.stringify(draft)}::text::json, revision = ${revision}::int4, updated_at = ${String(updated_at)}::text::int8
        WHERE organization_id = ${organization_id} AND collection = ${collection} AND name = ${name}`,
    /** If `releaseId` is null, the draft applies. */
    setActive: (organizationId: string, collection: string, name: string, releaseId: string | null, now: number) =>
      sql`UPDATE search_profiles SET active_release_id = ${releaseId}, updated_at = ${String(now)}::text::int8 WHERE organization_id = ${organizationId} AND collection = ${collection} AND name = ${name}`,
    /** Removes a profile and its releases. */
    remove: (organizationId: string, collection: string, name: string) =>
      sql`DELETE FROM search_profiles WHERE organization_id = ${organizationId} AND collection = ${collection} AND name = ${name}`
  }
})
