/** What belongs to a collection besides its documents: its search profiles, which its changes must not break. */
import { alteredCollection, type Body, type OperationContext, resolveCollection } from "@dowser/engine-sdk/operations"
import { Effect } from "effect"
import { CollectionDrops } from "../engine-plane/collection-drops.ts"
import { makeJudge } from "../profiles/judge-profiles.ts"
import { SearchProfiles } from "../profiles/search-profiles.ts"

export const makeOwnedConfiguration = Effect.gen(function* () {
  const profiles = yield* SearchProfiles
  const { refuseBreaking } = yield* makeJudge
  /** Rooms that come after this one register here. */
  const drops = yield* CollectionDrops
  return {
    /** Removes it together with its collection. */
    remove: (organizationId: string, collection: string) =>
      Effect.andThen(profiles.removeOf(organizationId, collection), drops.dropped(organizationId, collection)),
    /** Ensures that the active profiles keep working under the new schema, unless `force` is set. */
    unbroken: (context: OperationContext, name: string, force: string | undefined, body: Body) =>
      Effect.suspend(() => {
        const collection = force === "true" || force === "1" ? undefined : resolveCollection(context, name)
        const altered = collection === undefined ? undefined : alteredCollection(context, name, body)
        return collection === undefined || altered === undefined
          ? Effect.void
          : refuseBreaking(context.namespace, collection, altered)
      })
  }
})
