/** What a collection owns beside its documents: its search profiles, which its changes have to mind. */
import { alteredCollection, type Body, type OperationContext, resolveCollection } from "@dowser/engine-sdk/operations"
import { Effect } from "effect"
import { CollectionDrops } from "../engine-plane/collection-drops.ts"
import { makeJudge } from "../profiles/judge-profiles.ts"
import { SearchProfiles } from "../profiles/search-profiles.ts"

export const makeOwnedConfiguration = Effect.gen(function* () {
  const profiles = yield* SearchProfiles
  const { refuseBreaking } = yield* makeJudge
  /** Of rooms that stand behind this one. */
  const drops = yield* CollectionDrops
  return {
    /** With a collection that was dropped. */
    remove: (organizationId: string, collection: string) =>
      Effect.andThen(profiles.removeOf(organizationId, collection), drops.dropped(organizationId, collection)),
    /** What is active of the profiles goes on to work under the schema that a body makes, or `force` says otherwise. */
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
