/** What profiles are under a schema, of now or of a change that somebody has in mind. */
import type { CollectionInfo } from "@dowser/engine-sdk"
import { Effect } from "effect"
import { makeContexts } from "../engine-plane/engine-plane.ts"
import { SearchPolicies } from "../policies/search-policies.ts"
import { type CompiledManifest, compileManifest } from "./compile-manifest.ts"
import { ProfilesWouldBreak } from "./errors.ts"
import type { ProfileManifest } from "./manifest.ts"
import { SearchProfiles } from "./search-profiles.ts"

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
    /**
     * Fails where a change of a collection's schema would break active releases that are well as it is.
     * O(profiles of the collection).
     */
    refuseBreaking: (
      organizationId: string,
      collection: CollectionInfo,
      altered: CollectionInfo
    ): Effect.Effect<void, ProfilesWouldBreak> =>
      Effect.suspend(() => {
        const broken = profiles.list(organizationId, collection).flatMap(({ active, name }) => {
          if (active === undefined) return []
          const known = new Set(judge(organizationId, collection, active.manifest).changes.map(({ path }) => path))
          const changes = judge(organizationId, altered, active.manifest).changes.filter(({ path }) => !known.has(path))
          return changes.length === 0 ? [] : [{ name, changes }]
        })
        return broken.length === 0
          ? Effect.void
          : Effect.fail(
              new ProfilesWouldBreak({
                message: `The change would break what is active of ${broken
                  .map(({ changes, name }) => `\`${name}\` (${changes.map(({ path }) => path).join(", ")})`)
                  .join(", ")}; with \`force=true\` it is made all the same.`,
                profiles: broken
              })
            )
      })
  }
})
