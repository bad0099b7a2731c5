/** Bodies that the fuzz test starts from (`test/program/fuzz.test.ts`), referring to its fixtures. */
import type { Seeds } from "../room.ts"

export const seeds: Seeds = {
  upsertSearchRule: [
    {
      exclusion_filter_by: "stock:>500",
      zero_hits_fallback: "popular",
      boosts: [{ filter_by: "tags:=t1", weight: 5 }],
      pins: [{ doc_id: "d5", position: 1, priority: 1 }],
      redirects: [{ query: "go", url: "/go", match: "exact" }],
      suggestions: [{ query: "t", suggestions: ["title"] }],
      diversity: [{ field: "title", max: 1 }],
      banners: [{ id: "b", content: { text: "x" } }],
      sponsored: [{ doc_id: "d7", position: 2, label: "Ad", campaign_id: "c" }],
      starts_at: "2026-01-01T00:00:00Z"
    },
    { pins: [{ doc_id: "d5", position: 1 }] },
    { zero_hits_fallback: "recommendations", fallback_model_id: "rec_1" },
    { redirects: [{ query: "x", url: "/x" }] }
  ],
  previewSearchRule: [
    {
      search: { q: "title", query_by: "title", filter_by: "stock:>1", sort_by: "stock:desc" },
      rules: { pins: [{ doc_id: "d5", position: 1 }], exclusion_filter_by: "stock:>10" },
      device: "mobile"
    },
    { search: { q: "*" } }
  ]
}
