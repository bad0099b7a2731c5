/** A rule set made ready for matching: filters parsed once, conditions indexed. Immutable; compile again when the set or the schema changes. */
import type { Filter } from "../plan.ts"
import type { Result } from "../errors.ts"
import type { RuleSet } from "./rule-set.ts"

export interface RuleContext {
  /** The tree of a filter text under the collection's schema; undefined for an empty text. */ readonly parseFilter: (text: string) => Result<Filter | undefined>
}
export interface CompiledRules {
  readonly ruleSet: RuleSet
}
