/**
 * What a key with a list of collections may do with related ones: a document that refers to another collection is
 * checked against it, and deleting one also deletes those that refer to it. Keys for all collections skip all of this.
 */
import type { CollectionSchema } from "@dowser/engine-sdk"
import { type Alias, filtersReach, type OperationContext, resolveCollection } from "@dowser/engine-sdk/operations"
import { Effect } from "effect"
import type { Caller } from "../identity/caller.ts"
import { reachesCollection, reachesEverything } from "../identity/reach.ts"
import { CollectionNotAllowed } from "../http/errors.ts"

/**
 * Whether a key may access a collection with this name, by its list of collections and by its filters; the result
 * does not depend on whether the collection exists.
 */
export const reachesNamed = (context: OperationContext, caller: Caller, name: string): boolean =>
  reachesCollection(caller, name) && filtersReach(context, caller.key.filter_by, name)

/** An alias shows its target, so the key must have access to both. */
export const reachesAlias = (caller: Caller, { collection_name, name }: Alias): boolean =>
  reachesCollection(caller, name) && reachesCollection(caller, collection_name)

/** Patterns that match a collection's own name if the key may access it under any of its names. */
export const patternsOf = (context: OperationContext, caller: Caller): ReadonlyArray<string> => [
  ...caller.key.collections,
  ...context.resources
    .list(context.namespace, "alias")
    .filter(({ name }) => reachesCollection(caller, name))
    .map(({ collection_name }) => collection_name)
]
/** Whether the key may access a collection under any of its names, given its own name. O(aliases). */
export const reachesOwnName = (context: OperationContext, caller: Caller, own: string): boolean =>
  reachesCollection(caller, own) ||
  (caller.index === undefined &&
    context.resources
      .list(context.namespace, "alias")
      .some(({ collection_name, name }) => collection_name === own && reachesCollection(caller, name)))

/** The collection in `reference: "collection.field"`. */
export const referredBy = (reference: string): string => reference.slice(0, Math.max(0, reference.indexOf(".")))
const references = ({
  fields
}: CollectionSchema): ReadonlyArray<{ readonly target: string; readonly cascades: boolean }> =>
  fields
    .filter(({ reference }) => reference !== "")
    .map(({ cascade_delete, reference }) => ({ target: referredBy(reference), cascades: cascade_delete }))
const refersBeyond = (caller: Caller, schema: CollectionSchema): boolean =>
  references(schema).some(({ target }) => !reachesCollection(caller, target))

/** The refusal for a reference: saying whether it is valid would reveal something about the other collection. */
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

/** Refuses to write documents, or copy the schema, if that queries a collection that the key may not access. */
export const writable = (
  context: OperationContext,
  caller: Caller,
  name: string
): Effect.Effect<void, CollectionNotAllowed> =>
  Effect.suspend(() => {
    const collection = reachesEverything(caller) ? undefined : resolveCollection(context, name)
    return collection !== undefined && refersBeyond(caller, collection.schema) ? Effect.fail(beyond()) : Effect.void
  })
/** Refuses to delete documents if that deletes some of a collection that the key may not access. O(collections). */
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
