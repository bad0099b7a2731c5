/** Public names of the package, nothing else. */
export * from "./capabilities.ts"
export * from "./engine.ts"
export * from "./errors.ts"
export * from "./plan.ts"
export * from "./schema.ts"
export { createEngine } from "./memory/create-engine.ts"
export { LocalEngine } from "./memory/local-engine.ts"
export { answerToJson } from "./search/answer-json.ts"
