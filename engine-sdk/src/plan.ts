/**
 * A checked search: everything a caller wrote has been parsed, typed against the schema and bounded, so an engine only
 * executes it. `query/compile-search.ts` is the only producer; engines, rules and tests are the consumers. No text of a
 * `filter_by`, `sort_by` or `facet_by` is passed beyond this point.
 */
import type { AnswerBudget } from "./budget/answer-budget.ts"
import type { DirtyValues, Document, ScalarType, WriteAction } from "./schema.ts"
import type { Filter } from "./filter.ts"

// ---- text ----------------------------------------------------------------------------------------------------------

export interface QueryField {
  readonly field: string
  /** 0..15, derived from the order of the given weights. Fields arrive sorted by weight, highest first. */
  readonly weight: number
  readonly numTypos: 0 | 1 | 2
  readonly prefix: boolean
  readonly infix: "off" | "always" | "fallback"
}

/**
 * One spelling of the query to look up: the original, or a synonym variant (zero typos,
 * `docs/contract/synonyms.md#expansion`).
 */
export interface TokenList {
  readonly tokens: ReadonlyArray<string>
}

/** One name of `query_by` as the relevance ranking indexes it: a field, or all fields that start with `prefix`. */
export interface RelevanceUnit {
  /** As written; also the name of its index. */ readonly name: string
  /** Set for wildcards and objects, whose fields count as one. */ readonly prefix?: string
  readonly locale: string
  /** 1 for the least heavy name. */ readonly weight: number
}
/** The named rankings over the relevance index (`relevance/`); raw requests keep the engine-compatible scoring. */
export interface RelevanceQuery {
  /** `bm25` is the baseline for measuring every gain of `relevance`. */ readonly ranking: "relevance" | "bm25"
  /** The query as written, without exclusions, quotation marks and stopwords of the request. */
  readonly text: string
  /** Other spellings from synonyms. */ readonly variants: ReadonlyArray<string>
  readonly units: ReadonlyArray<RelevanceUnit>
  /** Whether unknown words may be corrected. */ readonly corrects: boolean
  /** Whether the last word may be unfinished. */ readonly completes: boolean
  /** Whether documents without some of the words may match if few have all. */ readonly mayDropWords: boolean
}

export interface TextQuery {
  /** Set if a named ranking replaces the scoring and matching of words; phrases and exclusions stay as they are. */
  readonly relevance?: RelevanceQuery
  /** Ordered by weight. Never empty. */ readonly fields: ReadonlyArray<QueryField>
  /**
   * Analysed (and stemmed) with the analyzer of the highest-weighted field. Empty with phrases = only phrases were
   * given. Empty without phrases = every document except the excluded ones, each with text match 100 (only exclusions
   * were given, or a curation removed every word).
   */
  readonly tokens: ReadonlyArray<string>
  /** The same words before stemming, for highlighting; same length as `tokens`. */
  readonly surface: ReadonlyArray<string>
  readonly phrases: ReadonlyArray<ReadonlyArray<string>>
  readonly excluded: ReadonlyArray<ReadonlyArray<string>>
  readonly synonyms: ReadonlyArray<{
    readonly tokens: ReadonlyArray<string>
  }>
  readonly synonymPrefix: boolean
  readonly demoteSynonymMatch: boolean
  readonly textMatchType: "max_score" | "max_weight" | "sum_score"
  readonly prioritizeExactMatch: boolean
  readonly prioritizeTokenPosition: boolean
  readonly prioritizeNumMatchingFields: boolean
  readonly minLen1Typo: number
  readonly minLen2Typo: number
  readonly typoTokensThreshold: number
  readonly dropTokensThreshold: number
  readonly dropTokensMode:
    | { readonly kind: "right_to_left" | "left_to_right" }
    | { readonly kind: "both_sides"; readonly tokens_max: number }
  readonly splitJoinTokens: "off" | "fallback" | "always"
  readonly typosForNumericalTokens: boolean
  readonly typosForAlphaNumericalTokens: boolean
  /** undefined: 10 below 500,000 documents, else 4. */ readonly maxCandidates: number | undefined
  readonly exhaustive: boolean
  readonly maxExtraPrefix: number
  readonly maxExtraSuffix: number
}

// ---- vectors -------------------------------------------------------------------------------------------------------

/** Texts to embed, each with its weight (absent: equal weights), and how long a remote model may take. */
export interface QueryEmbedding {
  readonly texts: ReadonlyArray<string>
  readonly weights: ReadonlyArray<number>
  readonly timeout_ms: number
  readonly tries: number
}
export interface VectorQuery {
  readonly field: string
  readonly vector: ReadonlyArray<number> | undefined
  /** Use this document's vector and leave the document out. */ readonly likeId?: string
  /**
   * Texts (or one base64 image) that the host embeds into `vector` before the plan reaches an engine. Averaged, or
   * weighted if weights are given.
   */
  readonly embed?: QueryEmbedding
  readonly k: number
  readonly alpha: number
  readonly distanceThreshold: number | undefined
  readonly flatSearchCutoff: number
  readonly ef: number
  readonly rerankHybridMatches: boolean
}

// ---- sort, facets, groups ------------------------------------------------------------------------------------------

export type SortOrder = "asc" | "desc"
export type SortKey = { readonly order: SortOrder } & (
  | { readonly kind: "text_match"; readonly buckets?: number; readonly bucketSize?: number }
  | {
      readonly kind: "field"
      readonly field: string
      readonly type: ScalarType
      readonly missing: "normal" | "first" | "last"
      readonly decay?: Decay
    }
  | {
      readonly kind: "geo"
      readonly field: string
      readonly lat: number
      readonly lng: number
      readonly excludeRadius_m: number
      readonly precision_m: number
    }
  | { readonly kind: "eval"; readonly cases: ReadonlyArray<{ readonly filter: Filter; readonly score: number }> }
  | { readonly kind: "vector_distance"; readonly buckets?: number; readonly bucketSize?: number }
  | { readonly kind: "vector_query"; readonly query: VectorQuery }
  | { readonly kind: "group_found" }
  | { readonly kind: "random"; readonly seed: number }
  | { readonly kind: "seq" }
  /** The sum of all cases whose filter a document passes: boosts of rules add up. */
  | { readonly kind: "boosts"; readonly cases: ReadonlyArray<{ readonly filter: Filter; readonly score: number }> }
  /** Documents of the list in its order; all others after them. */
  | { readonly kind: "listed"; readonly ids: ReadonlyArray<string> }
  /** `$Collection(key)`: the best related value for the direction. */
  | { readonly kind: "join"; readonly collection: string; readonly key: SortKey }
)
export interface Decay {
  readonly func: "gauss" | "exp" | "linear" | "diff"
  readonly origin: number
  readonly scale: number
  readonly offset: number
  readonly decay: number
}

export interface FacetRequest {
  readonly field: string
  /** Half-open `[from, to)`, labelled; empty = by value. */
  readonly ranges: ReadonlyArray<{ readonly label: string; readonly from: number; readonly to: number }>
  readonly order:
    | { readonly kind: "count" }
    | { readonly kind: "alpha"; readonly order: SortOrder }
    | { readonly kind: "field"; readonly field: string; readonly order: SortOrder }
  readonly topK: boolean
  readonly strategy: "automatic" | "exhaustive" | "top_values"
  readonly returnParent: boolean
  /** Facet of a joined collection. */ readonly collection?: string
}
export interface FacetQuery {
  readonly field: string
  readonly text: string
  readonly tokens: ReadonlyArray<string>
  readonly numTypos: 0 | 1 | 2
}
export interface GroupRequest {
  readonly fields: ReadonlyArray<string>
  readonly limit: number
  readonly missingValues: boolean
}

// ---- what is shown -------------------------------------------------------------------------------------------------

/** The part of its document that a hit shows. Patterns may end in `*`; an empty `include` means everything. */
export interface Selection {
  readonly include: ReadonlyArray<string>
  readonly exclude: ReadonlyArray<string>
  readonly joins: ReadonlyArray<JoinInclude>
}
export interface JoinInclude {
  readonly collection: string
  readonly alias?: string
  readonly fields: ReadonlyArray<string>
  /** From `exclude_fields=$Collection(…)`. */ readonly exclude?: ReadonlyArray<string>
  readonly strategy: "nest" | "nest_array" | "merge"
  readonly relatedDocsCount?: string
  readonly sort?: ReadonlyArray<SortKey>
  readonly limit?: number
  readonly joins: ReadonlyArray<JoinInclude>
}
export interface HighlightRequest {
  /** Resolved field names; `explicit` when the caller named them. */ readonly fields: ReadonlyArray<string>
  readonly explicit: boolean
  readonly fullFields: ReadonlyArray<string>
  readonly affixTokens: number
  readonly snippetThreshold: number
  readonly startTag: string
  readonly endTag: string
  readonly v1: boolean
  /** Maximum size of one highlighted text, tags included. */ readonly bytes_max: number
}

// ---- what rules put into a list -------------------------------------------------------------------------------------

/**
 * A document that rules place whether or not it matches. It counts once in `found`, facets and paging and appears
 * nowhere else. If several have one position, the first in the plan gets it and the others the next free positions.
 */
export interface Injection {
  readonly kind: "pin" | "sponsored"
  /** With a filter: the best-ranked match that passes it, else the best document that does. */ readonly target:
    | { readonly id: string }
    | { readonly filter: Filter; readonly filter_by: string }
  /** From 1. */ readonly position: number
  /** It must pass `filter` (or `injectedFilter`); otherwise only `pinnedFilter`. */ readonly mustPassFilter: boolean
  readonly sponsored?: { readonly label: string; readonly campaign_id: string }
}

/** A search whose hits the caller reorders: all hits from the first, without pinned and injected ones. */
export interface WindowRequest {
  /** Number of hits, without pinned and injected ones. */ readonly size: number
  /** Read with `HitWindow.value`. */ readonly fields: ReadonlyArray<string>
}

export interface SearchPlan {
  /** The real name, with aliases resolved. */ readonly collection: string
  readonly text: TextQuery | undefined
  /** True when the query can match nothing (only stopwords were given, unknown fields with validation off). */
  readonly matchesNothing: boolean
  readonly vector: VectorQuery | undefined
  readonly filter: Filter | undefined
  /**
   * The keys in effect (`docs/contract/sorting.md#effective-keys`), at most 3; the final tie (newest first) is implied.
   */
  readonly sort: ReadonlyArray<SortKey>
  /** Keys of `sort`, from the first, that the request or a curation named; the others are defaults. */
  readonly givenSortKeys?: number
  readonly facets: ReadonlyArray<FacetRequest>
  readonly facetQuery: FacetQuery | undefined
  readonly facetValuesMax: number
  /** The approximation that the caller accepts; an engine may still count everything, as the embedded one does. */
  readonly facetSample: {
    readonly percent: number
    readonly threshold: number
  }
  readonly group: GroupRequest | undefined
  /**
   * By position. If several have one position, the first document that exists gets it and the others are not pinned.
   */
  readonly pinned: ReadonlyArray<{ readonly id: string; readonly position: number }>
  readonly hidden: ReadonlyArray<string>
  readonly filterCuratedHits: boolean
  /**
   * By precedence; set (even if empty) if rules of the collection act. The request's `hidden` does not apply to
   * documents that are named here.
   */
  readonly injected?: ReadonlyArray<Injection>
  /**
   * The filter that an injection with `mustPassFilter` must pass, if that is not `filter` (a fallback searches with
   * another one).
   */
  readonly injectedFilter?: Filter
  /** Requests `SearchAnswer.window` instead of the page; not with `group`. */ readonly window?: WindowRequest
  /**
   * The filter that a pinned document must pass even without `filterCuratedHits` (restrictions of a key); already part
   * of `filter`.
   */
  readonly pinnedFilter?: Filter
  /** Maximal marginal relevance requested by a curation item (`docs/contract/curation.md#diversity`). */
  readonly diversity:
    | {
        readonly lambda: number
        readonly metrics: ReadonlyArray<{
          readonly field: string
          readonly method: "equality" | "jaccard" | "vector_distance"
          readonly weight: number
        }>
      }
    | undefined
  readonly offset: number
  readonly limit: number
  /** Hits beyond this position are never returned. */ readonly hits_max: number
  readonly selection: Selection
  readonly highlight: HighlightRequest
  readonly cutoff_ms: number
  /** Known to take long: an engine that runs such searches elsewhere does not try it on the shared thread first. */
  readonly isLong?: boolean
  /**
   * The size limit of the answer, shared by all searches of a request; absent: no limit. A remote engine is asked for
   * no more than what is left.
   */
  readonly budget?: AnswerBudget
  /** `metadata` of the first matching curation. */ readonly metadata?: Record<string, unknown>
  /** Requests `SearchAnswer.corrections`. */ readonly corrects?: boolean
  /** Parameters that the answer repeats, and its paging. */
  readonly echo: {
    readonly q: string
    readonly per_page: number
    readonly page?: number
    readonly offset?: number
    readonly excludeOutOf: boolean
    readonly excludeSearchTime: boolean
  }
}

// ---- answers -------------------------------------------------------------------------------------------------------

/** A document's field as stages read it: vectors as they are indexed, everything else as it is stored. */
export type FieldValue = string | number | boolean | ReadonlyArray<string | number | boolean> | Float32Array

/** `text_match` is a 64-bit integer: bigint here, plain digits on the wire (`search/answer/answer-json.ts`). */
export interface Hit {
  document: Record<string, unknown>
  highlight: Record<string, unknown>
  highlights?: ReadonlyArray<Record<string, unknown>>
  text_match?: bigint
  /** Hits with the same score may share it. */ text_match_info?: TextMatchInfo
  curated?: true
  /** Placed there by a rule of the collection. */ pinned?: true
  sponsored?: { label: string; campaign_id: string }
  /**
   * Sum of boosts, if they are among the sort keys. Used by the pipeline, which removes it before the answer is sent.
   */
  boosts?: number
  geo_distance_meters?: Record<string, number>
  /** Distance from the point that a search is about, if its host defines one. */ distance_m?: number
  vector_distance?: number
  hybrid_search_info?: { rank_fusion_score: number }
  /** Union only. */ search_index?: number
  /** Union only. */ collection?: string
}
export interface TextMatchInfo {
  readonly score: string
  readonly tokens_matched: number
  readonly fields_matched: number
  readonly best_field_score: string
  readonly best_field_weight: number
  readonly num_tokens_dropped: number
  readonly typo_prefix_score: number
}
export interface FacetCount {
  field_name: string
  sampled: boolean
  counts: Array<{ value: string; highlighted: string; count: number; parent?: unknown; facet_filter?: string }>
  stats: { min?: number; max?: number; sum?: number; avg?: number; total_values: number }
}
/** A word of a query that matched only through typos, and the word it was taken for. */
export interface WordCorrection {
  /** In the form in which words are looked up, before stemming. */ readonly typed: string
  /** The word of the first hit that matched the typed word, in the same form. */ readonly indexed: string
}
export interface SearchAnswer {
  found: number
  found_docs?: number
  out_of?: number
  page?: number
  offset?: number
  hits?: Array<Hit>
  grouped_hits?: Array<{ group_key: Array<unknown>; found: number; hits: Array<Hit> }>
  facet_counts: Array<FacetCount>
  search_cutoff: boolean
  search_time_ms?: number
  request_params: { collection_name: string; first_q: string; per_page: number; q: string }
  metadata?: Record<string, unknown>
  /**
   * Number of documents that matched, without injected ones. Only if the plan has `injected`; removed before the answer
   * is sent.
   */
  organic?: number
  /** Only if the plan requested it; `hits` is then empty. Removed before sending. */ window?: HitWindow
  /**
   * Words that matched only through typos, if the plan `corrects` and there are any. For a key with restrictions
   * (`pinnedFilter`), documents that it cannot see do not count. Removed before the answer is sent. An engine that does
   * not know leaves it out.
   */
  corrections?: ReadonlyArray<WordCorrection>
}
/**
 * Hits before they are placed and paged. Documents, highlights and values are read on first access, from memory that
 * the engine may reuse once control has returned to the event loop, so call `keep` before awaiting anything.
 */
export interface HitWindow {
  readonly organic: ReadonlyArray<Hit>
  /** Ids of `organic`, whichever fields are shown. */ readonly ids: ReadonlyArray<string>
  /** Pinned and injected hits that exist and pass, each at a different position, ascending. */
  readonly injected: ReadonlyArray<{
    readonly id: string
    readonly hit: Hit
    /** From 1. */ readonly position: number
  }>
  /** A field of `organic[i]`; undefined if the document lacks it. */
  value(i: number, field: string): FieldValue | undefined
  /** A field of all hits together; undefined if that would read more than the hits that are examined. */
  column?(field: string): WindowColumn | undefined
  /** Reads now everything that may be read later: all hits, and the fields that the plan's `window` names. */
  keep(): void
  /** False if `keep` ran out of time: the reader then gives way, and the search runs elsewhere. */
  readonly isWhole?: boolean
}

/** A field of a window's hits with each value stored about once, so that processing a value is done once. */
export interface WindowColumn {
  /** undefined if there is no value. */ readonly values: ReadonlyArray<FieldValue | undefined>
  /** By hit: index in `values`. */ readonly places: Uint32Array
}

/** Union (`docs/contract/search.md#union`): one ranked list over several plans with the same sort shape. */
export interface UnionPlan {
  readonly plans: ReadonlyArray<SearchPlan>
  readonly removeDuplicates: boolean
  readonly offset: number
  readonly limit: number
  readonly hits_max: number
  readonly page?: number
  readonly echoOffset?: number
  /** Like `SearchPlan.window`, for the merged list. */ readonly window?: WindowRequest
}
export interface UnionAnswer {
  found: number
  out_of: number
  page?: number
  offset?: number
  hits?: Array<Hit>
  grouped_hits?: Array<{ group_key: Array<unknown>; found: number; hits: Array<Hit> }>
  search_cutoff: boolean
  search_time_ms: number
  /** As in `SearchAnswer`, by plan. */ organic?: ReadonlyArray<number>
  /** As in `SearchAnswer`. */ window?: HitWindow
  union_request_params: Array<{ collection_name: string; first_q: string; found: number; per_page: number; q: string }>
}

// ---- writes --------------------------------------------------------------------------------------------------------

export type WriteOperation =
  /** `document` as parsed JSON, or one line of JSON text or bytes (import). */
  | {
      readonly kind: "put"
      readonly action: WriteAction
      readonly dirtyValues: DirtyValues | undefined
      readonly document: Document | string | Uint8Array
      /** The id in the path (PATCH). */ readonly id?: string
      /**
       * Reindexes what is stored under the id at that moment; of `document` only the id is used, so that a write in
       * between is not undone.
       */
      readonly rewrite?: boolean
    }
  | { readonly kind: "delete"; readonly id: string }
