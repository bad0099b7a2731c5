/**
 * Replaces an engine that another process has: it contains nothing and cannot be written to. Requests do not get this
 * far (`src/implemented.ts` answers them); internal callers get an error that the engine is unavailable.
 */
import { type Capabilities, fail, ok, type SearchEngine } from "@dowser/engine-sdk"

export const engineAbsence =
  "This process runs without a search engine (--engine none); send the request to the process that has it."

const refused = () => fail({ kind: "Unavailable" as const, message: engineAbsence })

const grades: Capabilities["grades"] = {
  typo_candidates: "none",
  prefix_typo: "none",
  infix: "none",
  token_dropping: "none",
  text_score_values: "none",
  exact_ties: "none",
  facet_counts: "none",
  distinct_values: "none",
  group_totals: "none",
  array_grouping: "none",
  joins: "none",
  geo_polygon: "none",
  vector_index: "none",
  radial_vector: "none",
  hybrid: "none",
  highlight: "none",
  per_element_filters: "none",
  stable_scan: "none",
  by_filter_write_with_ids: "none",
  conditional_write: "none"
}

export const noEngine: SearchEngine = {
  capabilities: () => ({
    kind: "none",
    grades,
    limits: {
      window_max: 0,
      filter_clauses_max: 0,
      facet_values_max: 0,
      batch_bytes_max: 0,
      plans_per_trip_max: 0,
      visible_after_ms: 0
    }
  }),
  createCollection: async () => refused(),
  alterCollection: async () => refused(),
  dropCollection: async () => refused(),
  listCollections: () => [],
  describeCollection: () => undefined,
  write: async () => refused(),
  search: (_, plans) => plans.map(refused),
  union: refused,
  scan: refused,
  get: refused,
  usage: () => undefined,
  // Healthy, because this process was started without an engine on purpose.
  health: () => ok({ ok: true }),
  close: async () => {}
}
