/** A rule set compiled under the current schemas. */
import type { CollectionInfo, CollectionSchema } from "@dowser/engine-sdk"
import type { OperationContext } from "@dowser/engine-sdk/operations"
import { parseFilter } from "@dowser/engine-sdk/query"
import { type CompiledRules, compileRules, type RuleSet } from "@dowser/engine-sdk/rules"
import { ownedFields, type SeenSchemas } from "../engine-plane/owned-fields.ts"

export interface CompiledFor extends SeenSchemas {
  readonly rules: CompiledRules
}

/** O(rules). */
export const compileFor = (context: OperationContext, collection: CollectionInfo, ruleSet: RuleSet): CompiledFor => {
  const related = new Map<string, CollectionSchema | undefined>()
  const fields = ownedFields(context, collection, (name, schema) => {
    related.set(name, schema)
  })
  return {
    rules: compileRules(ruleSet, { parseFilter: (text) => parseFilter(text, fields) }),
    schema: collection.schema,
    related
  }
}
