/**
 * Who has something to do when a schema was changed says so here, and whoever changes one tells all of them. Rooms do
 * not know each other for that.
 */
import { Context, Effect, Layer } from "effect"
import type { CollectionInfo, CollectionSchema } from "@dowser/engine-sdk"

interface Changed {
  readonly organizationId: string
  readonly before: CollectionSchema | undefined
  readonly after: CollectionInfo
}
type Told = (change: Changed) => Effect.Effect<void>

export class CollectionChanges extends Context.Service<
  CollectionChanges,
  {
    readonly register: (told: Told) => Effect.Effect<void>
    /** One after the other, in the order in which they came, before the change is answered. */ readonly changed: Told
  }
>()("dowser/engine-plane/CollectionChanges") {
  static readonly layer = Layer.sync(CollectionChanges, () => {
    const all: Array<Told> = []
    return CollectionChanges.of({
      register: (told) =>
        Effect.sync(() => {
          all.push(told)
        }),
      changed: (change) => Effect.forEach(all, (told) => told(change), { discard: true })
    })
  })
}
