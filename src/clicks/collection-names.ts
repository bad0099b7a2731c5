/** The names under which visitors search a collection: events and answered searches contain the one that was used. */
import { type OperationContext, resolveCollection } from "@dowser/engine-sdk/operations"

/** `name` (a collection or an alias), the collection's own name, and all its aliases. O(aliases). */
export const collectionNames = (context: OperationContext, name: string): ReadonlySet<string> => {
  const own = resolveCollection(context, name)?.schema.name ?? name
  const aliases = context.resources
    .list(context.namespace, "alias")
    .filter(({ collection_name }) => collection_name === own)
    .map((alias) => alias.name)
  return new Set([name, own, ...aliases])
}
