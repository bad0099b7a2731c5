/**
 * Registry of listeners to schema changes; whoever changes a schema notifies them, so that rooms do not depend on
 * each other.
 */
import { Context, Effect, Layer } from "effect"
import type { CollectionInfo, CollectionSchema } from "@dowser/engine-sdk"

interface Changed {
  readonly organizationId: string
  readonly before: CollectionSchema | undefined
  readonly after: CollectionInfo
}
type ChangeListener = (change: Changed) => Effect.Effect<void>

export class CollectionChanges extends Context.Service<
  CollectionChanges,
  {
    readonly register: (listener: ChangeListener) => Effect.Effect<void>
    /** Calls the listeners in order of registration, before the change is acknowledged. */
    readonly changed: ChangeListener
  }
>()("dowser/engine-plane/CollectionChanges") {
  static readonly layer = Layer.sync(CollectionChanges, () => {
    const all: Array<ChangeListener> = []
    return CollectionChanges.of({
      register: (listener) =>
        Effect.sync(() => {
          all.push(listener)
        }),
      changed: (change) => Effect.forEach(all, (listener) => listener(change), { discard: true })
    })
  })
}
