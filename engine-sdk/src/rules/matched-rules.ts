/** What matched for one request: the result of `matchRules`, and all that later stages read of the rules. */
import type { Filter } from "../filter.ts"
import type { DiversityRule, RerankSettings, ZeroHitsFallback } from "./rule-set.ts"

export interface RuleRequest {
  readonly q: string
  /** As the caller wrote it; `filter_contains` searches this text. */ readonly filter_by?: string
  readonly device?: string
  readonly language?: string
  readonly country?: string
  /** Unix milliseconds. */ readonly now_ms: number
}
export type RuleKind =
  | "redirect"
  | "banner"
  | "suggestion"
  | "facet_suggestion"
  | "pin"
  | "sponsored"
  | "boost"
  | "exclusion"
  | "fallback"
  | "rerank"
  | "diversity"
export interface FiredRule {
  readonly kind: RuleKind
  /** Index in its list of the set; 0 if it is not in a list. */ readonly index: number
  readonly id?: string
  readonly why: string
}

export interface MatchedPin {
  readonly id: string
  readonly position: number
}
export interface MatchedSlot {
  /** The document, or the filter whose best hit is promoted. */ readonly target:
    | { readonly id: string }
    | { readonly filter: Filter; readonly filter_by: string }
  readonly position: number
  readonly label: string
  readonly campaign_id: string
}
export interface MatchedBoosts {
  readonly cases: ReadonlyArray<{ readonly filter: Filter; readonly score: number }>
  readonly overrideSort: boolean
}
export interface MatchedRules {
  /** False if the set is not for this time, device, language or country; everything else is then empty. */
  readonly active: boolean
  readonly redirect: { readonly url: string } | undefined
  /** By priority. */ readonly banners: ReadonlyArray<{
    readonly id: string
    readonly content: Readonly<Record<string, unknown>>
  }>
  readonly suggestions: ReadonlyArray<string>
  readonly facetSuggestions: { readonly fields: ReadonlyArray<string>; readonly limit: number } | undefined
  /** By priority, then as written. */ readonly pins: ReadonlyArray<MatchedPin>
  readonly sponsored: ReadonlyArray<MatchedSlot>
  readonly boosts: MatchedBoosts | undefined
  readonly exclusion: { readonly filter: Filter; readonly filter_by: string } | undefined
  readonly fallback: ZeroHitsFallback
  /** The model of the `recommendations` fallback. */ readonly fallbackModel: string
  readonly rerank: RerankSettings | undefined
  readonly diversity: ReadonlyArray<DiversityRule>
  readonly fired: ReadonlyArray<FiredRule>
}
