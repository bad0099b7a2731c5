/**
 * The rule set of a collection in the API's form, with its names. `check-rule-set.ts` reports errors in a body;
 * `compile-rules.ts` makes a set ready for searches.
 */

/**
 * `exact`: all words of the query. `partial`: a contiguous run of them. `prefix`: what the query begins with. `any`:
 * every query.
 */
export type QueryMatch = "exact" | "partial" | "prefix" | "any"
export type ZeroHitsFallback = "none" | "drop_filters" | "popular" | "recommendations" | "semantic"
export type Device = "desktop" | "mobile" | "tablet" | "any"

/** Which queries a rule is for. */
export interface QueryCondition {
  /** Compared by words, lower case, with single spaces. Empty only with `any`. */ readonly query: string
  readonly match: QueryMatch
}
export interface FilterCondition {
  /** A verbatim part of the request's `filter_by`; empty asks nothing. */ readonly filter_contains: string
}
/** Weights of matching boosts add up; the higher sum first. */
export interface Boost {
  readonly filter_by: string
  /** Fractions and negative weights are fine. */ readonly weight: number
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
  /** Values per field. */ readonly limit: number
}
export interface Banner extends QueryCondition, FilterCondition {
  readonly id: string
  readonly content: Readonly<Record<string, unknown>>
  readonly priority: number
}
/**
 * A slot that is paid for. With `filter_by` the best-ranked hit that passes it is promoted (one document a slot);
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
  /** 0..1; similar from here on, 1 = identical text. */ readonly threshold: number
}
export interface Mmr {
  /** 1 = relevance only. */ readonly lambda: number
  /** Empty: by text. */ readonly vector_field: string
  readonly text_fields: ReadonlyArray<string>
  /** Positions that are picked; the rest keep their order behind them. */ readonly k: number
}
/**
 * One entry may hold any of the three; entries act in their order, near-duplicates of all entries first, then caps,
 * then MMR.
 */
export interface DiversityRule {
  /** Empty: no cap. */ readonly field: string
  /** Hits per value of `field`; those over it move behind. */ readonly max?: number
  /** Different values of `field` within the first page. */ readonly min?: number
  /** First rank that is touched, from 1. */ readonly from: number
  readonly near_duplicate?: NearDuplicate
  readonly mmr?: Mmr
}
export interface RerankSettings {
  readonly enabled: boolean
  /** `none`, `linear`, or what the host offers. */ readonly model: string
  /** Hits from the first that are scored. */ readonly top_k: number
  readonly fields: ReadonlyArray<string>
  readonly timeout_ms: number
  /** With fewer hits nothing is reranked. */ readonly min_hits: number
  readonly fallback: "engine_order" | "error"
}

export interface RuleSet {
  /** Documents that pass it are not found. */ readonly exclusion_filter_by: string
  readonly zero_hits_fallback: ZeroHitsFallback
  readonly fallback_model_id: string
  readonly boosts: ReadonlyArray<Boost>
  readonly boosts_override_sort: boolean
  readonly pins: ReadonlyArray<Pin>
  readonly diversity: ReadonlyArray<DiversityRule>
  readonly redirects: ReadonlyArray<Redirect>
  readonly suggestions: ReadonlyArray<SuggestionRule>
  readonly facet_suggestions: FacetSuggestions
  /** ISO 8601; absent = since ever. The set acts from this instant on. */ readonly starts_at?: string
  /** ISO 8601; absent = for ever. The set no longer acts at this instant. */ readonly ends_at?: string
  readonly device: Device
  /** Empty = every language; `en` also holds for `en-GB`. */ readonly language: string
  /** Empty = every country. */ readonly country: string
  readonly banners: ReadonlyArray<Banner>
  readonly sponsored: ReadonlyArray<SponsoredSlot>
  readonly rerank: RerankSettings
}

/**
 * Positions that MMR picks where the rule does not say.
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
 * Reranking where a rule set does not mention it: off.
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
 * The empty rule set: searches pass it unchanged.
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
