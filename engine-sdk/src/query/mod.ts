/** Exports of the query folder for operations, hosts and rules. */
export { compileSearch } from "./compile-search.ts"
export { defaultSort, pinnedHits, stopwordTokens } from "./compiled-parts.ts"
export { compileUnion, unionPaging, SHARED_PAGING, type UnionPaging } from "./compile-union.ts"
export { printFilter } from "./print-filter.ts"
export { parseFilter, allOf, isClosedFilterText, joinFilterTexts } from "./filter-parser.ts"
export { parseSortClauses, resolveSort, type SortClause, type SortContext } from "./sort-parser.ts"
export { parseSelection } from "./selection-parser.ts"
export { parseFacets, parseFacetQuery } from "./facet-parser.ts"
export { parseVectorQuery } from "./vector-parser.ts"
export { applyPreset, fillGaps, textParameters, PARAMETER_OWNERS, type Parameters } from "./parameters.ts"
export { expandSynonyms } from "./synonym-expansion.ts"
export { parseQueryWords } from "./query-words.ts"
export { fieldContextOf, fieldNamed, searchableFields, areRelated, DEFAULT_LIMITS } from "./query-context.ts"
export { covers, joinedFields, type FieldList, type FieldNames } from "./field-list.ts"
export type {
  CurationItem,
  CurationRule,
  CurationSet,
  FieldContext,
  Preset,
  QueryLimits,
  SearchContext,
  SearchResources,
  StopwordSet,
  SynonymItem,
  SynonymSet
} from "./query-context.ts"
