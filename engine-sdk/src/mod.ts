/** The public names of the package, and nothing else. */
export * from "./capabilities.ts"
export type { Rules } from "./collection/collection-rules.ts"
export { createSearch, type CreateSearchOptions, type Search } from "./collection/create-search.ts"
export type { DocumentOf, FieldSpec, FieldSpecs, Given, Stored, ValueOf } from "./collection/document-types.ts"
export {
  SearchError,
  type DocumentsRefused,
  type OptionalPackageMissing,
  type RulesRefused,
  type SearchFailure
} from "./collection/failure.ts"
export type {
  FacetName,
  FacetValue,
  FieldName,
  SearchHit,
  SearchOptions,
  SearchPage
} from "./collection/search-options.ts"
export * from "./engine.ts"
export * from "./errors.ts"
export type { KeepLimits, KeptThing } from "./keep-limits.ts"
export * from "./memory/mod.ts"
export { memoryResources, type Resources } from "./operations/resources.ts"
export { PackageMissing } from "./optional-package.ts"
export * from "./filter.ts"
export * from "./plan.ts"
export * from "./schema.ts"
export { answerToJson } from "./search/answer/answer-json.ts"
