/** A schema change, announced to its listeners. */
import { type OperationContext, resolveCollection } from "@dowser/engine-sdk/operations"
import { Effect } from "effect"
import { CollectionChanges } from "../engine-plane/collection-changes.ts"

export const makeAnnouncedChange = Effect.map(
  CollectionChanges,
  (changes) =>
    <A, E>(context: OperationContext, name: string, change: Effect.Effect<A, E>): Effect.Effect<A, E> =>
      Effect.suspend(() => {
        const before = resolveCollection(context, name)?.schema
        return Effect.tap(change, () => {
          const after = resolveCollection(context, name)
          return after === undefined
            ? Effect.void
            : changes.changed({ organizationId: context.namespace, before, after })
        })
      })
)
