/**
 * The rule set of a collection in the API's form and with its names. `check-rule-set.ts` reports errors in a body;
 * `compile-rules.ts` prepares a set for searches.
 */

/**
 * `exact`: all words of the query. `partial`: a contiguous run of its words. `prefix`: the query starts with it. `any`:
 * every query.
 */
export type QueryMatch = "exact" | "partial" | "prefix" | "any"
export type ZeroHitsFallback = "none" | "drop_filters" | "popular" | "recommendations" | "semantic"
export type Device = "desktop" | "mobile" | "tablet" | "any"

/** Which queries a rule applies to. */
export interface QueryCondition {
  /** Compared by words, in lower case, with single spaces. Empty only with `any`. */ readonly query: string
  readonly match: QueryMatch
}
export interface FilterCondition {
  /** A verbatim part of the request's `filter_by`; empty: no condition. */ readonly filter_contains: string
}
/** The weights of matching boosts add up; hits with a higher sum come first. */
export interface Boost {
  readonly filter_by: string
  /** Fractions and negative weights are allowed. */ readonly weight: number
  readonly name: string
  readonly priority: number
}
export interface Pin extends QueryCondition, FilterCondition {
  readonly doc_id: string
  /** From 1. */ readonly position: number
  /** Lower first. */ readonly priority: number
}
export interface Redirect extends QueryCondition {
  readonly url: string
  readonly priority: number
}
export interface SuggestionRule extends QueryCondition {
  readonly suggestions: ReadonlyArray<string>
}
export interface FacetSuggestions {
  readonly fields: ReadonlyArray<string>
  /** Maximum values per field. */ readonly limit: number
}
export interface Banner extends QueryCondition, FilterCondition {
  readonly id: string
  readonly content: Readonly<Record<string, unknown>>
  readonly priority: number
}
/**
 * A slot that is paid for. With `filter_by`, the best-ranked hit that passes it is promoted (one document per slot);
 * without, `id` is the document.
 */
export interface SponsoredSlot extends QueryCondition {
  readonly id: string
  readonly filter_by: string
  readonly label: string
  readonly campaign_id: string
  /** From 1. */ readonly position: number
  /** Lower first. */ readonly priority: number
}
export interface NearDuplicate {
  readonly fields: ReadonlyArray<string>
  /** 0..1; documents count as similar from this value on, 1 = identical text. */ readonly threshold: number
}
export interface Mmr {
  /** 1 = relevance only. */ readonly lambda: number
  /** Empty: similarity by text. */ readonly vector_field: string
  readonly text_fields: ReadonlyArray<string>
  /** Number of positions that are picked; the other hits keep their order after them. */ readonly k: number
}
/**
 * One entry may contain any of the three. Entries act in order: near-duplicates of all entries first, then caps, then
 * MMR.
 */
export interface DiversityRule {
  /** Empty: no cap. */ readonly field: string
  /** Maximum hits per value of `field`; further ones move back. */ readonly max?: number
  /** Minimum number of different values of `field` on the first page. */ readonly min?: number
  /** First rank that is changed, from 1. */ readonly from: number
  readonly near_duplicate?: NearDuplicate
  readonly mmr?: Mmr
}
export interface RerankSettings {
  readonly enabled: boolean
  /** `none`, `linear`, or a model of the host. */ readonly model: string
  /** Number of first hits that are scored. */ readonly top_k: number
  readonly fields: ReadonlyArray<string>
  readonly timeout_ms: number
  /** With fewer hits, nothing is reranked. */ readonly min_hits: number
  readonly fallback: "engine_order" | "error"
}

export interface RuleSet {
  /** Documents that pass this filter are excluded from results. */ readonly exclusion_filter_by: string
  readonly zero_hits_fallback: ZeroHitsFallback
  readonly fallback_model_id: string
  readonly boosts: ReadonlyArray<Boost>
  readonly boosts_override_sort: boolean
  readonly pins: ReadonlyArray<Pin>
  readonly diversity: ReadonlyArray<DiversityRule>
  readonly redirects: ReadonlyArray<Redirect>
  readonly suggestions: ReadonlyArray<SuggestionRule>
  readonly facet_suggestions: FacetSuggestions
  /** ISO 8601; absent = no start. The set is active from this instant on. */ readonly starts_at?: string
  /** ISO 8601; absent = no end. From this instant on, the set is inactive. */ readonly ends_at?: string
  readonly device: Device
  /** Empty = every language; `en` also matches `en-GB`. */ readonly language: string
  /** Empty = every country. */ readonly country: string
  readonly banners: ReadonlyArray<Banner>
  readonly sponsored: ReadonlyArray<SponsoredSlot>
  readonly rerank: RerankSettings
}

/**
 * Positions that MMR picks if the rule does not say.
 *
 * @example
 * ```ts
 * import { MMR_POSITIONS, type Mmr } from "@dowser/engine-sdk/rules"
 *
 * const rule: Mmr = { lambda: 0.7, vector_field: "", text_fields: ["title"], k: MMR_POSITIONS }
 * ```
 */
export const MMR_POSITIONS = 50
/**
 * Reranking if a rule set does not mention it: disabled.
 *
 * @example
 * ```ts
 * import { defaultRerank } from "@dowser/engine-sdk/rules"
 *
 * const settings = { ...defaultRerank, enabled: true, top_k: 100 }
 * ```
 */
export const defaultRerank: RerankSettings = {
  enabled: false,
  model: "linear",
  top_k: 50,
  fields: [],
  timeout_ms: 50,
  min_hits: 2,
  fallback: "engine_order"
}
/**
 * The empty rule set: it leaves searches unchanged.
 *
 * @example
 * ```ts
 * import { emptyRuleSet, type RuleSet } from "@dowser/engine-sdk/rules"
 *
 * const rules: RuleSet = { ...emptyRuleSet, exclusion_filter_by: "in_stock:false" }
 * ```
 */
export const emptyRuleSet: RuleSet = {
  exclusion_filter_by: "",
  zero_hits_fallback: "none",
  fallback_model_id: "",
  boosts: [],
  boosts_override_sort: false,
  pins: [],
  diversity: [],
  redirects: [],
  suggestions: [],
  facet_suggestions: { fields: [], limit: 10 },
  device: "any",
  language: "",
  country: "",
  banners: [],
  sponsored: [],
  rerank: defaultRerank
}
