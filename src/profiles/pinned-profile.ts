/** The profile that a new browser key will be bound to. */
import { collectionMatches, forcedTextsOf, type ForcedFilters } from "@dowser/engine-sdk/operations"
import { Effect } from "effect"
import { makeContexts } from "../engine-plane/engine-plane.ts"
import { inputInvalid, type InputInvalid, NotFound } from "../http/errors.ts"
import type { Caller } from "../identity/caller.ts"
import type { ProfilePin } from "../identity/known-profiles.ts"
import { SearchProfiles } from "./search-profiles.ts"

/** The collections and documents that the new key may access. */
interface Reaching {
  readonly collections: ReadonlyArray<string>
  readonly filter_by: ForcedFilters
}

export const makePinning = Effect.gen(function* () {
  const contextOf = yield* makeContexts
  const profiles = yield* SearchProfiles
  /**
   * NotFound if no collection that the key will reach, by its own name or an alias, has such a profile; InputInvalid if
   * several have: the key is bound to one. O(profiles of the name × aliases).
   */
  return (
    { organizationId }: Pick<Caller, "organizationId">,
    name: string,
    { collections, filter_by }: Reaching
  ): Effect.Effect<ProfilePin, InputInvalid | NotFound> =>
    Effect.suspend((): Effect.Effect<ProfilePin, InputInvalid | NotFound> => {
      const context = contextOf(organizationId)
      const reaches = (collection: string): boolean =>
        (collectionMatches(collection, collections) ||
          context.resources
            .list(context.namespace, "alias")
            .some((alias) => alias.collection_name === collection && collectionMatches(alias.name, collections))) &&
        (Object.keys(filter_by).length === 0 || forcedTextsOf(context, filter_by, collection).length > 0)
      const found = profiles.named(organizationId, name).filter(({ collection, collection_created_at }) => {
        const known = context.engine.describeCollection(context.namespace, collection)
        return known?.created_at === collection_created_at && reaches(collection)
      })
      const [profile] = found
      if (profile === undefined)
        return Effect.fail(new NotFound({ message: `Search profile ${name.slice(0, 80)} does not exist.` }))
      if (found.length > 1)
        return Effect.fail(
          inputInvalid("collections", `Several collections have a profile \`${profile.name}\`: name one of them`)
        )
      return Effect.succeed({ id: profile.id, name: profile.name, collection: profile.collection })
    })
})
