/**
 * What a compiler may know about its environment: schemas of this namespace, named resources, the clock and limits.
 * Everything is read synchronously; the only engine query is `matchesAny`.
 */
import type { Result } from "../errors.ts"
import { analyzerOf, type Analyzer } from "../analysis/mod.ts"
import type { Filter } from "../filter.ts"
import type { AnswerBudget } from "../budget/answer-budget.ts"
import type { CollectionInfo, CollectionSchema, Field } from "../schema.ts"
import { covers, joinedFields, visibleCollection, type FieldList } from "./field-list.ts"

export interface SynonymItem {
  readonly id: string
  readonly root: string
  readonly synonyms: ReadonlyArray<string>
  readonly locale?: string
  readonly symbols_to_index?: ReadonlyArray<string>
}
export interface SynonymSet {
  readonly name: string
  readonly items: ReadonlyArray<SynonymItem>
  readonly description?: string
}
export interface CurationRule {
  readonly query?: string
  readonly match?: string
  readonly filter_by?: string
  readonly tags?: ReadonlyArray<string>
  readonly synonyms?: boolean
  readonly stem?: boolean
  readonly stemming_dictionary?: string
}
export interface CurationItem {
  readonly id: string
  readonly rule?: CurationRule
  readonly includes: ReadonlyArray<{ readonly id: string; readonly position: number }>
  readonly excludes: ReadonlyArray<{ readonly id: string }>
  readonly filter_by?: string
  readonly sort_by?: string
  readonly replace_query?: string
  readonly remove_matched_tokens: boolean
  readonly filter_curated_hits: boolean
  readonly stop_processing: boolean
  readonly effective_from_ts?: number
  readonly effective_to_ts?: number
  readonly metadata?: Record<string, unknown>
  readonly diversity?: {
    readonly similarity_metric: ReadonlyArray<{
      readonly field: string
      readonly method: string
      readonly weight?: number
    }>
  }
}
export interface CurationSet {
  readonly name: string
  readonly items: ReadonlyArray<CurationItem>
  readonly description?: string
}
export interface StopwordSet {
  readonly id: string
  readonly stopwords: ReadonlyArray<string>
  readonly locale?: string
}
export interface Preset {
  readonly name: string
  readonly value: unknown
}

/** Named resources of one namespace, as a consistent snapshot for one request. */
export interface SearchResources {
  readonly preset: (name: string) => Preset | undefined
  readonly stopwords: (name: string) => StopwordSet | undefined
  readonly synonymSet: (name: string) => SynonymSet | undefined
  readonly curationSet: (name: string) => CurationSet | undefined
  readonly stemmingDictionary: (name: string) => ReadonlyMap<string, string> | undefined
}
/**
 * Limits of one search, which a host sets from its callers' plans. Pass the same object for the same limits, because
 * plan templates are cached by it.
 */
export interface QueryLimits {
  readonly per_page_max: number
  readonly group_limit_max: number
  readonly filter_operations_max: number
  readonly sort_fields_max: number
  readonly query_fields_max: number
  /**
   * For a search without `search_cutoff_ms`, and the maximum that a search may set; larger values are lowered to it.
   */
  readonly cutoff_ms_default: number
  readonly cutoff_ms_max: number
  /** Maximum entries of a list parameter (`include_fields`, `pinned_hits`, `synonym_sets`, facet ranges). */
  readonly list_items_max: number
  /** Maximum values in all comparisons of a filter together. */ readonly filter_values_max: number
  /** Maximum words of `q` that are searched; the rest is dropped. */ readonly query_words_max: number
  /** Maximum bytes of an answer, or of all answers of a multi-search together. */ readonly answer_bytes_max: number
}
export const DEFAULT_LIMITS: QueryLimits = {
  per_page_max: 250,
  group_limit_max: 99,
  filter_operations_max: 100,
  sort_fields_max: 3,
  query_fields_max: 100,
  cutoff_ms_default: 4_000,
  cutoff_ms_max: 10_000,
  list_items_max: 1_000,
  filter_values_max: 10_000,
  query_words_max: 200,
  answer_bytes_max: 64_000_000
}

export interface SearchContext {
  readonly collection: CollectionInfo
  /** A collection by name or alias, for joins. */ readonly collectionOf: (name: string) => CollectionInfo | undefined
  readonly resources: SearchResources
  /** Unix seconds, for the time windows of curation items. */ readonly now_s: number
  /** Whether any document passes a filter; placeholders of curation rules use this to check facet values. */
  readonly matchesAny: (filter: Filter) => boolean
  /** AND-ed to the parsed filter as a tree: limits a caller cannot see or undo. */ readonly forcedFilter?: Filter
  readonly limits?: Partial<QueryLimits>
  /** Fields that the caller may name and see, in every collection; undefined = all (`field-list.ts`). */
  readonly fields?: FieldList
  /** One per request; plans carry it. */ readonly budget?: AnswerBudget
  /** One per request; long filters that its searches share are parsed once. */ readonly filters?: KnownFilters
}
/** Parsed filters, by schema and by everything else that affects parsing; one cache per caller. */
export type KnownFilters = Map<CollectionSchema, Map<string, Result<Filter | undefined>>>

/** The part of the context that filters, sorts and facets need, for one schema. */
export interface FieldContext {
  readonly schema: CollectionSchema
  readonly collectionOf: (name: string) => CollectionInfo | undefined
  readonly analyzer: (schema: CollectionSchema, field: Field) => Analyzer
  readonly validateFieldNames: boolean
  readonly filterOperationsMax: number
  /** Default: as in `DEFAULT_LIMITS`. */ readonly filterValuesMax?: number
  readonly listItemsMax?: number
  /** Number of values in all comparisons of the expression being parsed, including the joins inside it. */
  readonly filterValues?: {
    count: number
  }
  readonly prefixCandidates: number
  /** Whether the caller may not name documents by their id. */ readonly hidesIds?: boolean
  /** The same for a joined collection. */ readonly hidesIdsOf?: (collection: string) => boolean
}
export const fieldNamed = (schema: CollectionSchema, name: string): Field | undefined => {
  let names = fieldNames.get(schema)
  if (names === undefined) {
    names = new Map()
    // A detected field replaces the dynamic definition with the same name.
    for (const field of schema.fields)
      if (!names.has(field.name) || field.detected === true) names.set(field.name, field)
    fieldNames.set(schema, names)
  }
  const field = names.get(name)
  return field === undefined || field.name.includes(".*") || field.type === "auto" || field.type === "string*"
    ? undefined
    : field
}
const fieldNames = new WeakMap<CollectionSchema, Map<string, Field>>()
export const searchableFields = (schema: CollectionSchema): ReadonlyArray<Field> =>
  schema.fields.filter((field) => fieldNamed(schema, field.name) === field)

export const fieldContextOf = (
  collection: CollectionInfo,
  context: Pick<SearchContext, "collectionOf" | "limits" | "fields"> & {
    readonly resources: Pick<SearchResources, "stemmingDictionary">
  },
  validateFieldNames: boolean,
  prefixCandidates: number
): FieldContext => ({
  schema: visibleCollection(collection, context.fields).schema,
  collectionOf: context.fields === undefined ? context.collectionOf : joinedView(context.collectionOf, context.fields),
  analyzer: (schema, field) => analyzerOf(schema, field, context.resources.stemmingDictionary),
  validateFieldNames,
  filterOperationsMax: context.limits?.filter_operations_max ?? DEFAULT_LIMITS.filter_operations_max,
  filterValuesMax: context.limits?.filter_values_max,
  listItemsMax: context.limits?.list_items_max,
  prefixCandidates,
  hidesIds: context.fields !== undefined && !covers(context.fields, "id"),
  ...(context.fields === undefined ? {} : { hidesIdsOf: hidesIdsOf(context.fields) })
})

const joinedView =
  (collectionOf: FieldContext["collectionOf"], fields: FieldList): FieldContext["collectionOf"] =>
  (name) => {
    const other = collectionOf(name)
    return other === undefined ? undefined : visibleCollection(other, joinedFields(fields, other.schema.name))
  }
const hidesIdsOf =
  (fields: FieldList) =>
  (collection: string): boolean =>
    !covers(joinedFields(fields, collection), "id")

/** Whether either of two collections refers to the other. */
export const areRelated = (a: CollectionSchema, b: CollectionSchema): boolean =>
  refersTo(a, b.name) || refersTo(b, a.name)
/** Whether a field of the schema refers to the collection. */
export const refersTo = (schema: CollectionSchema, name: string): boolean =>
  schema.fields.some(
    (field) =>
      (field.reference !== "" && field.reference.slice(0, field.reference.lastIndexOf(".")) === name) ||
      field.reference.startsWith(`${name}.`)
  )
