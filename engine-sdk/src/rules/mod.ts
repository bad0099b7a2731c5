/** Names of the rules folder. */
export * from "./compile-rules.ts"
export * from "./matched-rules.ts"
export * from "./rule-set.ts"
