/** The state of profiles under the current schema or a proposed one. */
import type { CollectionInfo } from "@dowser/engine-sdk"
import { Effect } from "effect"
import { makeContexts } from "../engine-plane/engine-plane.ts"
import { SearchPolicies } from "../policies/search-policies.ts"
import { type CompiledManifest, compileManifest, type ManifestChange } from "./compile-manifest.ts"
import { ProfilesWouldBreak } from "./errors.ts"
import type { ProfileManifest } from "./manifest.ts"
import { actingManifest } from "./acting-profile.ts"
import type { StoredProfile } from "./profiles-repository.ts"
import { readyProfile } from "./ready-profile.ts"
import { SearchProfiles } from "./search-profiles.ts"

interface Broken {
  readonly name: string
  readonly changes: ReadonlyArray<ManifestChange>
}
const wouldBreak = (broken: ReadonlyArray<Broken>): ProfilesWouldBreak =>
  new ProfilesWouldBreak({
    message: `The change would break the active ${broken
      .map(({ changes, name }) => `\`${name}\` (${changes.map(({ path }) => path).join(", ")})`)
      .join(", ")}; with \`force=true\` it is made anyway.`,
    profiles: broken
  })

export const makeJudge = Effect.gen(function* () {
  const contextOf = yield* makeContexts
  const policies = yield* SearchPolicies
  const profiles = yield* SearchProfiles
  const judge = (organizationId: string, collection: CollectionInfo, manifest: ProfileManifest): CompiledManifest =>
    compileManifest(
      contextOf(organizationId),
      collection,
      manifest,
      (name) => policies.get(organizationId, name) !== undefined
    )
  return {
    judge,
    /** Why an active profile does not fit its collection's schema; cached with the profile that searches use. */
    changesOf: (collection: CollectionInfo, profile: StoredProfile): ReadonlyArray<ManifestChange> => {
      const { search_policy } = actingManifest(profile)
      const policy = search_policy === "" ? undefined : policies.get(profile.organization_id, search_policy)
      return readyProfile(contextOf(profile.organization_id), collection, profile, policy).compiled.changes
    },
    /**
     * Fails if a change of a collection's schema would break active releases that compile now. O(profiles of the
     * collection).
     */
    refuseBreaking: (
      organizationId: string,
      collection: CollectionInfo,
      altered: CollectionInfo
    ): Effect.Effect<void, ProfilesWouldBreak> =>
      Effect.gen(function* () {
        const broken: Array<Broken> = []
        for (const { active, name } of profiles.list(organizationId, collection)) {
          if (active === undefined) continue
          // Some milliseconds each, and there may be many, so other fibers get their turn.
          yield* Effect.yieldNow
          const known = new Set(judge(organizationId, collection, active.manifest).changes.map(({ path }) => path))
          const changes = judge(organizationId, altered, active.manifest).changes.filter(({ path }) => !known.has(path))
          if (changes.length > 0) broken.push({ name, changes })
        }
        if (broken.length > 0) return yield* wouldBreak(broken)
      })
  }
})
