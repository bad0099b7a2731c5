/**
 * A rule set made ready under the schemas of the moment. Filters may reach into related collections, so a compiled set
 * remembers every schema it looked at: when one of them changes, the set is compiled again before the next search.
 */
import type { CollectionInfo, CollectionSchema } from "@dowser/engine-sdk"
import { type OperationContext, resolveCollection, searchResourcesOf } from "@dowser/engine-sdk/operations"
import { type FieldContext, fieldContextOf, parseFilter } from "@dowser/engine-sdk/query"
import { type CompiledRules, compileRules, type RuleSet } from "@dowser/engine-sdk/rules"

export interface CompiledFor {
  readonly rules: CompiledRules
  readonly schema: CollectionSchema
  /** Other collections that filters name; undefined for one that did not exist. */ readonly related: ReadonlyMap<
    string,
    CollectionSchema | undefined
  >
}

/** How filters of rules are read. A rule is its owner's word: no key's restriction holds for it. */
export const ruleFields = (
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

/** O(rules). */
export const compileFor = (context: OperationContext, collection: CollectionInfo, ruleSet: RuleSet): CompiledFor => {
  const related = new Map<string, CollectionSchema | undefined>()
  const fields = ruleFields(context, collection, (name, schema) => {
    related.set(name, schema)
  })
  return {
    rules: compileRules(ruleSet, { parseFilter: (text) => parseFilter(text, fields) }),
    schema: collection.schema,
    related
  }
}

/** O(related collections), which is none for nearly every set. */
export const isCurrent = (
  { related, schema }: CompiledFor,
  context: () => OperationContext,
  collection: CollectionInfo
): boolean => {
  if (schema !== collection.schema) return false
  for (const [name, known] of related) if (resolveCollection(context(), name)?.schema !== known) return false
  return true
}
