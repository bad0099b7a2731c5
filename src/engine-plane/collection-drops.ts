/**
 * Registry for deleting what belongs to a collection when it is dropped: a room registers here how, and whoever drops
 * a collection calls them all, so that rooms do not depend on each other.
 */
import { Context, Effect, Layer } from "effect"
import type { ConfigurationUnavailable } from "../http/errors.ts"

type Goes = (organizationId: string, collection: string) => Effect.Effect<void, ConfigurationUnavailable>

export class CollectionDrops extends Context.Service<
  CollectionDrops,
  {
    /** `goes` is called with a dropped collection's own name, even if the room stored nothing for the collection. */
    readonly register: (goes: Goes) => Effect.Effect<void>
    /** Calls the rooms one after the other, in order of registration. */ readonly dropped: Goes
  }
>()("dowser/engine-plane/CollectionDrops") {
  static readonly layer = Layer.sync(CollectionDrops, () => {
    const owners: Array<Goes> = []
    return CollectionDrops.of({
      register: (goes) =>
        Effect.sync(() => {
          owners.push(goes)
        }),
      dropped: (organizationId, collection) =>
        Effect.forEach(owners, (goes) => goes(organizationId, collection), { discard: true })
    })
  })
}
