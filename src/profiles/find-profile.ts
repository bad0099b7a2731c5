/** A profile by the names in a path. */
import type { CollectionInfo } from "@dowser/engine-sdk"
import { Effect } from "effect"
import { makeCollectionOf } from "../engine-plane/engine-plane.ts"
import { NotFound } from "../http/errors.ts"
import type { Caller } from "../identity/caller.ts"
import { noProfile } from "./profile-writes.ts"
import type { StoredProfile } from "./profiles-repository.ts"
import { SearchProfiles } from "./search-profiles.ts"

interface OfProfile {
  readonly collectionName: string
  readonly profileName: string
}
/** Where a profile was looked up, and what was found. */
interface FoundProfile {
  readonly collection: CollectionInfo
  readonly profile: StoredProfile
}

export const makeFinding = Effect.gen(function* () {
  const profiles = yield* SearchProfiles
  const collectionOf = yield* makeCollectionOf
  const profileOf = ({ caller, params }: { readonly caller: Caller; readonly params: OfProfile }) =>
    Effect.flatMap(
      collectionOf(caller.organizationId, params.collectionName),
      (collection): Effect.Effect<FoundProfile, NotFound> => {
        const profile = profiles.get(caller.organizationId, collection, params.profileName)
        return profile === undefined ? Effect.fail(noProfile()) : Effect.succeed({ collection, profile })
      }
    )
  return { collectionOf, profileOf }
})
