/** Every engine-plane operation, for a host that authenticates, calls and sends. */
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
  joinable,
  parseBody,
  ParsedBody,
  resolveCollection,
  type Answer,
  type Answered,
  type AnsweredSearch,
  type Body,
  type Caller,
  type Merchandising,
  type OperationContext,
  type QueryParameters,
  type SearchMerchandise,
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
export {
  mergeSearchParameters,
  multiSearch,
  multiSearchesLimit,
  planSearch,
  readMultiSearch,
  resultsText,
  search,
  searchMany,
  type MultiSearch
} from "./search.ts"
export { synonymSets } from "./synonym-sets.ts"
export type { NamedSetOperations } from "./named-sets.ts"
export * from "./text-resources.ts"
export { AnswerBudget, AnswerRefused } from "../search/answer-budget.ts"
