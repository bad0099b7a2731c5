/**
 * What an engine supports, feature by feature: `exact` as the contract says, `approximate` (answered, and marked as
 * such), `composed` (the host builds it with this package from the engine's results) or `none` (refused, never
 * ignored).
 */
export type Capability =
  | "typo_candidates"
  | "prefix_typo"
  | "infix"
  | "token_dropping"
  | "text_score_values"
  | "exact_ties"
  | "facet_counts"
  | "distinct_values"
  | "group_totals"
  | "array_grouping"
  | "joins"
  | "geo_polygon"
  | "vector_index"
  | "radial_vector"
  | "hybrid"
  | "highlight"
  | "per_element_filters"
  | "stable_scan"
  | "by_filter_write_with_ids"
  | "conditional_write"
export type Grade = "exact" | "approximate" | "composed" | "none"
export interface Capabilities {
  readonly kind: string
  /** Searches block the calling thread until they are done, so sending several plans in one call saves nothing. */
  readonly searchesOnCaller?: boolean
  readonly grades: Readonly<Record<Capability, Grade>>
  readonly limits: {
    /** Deepest reachable hit. */ readonly window_max: number
    readonly filter_clauses_max: number
    readonly facet_values_max: number
    readonly batch_bytes_max: number
    readonly plans_per_trip_max: number
    /** Time after which a search sees an acknowledged write. */ readonly visible_after_ms: number
  }
}
