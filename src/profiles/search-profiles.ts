/**
 * Search profiles of every collection: rows in Postgres, in memory with their active releases, re-read when a write of
 * any process changed one (`Configuration`). A write is durable before it is visible, and the next search sees it.
 * Releases are only in Postgres, and immutable.
 *
 * Decision: profiles belong to a collection, not to a name of it, like its rules: an alias leads to the profiles of its
 * target, and dropping a collection drops its profiles.
 */
import type { CollectionInfo } from "@dowser/engine-sdk"
import { Context, Effect, Layer } from "effect"
import type { SqlClient } from "effect/sql"
import { Configuration } from "../configuration/configuration.ts"
import { KnownProfiles } from "../identity/known-profiles.ts"
import type { RowReaders } from "../identity/row-readers.ts"
import type { Entitlements } from "../metering/entitlements.ts"
import type { Engine } from "../ports/engine/engine.ts"
import type { Identifiers } from "@dowser/log/identifiers"
import type { SearchPolicies } from "../policies/search-policies.ts"
import { ProfileTable } from "./profile-table.ts"
import { makeProfileWrites, type ProfileWrites } from "./profile-writes.ts"
import { makeProfilesRepository, type StoredProfile, subjectOf } from "./profiles-repository.ts"
import { makeReleasesRepository, type StoredRelease } from "./releases-repository.ts"

interface SearchProfilesShape extends ProfileWrites {
  /** O(1); only of this collection. */
  readonly get: (organizationId: string, collection: CollectionInfo, name: string) => StoredProfile | undefined
  readonly byId: (organizationId: string, id: string) => StoredProfile | undefined
  /** The profile that applies if a request names neither a profile nor `query_by`. */
  readonly defaultOf: (organizationId: string, collection: CollectionInfo) => StoredProfile | undefined
  /** Sorted by name. */
  readonly list: (organizationId: string, collection: CollectionInfo) => ReadonlyArray<StoredProfile>
  /** Profiles of this name, of any collection. */
  readonly named: (organizationId: string, name: string) => ReadonlyArray<StoredProfile>
  /** Changes with every write of the organization's profiles. */
  readonly version: (organizationId: string) => number
  /** Profiles of all organizations in memory. */
  readonly count: Effect.Effect<number>
  readonly release: (profile: StoredProfile, id: string) => Effect.Effect<StoredRelease | undefined>
  readonly releaseOfVersion: (profile: StoredProfile, version: number) => Effect.Effect<StoredRelease | undefined>
  /** Newest first, of versions below `before`, at most `rowsMax`. */
  readonly releases: (
    profile: StoredProfile,
    before: number,
    rowsMax: number
  ) => Effect.Effect<ReadonlyArray<StoredRelease>>
}

/** Keeps all profiles in memory. Unreadable ones affect only their organization. */
const keepProfiles = Effect.gen(function* () {
  const configuration = yield* Configuration
  const { read } = yield* makeProfilesRepository
  const services = yield* Effect.context<never>()
  const table = new ProfileTable(({ collection, name, organization_id: organizationId }, error) => {
    const reason = `The stored search profile \`${collection.slice(0, 80)}/${name.slice(0, 80)}\` is not what it should be.`
    configuration.damages.note("search_profile", { organizationId, id: subjectOf(collection, name) }, reason)
    Effect.runSyncWith(services)(Effect.logError(`${organizationId} is refused: ${reason}`, error))
  })
  yield* configuration.keep("search_profile", (subjects) =>
    Effect.map(read(subjects), (rows) => {
      configuration.damages.forget("search_profile", subjects)
      table.replace(subjects, rows)
    })
  )
  return table
})

export class SearchProfiles extends Context.Service<SearchProfiles, SearchProfilesShape>()(
  "dowser/profiles/SearchProfiles"
) {
  static readonly layer: Layer.Layer<
    SearchProfiles,
    never,
    Configuration | Engine | Entitlements | Identifiers | RowReaders | SearchPolicies | SqlClient.SqlClient
  > = Layer.effect(
    SearchProfiles,
    Effect.gen(function* () {
      const table = yield* keepProfiles
      const releases = yield* makeReleasesRepository
      const writes = yield* makeProfileWrites(table)
      return SearchProfiles.of({
        ...writes,
        get: (organizationId, collection, name) => table.get(organizationId, collection, name),
        byId: (organizationId, id) => table.byId(organizationId, id),
        defaultOf: (organizationId, collection) => table.defaultOf(organizationId, collection),
        list: (organizationId, collection) => table.list(organizationId, collection),
        named: (organizationId, name) => table.named(organizationId, name),
        version: (organizationId) => table.version(organizationId),
        count: Effect.sync(() => table.size),
        release: ({ id: profile, organization_id }, id) => Effect.orDie(releases.get(organization_id, profile, id)),
        releaseOfVersion: ({ id, organization_id }, version) =>
          Effect.orDie(releases.ofVersion(organization_id, id, version)),
        releases: ({ id, organization_id }, before, rowsMax) =>
          Effect.orDie(releases.list(organization_id, id, before, rowsMax))
      })
    })
  )
}

/** Profiles for the check of keys, which is in a lower layer. */
export const layerKnownProfiles = Layer.effect(
  KnownProfiles,
  Effect.map(SearchProfiles, (profiles) => ({
    has: (
      organizationId: string,
      { collection, id, name }: { readonly collection: string; readonly id: string; readonly name: string }
    ) => {
      const known = profiles.byId(organizationId, id)
      return known !== undefined && known.collection === collection && known.name === name
    }
  }))
)
