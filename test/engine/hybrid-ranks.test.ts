/** Ranks that a hybrid search fuses (`docs/contract/vectors.md`). */
import { expect, it } from "vitest"
import { createLab, type Lab } from "../support/engine-lab.ts"

const lab = async (): Promise<Lab> => {
  const made = createLab()
  await made.collection(
    "c",
    [
      { name: "t", type: "string" },
      { name: "n", type: "int32" },
      { name: "v", type: "float[]", num_dim: 2, optional: true }
    ],
    [
      { id: "whole", t: "red oak", n: 3, v: [0, 1] },
      { id: "longer", t: "red oak table", n: 1, v: [0.1, 1] },
      { id: "one", t: "old oak", n: 2, v: [1, 0] },
      { id: "other", t: "tin box", n: 4, v: [1, 0.1] },
      { id: "bare", t: "red oak chair", n: 5 }
    ]
  )
  return made
}
const scores = async (from: Lab, parameters: Record<string, string>) => {
  const { body } = await from.search("c", { q: "red oak", query_by: "t", drop_tokens_threshold: "0", ...parameters })
  return Object.fromEntries(
    body.hits.map((hit: any) => [
      hit.document.id,
      [Number(hit.hybrid_search_info.rank_fusion_score.toFixed(4)), hit.text_match_info?.tokens_matched]
    ])
  )
}
const NEAR = "v:([1, 0], alpha: 0.5)"

it("ranks words by the requested sort, with adjacent equal scores sharing a rank", async () => {
  const made = await lab()
  // By score: first `whole`, then the two others on one rank.
  expect(await scores(made, { vector_query: NEAR })).toEqual({
    whole: [0.5 + 0.125, 2],
    bare: [0.25, 2],
    longer: [Number((0.25 + 0.5 / 3).toFixed(4)), 2],
    one: [0.5, 0],
    other: [0.25, 0]
  })
  // By `n`: `longer`, `whole`, `bare`; no adjacent scores are equal.
  expect(await scores(made, { vector_query: NEAR, sort_by: "n:asc" })).toEqual({
    longer: [Number((0.5 + 0.5 / 3).toFixed(4)), 2],
    one: [0.5, 0],
    whole: [0.25 + 0.125, 2],
    other: [0.25, 0],
    bare: [Number((0.5 / 3).toFixed(4)), 2]
  })
})
it("gives hits found only by vector the score of their words when hybrid matches are reranked", async () => {
  const made = await lab()
  // By words: whole, bare, longer (newest of equals first), one (which contains `oak`), other. By distance: bare, which
  // has no distance, comes first.
  expect(await scores(made, { vector_query: NEAR, rerank_hybrid_matches: "true" })).toEqual({
    whole: [0.5 + 0.1, 2],
    bare: [0.25 + 0.5, 2],
    longer: [Number((0.5 / 3 + 0.5 / 4).toFixed(4)), 2],
    one: [0.125 + 0.25, 1],
    other: [Number((0.1 + 0.5 / 3).toFixed(4)), 0]
  })
})
