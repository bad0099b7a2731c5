/**
 * Everything that changes a profile: under one lock of its collection, in one transaction with the audit log and the
 * plan's caps. What must compile is compiled under the schema at the moment of the write.
 */
import type { CollectionInfo } from "@dowser/engine-sdk"
import { Clock, Effect } from "effect"
import type { SqlError } from "effect/sql"
import { refused } from "../http/checks.ts"
import { makeAuditRecorder } from "../audit/record.ts"
import { Configuration } from "../configuration/configuration.ts"
import { stored } from "../configuration/stored.ts"
import { type ConfigurationUnavailable, inputInvalid, type InputInvalid, NotFound } from "../http/errors.ts"
import { CurrentOrigin } from "../identity/origin.ts"
import { Entitlements } from "../metering/entitlements.ts"
import type { FeatureNotInPlan } from "../metering/errors.ts"
import { bytesOf, makeNamedResources, VALUE_BYTES_MAX } from "../metering/named-resources.ts"
import { SearchPolicies } from "../policies/search-policies.ts"
import { Engine } from "../ports/engine/engine.ts"
import { Identifiers } from "@dowser/log/identifiers"
import type { ManifestChange } from "./compile-manifest.ts"
import { ManifestNotHot, RevisionMismatch, SearchProfileExists } from "./errors.ts"
import { isSameManifest, type ProfileManifest } from "./manifest.ts"
import type { ProfileTable } from "./profile-table.ts"
import { makeProfilesRepository, type StoredProfile, subjectOf } from "./profiles-repository.ts"
import { makeReleasesRepository, type StoredRelease } from "./releases-repository.ts"

/** Why a manifest does not compile now; empty if it does. */
type Compile = (collection: CollectionInfo, manifest: ProfileManifest) => ReadonlyArray<ManifestChange>
interface Draft {
  readonly manifest: ProfileManifest
  readonly is_default: boolean
}
type Written<E> = Effect.Effect<
  StoredProfile,
  E | FeatureNotInPlan | InputInvalid | NotFound | ConfigurationUnavailable
>
type Refused = NotFound | RevisionMismatch | ManifestNotHot

export interface ProfileWrites {
  readonly create: (
    organizationId: string,
    collection: CollectionInfo,
    name: string,
    draft: Draft,
    compile: Compile
  ) => Written<SearchProfileExists>
  /** Keeps the active release, if there is one; otherwise the draft applies to the next search. */
  readonly replace: (
    organizationId: string,
    collection: CollectionInfo,
    name: string,
    draft: Draft,
    compile: Compile
  ) => Written<never>
  /** Removes a profile and its releases, also of a collection that was deleted. */
  readonly remove: (
    organizationId: string,
    collection: string,
    name: string
  ) => Effect.Effect<void, ConfigurationUnavailable>
  /** Removes all profiles of a collection that was dropped. */
  readonly removeOf: (organizationId: string, collection: string) => Effect.Effect<void, ConfigurationUnavailable>
  /**
   * Publishes the draft as a release that applies from the next search on; returns the active one if nothing changed.
   */
  readonly publish: (
    organizationId: string,
    collection: CollectionInfo,
    name: string,
    asked: { readonly expected_revision: number; readonly note: string },
    compile: Compile
  ) => Effect.Effect<StoredRelease, Refused | FeatureNotInPlan | ConfigurationUnavailable>
  /** Activates an earlier or later release. */
  readonly activate: (
    organizationId: string,
    collection: CollectionInfo,
    name: string,
    asked: { readonly expected_revision: number; readonly release_id: string },
    compile: Compile
  ) => Effect.Effect<StoredProfile, Refused | ConfigurationUnavailable>
  /**
   * Replaces the active release by another: one created from a manifest, an existing one, or none, so that the draft
   * applies again. The draft stays unchanged. RevisionMismatch if something else is active than expected.
   */
  readonly putActive: (
    organizationId: string,
    collection: CollectionInfo,
    name: string,
    asked: {
      readonly expected: { readonly release_id: string | null; readonly revision: number }
      readonly release_id: string | null
      /** For a release to be created under the id; undefined for an existing one. */
      readonly manifest: ProfileManifest | undefined
      readonly note: string
    },
    compile: Compile
  ) => Effect.Effect<void, Refused | FeatureNotInPlan | ConfigurationUnavailable>
}

export const noProfile = () => new NotFound({ message: "Search profile not found" })
export const notHot = (name: string, changes: ReadonlyArray<ManifestChange>) =>
  new ManifestNotHot({
    message: `The profile \`${name}\` does not fit the collection's schema: ${changes.map(({ path }) => path).join(", ")}.`,
    changes
  })
export const refuseRevision = (
  { name, revision }: Pick<StoredProfile, "name" | "revision">,
  expected: number
): Effect.Effect<void, RevisionMismatch> =>
  revision === expected
    ? Effect.void
    : Effect.fail(
        new RevisionMismatch({
          message: `The profile \`${name}\` has the revision ${revision}, not ${expected}.`,
          current_revision: revision
        })
      )

/** The dependencies and common checks of all writes. */
const makeParts = Effect.gen(function* () {
  const engine = yield* Engine
  const policies = yield* SearchPolicies
  const repository = yield* makeProfilesRepository
  /** The collection under its lock; it may have been dropped, and created again, since it was looked up. */
  const locked = Effect.fnUntraced(function* (organizationId: string, known: CollectionInfo) {
    const { name } = known.schema
    yield* repository.lock(organizationId, name)
    const collection = engine.describeCollection(organizationId, name)
    if (collection === undefined || collection.created_at !== known.created_at)
      return yield* new NotFound({ message: "Collection not found" })
    return collection
  })
  const found = Effect.fnUntraced(function* (organizationId: string, collection: CollectionInfo, name: string) {
    const profile = yield* repository.get(organizationId, collection.schema.name, collection.created_at, name)
    return profile === undefined ? yield* noProfile() : profile
  })
  /** Why a manifest cannot be active. A policy that it names is locked from here on. */
  const changesOf = Effect.fnUntraced(function* (
    organizationId: string,
    collection: CollectionInfo,
    manifest: ProfileManifest,
    compile: Compile
  ) {
    const { search_policy } = manifest
    const changes = [...compile(collection, manifest)]
    if (search_policy !== "" && !(yield* policies.hold(organizationId, search_policy)))
      changes.push({
        path: "search_policy",
        class: "COLD",
        reason: `There is no search policy \`${search_policy}\`.`
      })
    return changes
  })
  return {
    engine,
    repository,
    releases: yield* makeReleasesRepository,
    locked,
    found,
    changesOf,
    audit: yield* makeAuditRecorder,
    configuration: yield* Configuration,
    entitlements: yield* Entitlements,
    identifiers: yield* Identifiers,
    named: yield* makeNamedResources
  }
})
type Parts = Effect.Success<typeof makeParts>
const changeOf = (organizationId: string, collection: CollectionInfo, name: string) => ({
  kind: "search_profile",
  organizationId,
  id: subjectOf(collection.schema.name, name)
})

/** Shared by both ways to write a draft. */
const makeDrafts = ({ audit, changesOf, repository }: Parts) => ({
  /** Refuses a draft that would apply immediately but does not compile, and any that names a missing policy. */
  storable: Effect.fnUntraced(function* (
    organizationId: string,
    collection: CollectionInfo,
    manifest: ProfileManifest,
    compile: Compile
  ) {
    const changes = yield* changesOf(organizationId, collection, manifest, compile)
    yield* refused(changes.map(({ path, reason }) => ({ path, message: reason })))
  }),
  /** Makes it the only default of its collection. */
  onlyDefault: Effect.fnUntraced(function* (profile: StoredProfile) {
    const { collection, name, organization_id: organizationId, updated_at } = profile
    if (!profile.is_default) return
    for (const other of yield* repository.defaultBeside(organizationId, collection, name)) {
      yield* repository.clearDefault(organizationId, collection, other, updated_at)
      // Not under the lock of `recorded`: a writer of the other profile may hold it, waiting for the collection's.
      yield* audit.noted({
        organizationId,
        kind: "search_profile",
        id: subjectOf(collection, other),
        action: "updated",
        before: { is_default: true },
        after: { is_default: false }
      })
    }
  })
})
const sized = ({ manifest }: Draft): Effect.Effect<void, InputInvalid> =>
  bytesOf(manifest) > VALUE_BYTES_MAX
    ? Effect.fail(inputInvalid("body", `A profile may have at most ${VALUE_BYTES_MAX} bytes`))
    : Effect.void
const nothing: Compile = () => []

const makeCreate = (parts: Parts): ProfileWrites["create"] => {
  const { configuration, entitlements, identifiers, locked, named, repository } = parts
  const { onlyDefault, storable } = makeDrafts(parts)
  const inserted: (
    ...given: Parameters<ProfileWrites["create"]>
  ) => Effect.Effect<
    StoredProfile,
    SearchProfileExists | FeatureNotInPlan | InputInvalid | NotFound | SqlError.SqlError
  > = Effect.fnUntraced(function* (organizationId, known, name, { is_default, manifest }, compile) {
    const collection = yield* locked(organizationId, known)
    const { created_at: collection_created_at, schema } = collection
    yield* repository.removeOrphans(organizationId, schema.name, collection_created_at)
    if ((yield* repository.get(organizationId, schema.name, collection_created_at, name)) !== undefined)
      return yield* new SearchProfileExists({
        message: `\`${schema.name.slice(0, 80)}\` has a profile \`${name}\` already.`
      })
    const { max, refusal } = entitlements.cap(organizationId, "profiles_per_collection")
    if (max < Infinity && (yield* repository.count(organizationId, schema.name)) >= max) return yield* refusal
    yield* storable(organizationId, collection, manifest, compile)
    const now = yield* Clock.currentTimeMillis
    const profile: StoredProfile = {
      organization_id: organizationId,
      collection: schema.name,
      collection_created_at,
      name,
      id: yield* identifiers.make("prf"),
      is_default,
      draft: manifest,
      revision: 1,
      active: undefined,
      created_at: now,
      updated_at: now
    }
    yield* repository.insert(profile)
    yield* onlyDefault(profile)
    return profile
  })
  return Effect.fn("SearchProfiles.create")((...given) =>
    Effect.andThen(
      sized(given[3]),
      stored(configuration.write(changeOf(given[0], given[1], given[2]), named.within(given[0], inserted(...given))))
    )
  )
}

const makeReplace = (parts: Parts): ProfileWrites["replace"] => {
  const { configuration, found, locked, named, repository } = parts
  const { onlyDefault, storable } = makeDrafts(parts)
  const replaced: (
    ...given: Parameters<ProfileWrites["replace"]>
  ) => Effect.Effect<StoredProfile, InputInvalid | NotFound | SqlError.SqlError> = Effect.fnUntraced(function* (
    organizationId,
    known,
    name,
    { is_default, manifest },
    compile
  ) {
    const collection = yield* locked(organizationId, known)
    const before = yield* found(organizationId, collection, name)
    yield* storable(organizationId, collection, manifest, before.active === undefined ? compile : nothing)
    const profile: StoredProfile = {
      ...before,
      is_default,
      draft: manifest,
      revision: before.revision + 1,
      updated_at: yield* Clock.currentTimeMillis
    }
    yield* repository.update(profile)
    yield* onlyDefault(profile)
    return profile
  })
  return Effect.fn("SearchProfiles.replace")((...given) =>
    Effect.andThen(
      sized(given[3]),
      stored(configuration.write(changeOf(given[0], given[1], given[2]), named.within(given[0], replaced(...given))))
    )
  )
}

/** Id of the publisher; the operator and the program have none. */
const author = Effect.map(CurrentOrigin, ({ actor }) => ("id" in actor ? actor.id : actor.type))

/** Shared by all writes of what applies to searches. */
const makeReleaseParts = ({ changesOf, identifiers, releases }: Parts) => ({
  compiled: Effect.fnUntraced(function* (
    organizationId: string,
    collection: CollectionInfo,
    name: string,
    manifest: ProfileManifest,
    compile: Compile
  ) {
    const changes = yield* changesOf(organizationId, collection, manifest, compile)
    if (changes.length > 0) return yield* notHot(name, changes)
  }),
  activeOf: Effect.fnUntraced(function* (organizationId: string, profileId: string, releaseId: string) {
    const release = yield* releases.get(organizationId, profileId, releaseId)
    return release ?? (yield* new NotFound({ message: "Release not found" }))
  }),
  inserted: Effect.fnUntraced(function* (
    organizationId: string,
    profileId: string,
    manifest: ProfileManifest,
    note: string,
    id: string | undefined
  ) {
    const release: StoredRelease = {
      id: id ?? (yield* identifiers.make("rel")),
      version: (yield* releases.newestVersion(organizationId, profileId)) + 1,
      manifest,
      change_class: "HOT",
      created_at: yield* Clock.currentTimeMillis,
      created_by: yield* author,
      note
    }
    yield* releases.insert(organizationId, profileId, release)
    return release
  })
})

/** Publishing and activating, which decide what applies to searches. */
const makeReleaseWrites = (parts: Parts): Pick<ProfileWrites, "publish" | "activate"> => {
  const { configuration, found, locked, named, repository } = parts
  const { activeOf, compiled, inserted } = makeReleaseParts(parts)
  const published: (
    ...given: Parameters<ProfileWrites["publish"]>
  ) => Effect.Effect<StoredRelease, Refused | SqlError.SqlError> = Effect.fnUntraced(function* (
    organizationId,
    known,
    name,
    { expected_revision, note },
    compile
  ) {
    const collection = yield* locked(organizationId, known)
    const { active, collection: own, draft, id, ...profile } = yield* found(organizationId, collection, name)
    yield* refuseRevision({ ...profile, name }, expected_revision)
    yield* compiled(organizationId, collection, name, draft, compile)
    if (active !== undefined && isSameManifest(active.manifest, draft))
      return yield* activeOf(organizationId, id, active.id)
    const release = yield* inserted(organizationId, id, draft, note, undefined)
    yield* repository.setActive(organizationId, own, name, release.id, release.created_at)
    return release
  })
  const activated: (
    ...given: Parameters<ProfileWrites["activate"]>
  ) => Effect.Effect<StoredProfile, Refused | SqlError.SqlError> = Effect.fnUntraced(function* (
    organizationId,
    known,
    name,
    { expected_revision, release_id },
    compile
  ) {
    const collection = yield* locked(organizationId, known)
    const profile = yield* found(organizationId, collection, name)
    const active = yield* activeOf(organizationId, profile.id, release_id)
    yield* refuseRevision(profile, expected_revision)
    yield* compiled(organizationId, collection, name, active.manifest, compile)
    const updated_at = yield* Clock.currentTimeMillis
    yield* repository.setActive(organizationId, profile.collection, name, active.id, updated_at)
    return { ...profile, active, updated_at }
  })
  return {
    publish: Effect.fn("SearchProfiles.publish")((...given) =>
      stored(configuration.write(changeOf(given[0], given[1], given[2]), named.within(given[0], published(...given))))
    ),
    activate: Effect.fn("SearchProfiles.activate")((...given) =>
      stored(configuration.write(changeOf(given[0], given[1], given[2]), activated(...given)))
    )
  }
}

/** Lets other rooms replace what applies, and restore it. */
const makePutActive = (parts: Parts): ProfileWrites["putActive"] => {
  const { configuration, found, locked, named, repository } = parts
  const { activeOf, compiled, inserted } = makeReleaseParts(parts)
  const put: (...given: Parameters<ProfileWrites["putActive"]>) => Effect.Effect<void, Refused | SqlError.SqlError> =
    Effect.fnUntraced(function* (organizationId, known, name, { expected, manifest, note, release_id }, compile) {
      const collection = yield* locked(organizationId, known)
      const profile = yield* found(organizationId, collection, name)
      yield* refuseRevision(profile, expected.revision)
      if ((profile.active?.id ?? null) !== expected.release_id)
        return yield* new RevisionMismatch({
          message: `Another release of the profile \`${name}\` acts meanwhile.`,
          current_revision: profile.revision
        })
      const acts =
        release_id === null
          ? profile.draft
          : (manifest ?? (yield* activeOf(organizationId, profile.id, release_id)).manifest)
      yield* compiled(organizationId, collection, name, acts, compile)
      if (release_id !== null && manifest !== undefined)
        yield* inserted(organizationId, profile.id, manifest, note, release_id)
      const now = yield* Clock.currentTimeMillis
      yield* repository.setActive(organizationId, profile.collection, name, release_id, now)
    })
  return Effect.fn("SearchProfiles.putActive")((...given) =>
    stored(configuration.write(changeOf(given[0], given[1], given[2]), named.within(given[0], put(...given))))
  )
}

/** `table`: the profiles that this process knows. */
export const makeProfileWrites = (table: ProfileTable) =>
  Effect.map(makeParts, (parts): ProfileWrites => {
    const { configuration, repository } = parts
    const remove: ProfileWrites["remove"] = Effect.fn("SearchProfiles.remove")((organizationId, collection, name) =>
      stored(
        configuration.write(
          { kind: "search_profile", organizationId, id: subjectOf(collection, name) },
          Effect.andThen(
            repository.lock(organizationId, collection),
            Effect.asVoid(repository.remove(organizationId, collection, name))
          )
        )
      )
    )
    return {
      create: makeCreate(parts),
      replace: makeReplace(parts),
      ...makeReleaseWrites(parts),
      putActive: makePutActive(parts),
      remove,
      removeOf: (organizationId, collection) =>
        Effect.forEach(
          table.ofCollection(organizationId, collection),
          ({ name }) => remove(organizationId, collection, name),
          { discard: true }
        )
    }
  })
