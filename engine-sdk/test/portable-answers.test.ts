/** An answer that was found in another thread is the one that would have been found here, its members in their places. */
import { expect, it } from "vitest"
import { packed, unpacked } from "../src/lane/portable.ts"
import type { SearchAnswer } from "../src/plan.ts"

it("keeps the places of an answer's members", () => {
  const answer = { facet_counts: [], found: 1, grouped_hits: [{ group_key: ["a"], found: 1, hits: [] }], hits: [], out_of: 1, request_params: { collection_name: "c", first_q: "q", per_page: 1, q: "q" }, search_cutoff: false } as SearchAnswer
  const there = unpacked(packed<SearchAnswer>({ ok: true, value: answer }, {}))
  expect(JSON.stringify(there)).toBe(JSON.stringify({ ok: true, value: answer }))
})
