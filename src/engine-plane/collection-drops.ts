/**
 * What a collection owns goes with it: a room that keeps something of collections says here how it goes, and whoever
 * drops one asks all of them. Rooms do not know each other for that.
 */
import { Context, Effect, Layer } from "effect"
import type { ConfigurationUnavailable } from "../http/errors.ts"

type Goes = (organizationId: string, collection: string) => Effect.Effect<void, ConfigurationUnavailable>

export class CollectionDrops extends Context.Service<
  CollectionDrops,
  {
    /** `goes` is asked with the real name, after the collection is gone; also where there was nothing. */
    readonly register: (goes: Goes) => Effect.Effect<void>
    /** One room after the other, in the order in which they came. */ readonly dropped: Goes
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
