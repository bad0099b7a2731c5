/**
 * The merchandising rules of one collection: checked when they are written, and compiled for the schema at the time of
 * a search.
 */
import { fail, ok, type Result } from "../errors.ts"
import type { Filter } from "../filter.ts"
import { fieldNamed } from "../query/query-context.ts"
import { checkRuleSet, compileRules, type CompiledRules, type RuleSet } from "../rules/mod.ts"
import type { CollectionSchema } from "../schema.ts"
import type { RulesRefused } from "./failure.ts"

/**
 * A rule set as a program writes it: omitted members get their defaults; required ones that are missing are refused,
 * with their path.
 */
export type Rules = Written<RuleSet>
type Written<T> = unknown extends T
  ? T
  : T extends string | number | boolean | undefined
    ? T
    : T extends ReadonlyArray<infer E>
      ? ReadonlyArray<Written<E>>
      : { readonly [K in keyof T]?: Written<T[K]> }

/** Parses filter texts in rules under the collection's fields, with a cache. */
export type ParseRuleFilter = (text: string) => Result<Filter | undefined>

/**
 * As long as the collection has no fields, filters and names are accepted unchecked; a rule whose filter never parses
 * never applies.
 */
export const checkedRules = (
  rules: Rules,
  schema: CollectionSchema | undefined,
  parseFilter: ParseRuleFilter
): Result<RuleSet, RulesRefused> => {
  const checked = checkRuleSet(
    rules,
    schema === undefined
      ? { parseFilter: () => ok(undefined) }
      : { parseFilter, hasField: (name) => fieldNamed(schema, name) !== undefined }
  )
  if (checked.ok) return checked
  const [{ message, path }] = checked.issues
  return fail({
    kind: "RulesRefused",
    issues: checked.issues,
    message: `${checked.issues.length} of the rules' fields are wrong; the first: ${path === "" ? "the rules" : `\`${path}\``} ${message}`
  })
}

/** Compiles once per schema: O(rules) after a change, no cost otherwise. */
export class CollectionRules {
  readonly #ruleSet: RuleSet
  #compiled: { readonly schema: CollectionSchema; readonly rules: CompiledRules } | undefined
  constructor(ruleSet: RuleSet) {
    this.#ruleSet = ruleSet
  }
  for(schema: CollectionSchema, parseFilter: ParseRuleFilter): CompiledRules {
    if (this.#compiled?.schema !== schema)
      this.#compiled = { schema, rules: compileRules(this.#ruleSet, { parseFilter }) }
    return this.#compiled.rules
  }
}
