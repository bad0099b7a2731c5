/** Features that a Typesense API server has as the contract says, and those that are refused (`refusals.ts`). */
import type { Capabilities } from "../capabilities.ts"

/**
 * The capabilities of a server of the Typesense API.
 *
 * @example
 * ```ts
 * import { TYPESENSE } from "@dowser/engine-sdk/typesense"
 *
 * TYPESENSE.grades.joins // "exact"
 * ```
 */
export const TYPESENSE: Capabilities = {
  kind: "http",
  grades: {
    typo_candidates: "exact",
    prefix_typo: "exact",
    infix: "exact",
    token_dropping: "exact",
    text_score_values: "exact",
    exact_ties: "exact",
    facet_counts: "exact",
    distinct_values: "exact",
    group_totals: "exact",
    array_grouping: "exact",
    joins: "exact",
    geo_polygon: "exact",
    vector_index: "exact",
    radial_vector: "exact",
    hybrid: "exact",
    highlight: "exact",
    per_element_filters: "exact",
    stable_scan: "exact",
    by_filter_write_with_ids: "exact",
    conditional_write: "exact"
  },
  limits: {
    window_max: 1_000_000,
    filter_clauses_max: 100,
    facet_values_max: 10_000,
    batch_bytes_max: 512 * 1_048_576,
    plans_per_trip_max: 50,
    visible_after_ms: 0
  }
}
