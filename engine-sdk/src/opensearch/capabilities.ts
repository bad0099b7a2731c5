/** Features that OpenSearch provides, that this package adds, and that are refused (`refusals.ts`). */
import type { Capabilities } from "../capabilities.ts"
import { WINDOW_MAX } from "./mapping.ts"

/** Maximum clauses of one query; the cluster's own default is 1,024. */
export const CLAUSES_MAX = 900
/** Maximum size of a write request to the cluster. */
export const BATCH_BYTES_MAX = 8 * 1_048_576
export const FACET_VALUES_MAX = 10_000
/** Maximum dimensions of one vector, the limit of the plugin's Lucene graphs. */
export const DIMENSIONS_MAX = 16_000

/**
 * Capabilities of a cluster whose nodes have the vector plugin.
 *
 * @example
 * ```ts
 * import { OPENSEARCH } from "@dowser/engine-sdk/opensearch"
 *
 * OPENSEARCH.grades.facet_counts // "exact"
 * ```
 */
export const OPENSEARCH: Capabilities = {
  kind: "opensearch",
  grades: {
    typo_candidates: "approximate",
    prefix_typo: "approximate",
    infix: "approximate",
    token_dropping: "approximate",
    text_score_values: "composed",
    exact_ties: "approximate",
    facet_counts: "exact",
    distinct_values: "approximate",
    group_totals: "approximate",
    array_grouping: "none",
    joins: "none",
    geo_polygon: "approximate",
    vector_index: "approximate",
    radial_vector: "approximate",
    hybrid: "approximate",
    highlight: "composed",
    per_element_filters: "none",
    stable_scan: "exact",
    by_filter_write_with_ids: "exact",
    conditional_write: "exact"
  },
  limits: {
    window_max: WINDOW_MAX,
    filter_clauses_max: CLAUSES_MAX,
    facet_values_max: FACET_VALUES_MAX,
    batch_bytes_max: 512 * 1_048_576,
    plans_per_trip_max: 50,
    visible_after_ms: 0
  }
}
export const OPENSEARCH_WITHOUT_VECTORS: Capabilities = {
  ...OPENSEARCH,
  grades: { ...OPENSEARCH.grades, vector_index: "none", radial_vector: "none", hybrid: "none" }
}
