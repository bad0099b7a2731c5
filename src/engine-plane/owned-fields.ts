/**
 * How expressions in a tenant's own configuration (rules, profiles) are parsed. They come from the owner, so no key's
 * restriction applies to them. They may refer to related collections, so compiled expressions record every schema
 * they used: when one of them changes, they are compiled again before the next search.
 */
import type { CollectionInfo, CollectionSchema } from "@dowser/engine-sdk"
import { type OperationContext, resolveCollection, searchResourcesOf } from "@dowser/engine-sdk/operations"
import { type FieldContext, fieldContextOf } from "@dowser/engine-sdk/query"

/** The schemas with which something was compiled. */
export interface SeenSchemas {
  readonly schema: CollectionSchema
  /** Other collections named in expressions; undefined for one that did not exist. */ readonly related: ReadonlyMap<
    string,
    CollectionSchema | undefined
  >
}

export const ownedFields = (
  context: OperationContext,
  collection: CollectionInfo,
  onRelated: (name: string, schema: CollectionSchema | undefined) => void = () => {}
): FieldContext =>
  fieldContextOf(
    collection,
    {
      collectionOf: (name) => {
        const found = resolveCollection(context, name)
        onRelated(name, found?.schema)
        return found
      },
      limits: context.limits,
      resources: searchResourcesOf(context.resources, context.namespace)
    },
    true,
    4
  )

/** O(related collections); nearly always there are none. */
export const isCurrent = (
  { related, schema }: SeenSchemas,
  context: () => OperationContext,
  collection: CollectionInfo
): boolean => {
  if (schema !== collection.schema) return false
  for (const [name, known] of related) if (resolveCollection(context(), name)?.schema !== known) return false
  return true
}
