/** Names of the rules folder. */
export * from "./apply-to-plan.ts"
export { type RuleIssue } from "./body-reader.ts"
export * from "./check-rule-set.ts"
export { compileRules, type CompiledRules, type RuleContext } from "./compile-rules.ts"
export { queryWords } from "./condition-index.ts"
export * from "./match-rules.ts"
export * from "./matched-rules.ts"
export * from "./rule-set.ts"
