/** Fusion of scores: how `ranking=relevance` combines words and vectors. */
import { expect, it } from "vitest"
import { createLab } from "../support/engine-lab.ts"

const fields = [
  { name: "t", type: "string" },
  { name: "v", type: "float[]", num_dim: 2, optional: true }
]
const documents = [
  { id: "both", t: "red oak", v: [1, 0.2] },
  { id: "words", t: "red oak oak", v: [0, 1] },
  { id: "bare", t: "red oak chair that is quite long and says little of either" },
  { id: "near", t: "tin box", v: [1, 0] },
  { id: "far", t: "tin can", v: [-1, 0] }
]
const lab = async (more: ReadonlyArray<object> = []) => {
  const made = createLab()
  await made.collection("c", fields, [...documents, ...more])
  return made
}
type Lab = Awaited<ReturnType<typeof lab>>
const asked = { q: "red oak", query_by: "t", ranking: "relevance", drop_tokens_threshold: 0, per_page: 250 }
const found = async (from: Lab, alpha: number, more: Record<string, string | number> = {}) => {
  const { body } = await from.search("c", { ...asked, vector_query: `v:([1, 0], alpha: ${alpha}, k: 2)`, ...more })
  return body.hits.map((hit: any) => [
    hit.document.id,
    Number(hit.hybrid_search_info.rank_fusion_score.toFixed(4)),
    hit.vector_distance === undefined ? undefined : Number(hit.vector_distance.toFixed(4))
  ])
}

it("mixes scores that are scaled over the hits of both", async () => {
  const made = await lab()
  const words = (await made.search("c", asked)).body.hits.map((hit: any) => [hit.document.id, hit.text_match])
  const scoreOf = new Map<string, number>(words)
  const [most, least] = [words[0][1], words.at(-1)[1]]
  const scaled = (id: string) => (scoreOf.has(id) ? (scoreOf.get(id)! - least) / (most - least) : 0)
  // Distances scaled from 0 for the nearest to 1 for the farthest hit that the words found.
  const near = 1 - 1 / Math.hypot(1, 0.2)
  const nearness: Record<string, number> = { near: 1, both: 1 - near, words: 0, bare: 0 }
  const distances: Record<string, number> = { near: 0, both: near, words: 1 }
  for (const alpha of [0, 0.23, 0.5, 1]) {
    const expected = Object.keys(nearness).map((id): [string, number, number | undefined] => [
      id,
      Number(((1 - alpha) * scaled(id) + alpha * nearness[id]!).toFixed(4)),
      distances[id] === undefined ? undefined : Number(distances[id].toFixed(4))
    ])
    const answer = await found(made, alpha)
    expect(new Set(answer.map(String))).toEqual(new Set(expected.map(String)))
    expect(answer.map(([, score]: [string, number]) => score)).toEqual(
      expected.map(([, score]) => score).sort((a, b) => b - a)
    )
  }
})
it("keeps the order by words after the hundred that compete", async () => {
  const more = Array.from({ length: 150 }, (_, i) => ({
    id: `w${i}`,
    t: `red oak ${"filling ".repeat(i)}`,
    v: [-1, i % 2 === 0 ? 0.5 : -0.5]
  }))
  const made = await lab(more)
  const words: ReadonlyArray<string> = (await made.search("c", asked)).body.hits.map((hit: any) => hit.document.id)
  const answer = await found(made, 0.5)
  const ids: ReadonlyArray<string> = answer.map(([id]: [string]) => id)
  expect([...ids].sort()).toEqual([...words, "near"].sort())
  const behind = words.slice(100)
  expect(ids.slice(-behind.length)).toEqual(behind)
  expect(answer.slice(-behind.length).every(([, score, distance]: any) => score <= 0 && distance === undefined)).toBe(
    true
  )
})
it("ranks by vectors alone what no word finds, and by words if no document has a vector", async () => {
  const made = await lab()
  expect((await found(made, 0.23, { q: "zzzz" })).map(([id]: [string]) => id)).toEqual(["near", "both"])
  const bare = createLab()
  await bare.collection("c", fields, [
    { id: "1", t: "red oak" },
    { id: "2", t: "red oak red oak tree" }
  ])
  const plain = (await bare.search("c", asked)).body.hits.map((hit: any) => hit.document.id)
  expect((await found(bare, 0.5)).map(([id]: [string]) => id)).toEqual(plain)
})

it("gives vectors more weight when less of the query is matched by words", async () => {
  const made = await lab()
  const scoreOf = async (q: string) => {
    const scores = new Map((await found(made, 0.5, { q })).map(([id, score]: [string, number]) => [id, score]))
    return scores.get("words")
  }
  // The best by words is the farthest in the pool, so its score is the words' share alone.
  expect(await scoreOf("oak")).toBe(0.5)
  expect(await scoreOf("oak qqqqq")).toBe(0.25)
  expect(await scoreOf("oakk")).toBe(0.5)
})
