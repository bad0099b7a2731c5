/**
 * What a key with a list of collections may do to related ones: a document that refers to another collection is checked
 * against it, and deleting one also deletes those that refer to it. Keys that reach everything skip all of this.
 */
import type { CollectionSchema } from "@dowser/engine-sdk"
import { type Alias, filtersReach, type OperationContext, resolveCollection } from "@dowser/engine-sdk/operations"
import { Effect } from "effect"
import type { Caller } from "../identity/caller.ts"
import { reachesCollection, reachesEverything } from "../identity/reach.ts"
import { CollectionNotAllowed } from "../http/errors.ts"

/**
 * Whether a key reaches a collection of this name, by its list of collections and by its filters; the same whether it
 * exists.
 */
export const reachesNamed = (context: OperationContext, caller: Caller, name: string): boolean =>
  reachesCollection(caller, name) && filtersReach(context, caller.key.filter_by, name)

/** An alias shows its target, so both must be within reach. */
export const reachesAlias = (caller: Caller, { collection_name, name }: Alias): boolean =>
  reachesCollection(caller, name) && reachesCollection(caller, collection_name)

/** Patterns that fit a collection's own name where the key reaches it by any of its names. */
export const patternsOf = (context: OperationContext, caller: Caller): ReadonlyArray<string> => [
  ...caller.key.collections,
  ...context.resources
    .list(context.namespace, "alias")
    .filter(({ name }) => reachesCollection(caller, name))
    .map(({ collection_name }) => collection_name)
]
/** Whether the key reaches a collection under any of its names, of which only the real one is given. O(aliases). */
export const reachesOwnName = (context: OperationContext, caller: Caller, own: string): boolean =>
  reachesCollection(caller, own) ||
  (caller.index === undefined &&
    context.resources
      .list(context.namespace, "alias")
      .some(({ collection_name, name }) => collection_name === own && reachesCollection(caller, name)))

/** The collection that `reference: "collection.field"` is about. */
export const referredBy = (reference: string): string => reference.slice(0, Math.max(0, reference.indexOf(".")))
const references = ({
  fields
}: CollectionSchema): ReadonlyArray<{ readonly target: string; readonly cascades: boolean }> =>
  fields
    .filter(({ reference }) => reference !== "")
    .map(({ cascade_delete, reference }) => ({ target: referredBy(reference), cascades: cascade_delete }))
const refersBeyond = (caller: Caller, schema: CollectionSchema): boolean =>
  references(schema).some(({ target }) => !reachesCollection(caller, target))

/** Whether a reference is met is an answer about the other collection. */
const beyond = (): CollectionNotAllowed =>
  new CollectionNotAllowed({
    message:
      "The collection refers to one that this key does not reach; write its documents with a key that reaches both."
  })
const cascading = (): CollectionNotAllowed =>
  new CollectionNotAllowed({
    message:
      "Documents of a collection that this key does not reach refer to this one and would be deleted with its documents; use a key that reaches both."
  })

/** Refuses to write documents of a collection, and to copy its schema, where that asks one beyond the key's reach. */
export const writable = (
  context: OperationContext,
  caller: Caller,
  name: string
): Effect.Effect<void, CollectionNotAllowed> =>
  Effect.suspend(() => {
    const collection = reachesEverything(caller) ? undefined : resolveCollection(context, name)
    return collection !== undefined && refersBeyond(caller, collection.schema) ? Effect.fail(beyond()) : Effect.void
  })
/** Refuses to delete documents of a collection where that deletes some beyond the key's reach. O(collections). */
export const deletable = (
  context: OperationContext,
  caller: Caller,
  name: string
): Effect.Effect<void, CollectionNotAllowed> =>
  Effect.suspend(() => {
    const own = reachesEverything(caller) ? undefined : resolveCollection(context, name)?.schema.name
    const takes =
      own !== undefined &&
      context.engine
        .listCollections(context.namespace)
        .some(
          ({ schema }) =>
            !reachesOwnName(context, caller, schema.name) &&
            references(schema).some(({ cascades, target }) => cascades && target === own)
        )
    return takes ? Effect.fail(cascading()) : Effect.void
  })
