/** Every engine-plane operation, for a host that authenticates callers, runs operations and sends the results. */
export * from "./collections.ts"
export { curationSets } from "./curation-sets.ts"
export {
  createDocument,
  deleteDocument,
  deleteDocuments,
  getDocument,
  updateDocument,
  updateDocuments
} from "./documents.ts"
export { exportDocuments, importDocuments, type ImportMemory } from "./import-export.ts"
export {
  parseBody,
  ParsedBody,
  resolveCollection,
  type Answer,
  type OperationResult,
  type Body,
  type OperationContext,
  type QueryParameters,
  type StreamAnswer
} from "./operation.ts"
export {
  memoryResources,
  searchResourcesOf,
  type Alias,
  type ResourceKind,
  type ResourceKinds,
  type Resources,
  type StemmingDictionary
} from "./resources.ts"
export { collectionMatches, filtersReach, forcedTextsOf, type ForcedFilters } from "./collection-names.ts"
export { type PlannedSearch, type PlannedUnion, type SearchMerchandise } from "./planned-search.ts"
export { planSearch, prepareSearch, prepareSearches, prepareUnion } from "./prepare-search.ts"
export {
  mergeSearchParameters,
  multiSearchesLimit,
  readMultiSearch,
  readSearch,
  readSearches,
  type MultiSearch,
  type SearchBounds,
  type SearchRequest
} from "./read-search.ts"
export { isRestriction, Reach, type Restrictions } from "./restrictions.ts"
export { isAway, runSearch, runSearches, runUnion, type Environment, type FoundAnswer } from "./run-search.ts"
export { multiSearch, search } from "./search.ts"
export { mayName, seenFieldsOf } from "./seen-fields.ts"
export { closed, type OpenObject, resultsText, writeAnswer, writeFailure } from "./write-answer.ts"
export { synonymSets } from "./synonym-sets.ts"
export { practiceSearches, type PractisingEngine, warmUp } from "./warm-up.ts"
export type { NamedSetOperations } from "./named-sets.ts"
export * from "./text-resources.ts"
export { leadingCounts } from "../search/answer/written.ts"
export { weigh } from "./answer-bound.ts"
export { AnswerBudget, AnswerRefused } from "../budget/answer-budget.ts"
