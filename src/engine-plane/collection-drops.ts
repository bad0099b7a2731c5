/**
 * What a collection owns is deleted with it: a room registers here how, and whoever drops a collection calls them all,
 * so that rooms need not know each other.
 */
import { Context, Effect, Layer } from "effect"
import type { ConfigurationUnavailable } from "../http/errors.ts"

type Goes = (organizationId: string, collection: string) => Effect.Effect<void, ConfigurationUnavailable>

export class CollectionDrops extends Context.Service<
  CollectionDrops,
  {
    /** `goes` is called with the real name, after the collection is gone, even if there was nothing. */
    readonly register: (goes: Goes) => Effect.Effect<void>
    /** One room after the other, in order of registration. */ readonly dropped: Goes
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
