/** A model's query to the live state: which events belong to its collection, and for which visitor they are read. */
import { type OperationContext, resolveCollection } from "@dowser/engine-sdk/operations"
import { collectionNames } from "../clicks/collection-names.ts"
import type { Ask } from "./live/messages.ts"
import { chainOf, listParameters } from "./params.ts"
import type { StoredModel } from "./schema.ts"

interface Asking {
  /** Newest last. */ readonly seeds: ReadonlyArray<string>
  /** The session, else the person; "" if unknown. */ readonly visitor: string
  /** User, else anonymous id; "" if unknown. */ readonly person: string
  /** Unix milliseconds. */ readonly now: number
  /** Candidates requested from each link of its chain. */ readonly most: number
}

/** O(aliases). */
export const askOf = (context: OperationContext, model: StoredModel, asking: Asking): Ask => {
  const info = resolveCollection(context, model.collection)
  const own = info?.schema.name ?? model.collection
  return {
    ...asking,
    organizationId: context.namespace,
    collections: [own, ...[...collectionNames(context, model.collection)].filter((name) => name !== own)],
    since: (info?.created_at ?? 0) * 1_000,
    chain: chainOf(model.type),
    parameters: listParameters(model.metrics?.parameters ?? model.params, model.type)
  }
}
/** Whether the model belongs to the collection: it names it directly or by an alias. */
export const isOfCollection = (context: OperationContext, model: StoredModel, collection: string): boolean =>
  resolveCollection(context, model.collection)?.schema.name === collection
