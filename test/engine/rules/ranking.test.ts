/** Ranking, as the reference engine's own tests assert it. The numbers in titles only count the rules. */
import { expect, it } from "vitest"
import { createLab } from "../../support/engine-lab.ts"

const documents = async (fields: ReadonlyArray<object>, values: ReadonlyArray<object>, more: object = {}) => {
  const lab = createLab()
  await lab.collection(
    "c",
    fields,
    values.map((value, i) => ({ id: String(i), ...value })),
    more
  )
  return lab
}
const ab = [
  { name: "a", type: "string" },
  { name: "b", type: "string" }
]

it("25: ties are newest first", async () => {
  const lab = await documents([ab[0]], [{ a: "oak" }, { a: "oak" }, { a: "oak" }])
  expect(await lab.ids("c", { q: "oak", query_by: "a" })).toEqual(["2", "1", "0"])
})
it("26: a verbatim value in a lower field wins under max_score, the higher field under max_weight", async () => {
  const lab = await documents(ab, [
    { a: "none", b: "oak table" },
    { a: "oak table set", b: "none" }
  ])
  expect((await lab.ids("c", { q: "oak table", query_by: "a,b", text_match_type: "max_score" }))[0]).toBe("0")
  expect((await lab.ids("c", { q: "oak table", query_by: "a,b", text_match_type: "max_weight" }))[0]).toBe("1")
})
it("27: more matched words in one stretch beat more fields", async () => {
  const far = "one two three four five six seven eight nine ten eleven twelve"
  const lab = await documents(ab, [
    { a: `ash ${far} birch ${far} cedar`, b: "none" },
    { a: "ash birch", b: "cedar ash" },
    { a: "ash birch cedar trees", b: "none" }
  ])
  expect((await lab.ids("c", { q: "ash birch cedar", query_by: "a,b" }))[0]).toBe("2")
})
it("28: words outside the window still count as matched", async () => {
  const far = Array.from({ length: 20 }, (_, i) => `w${i}`).join(" ")
  const lab = await documents(
    [ab[0]],
    [{ a: `Project ${far} Phoenix` }, { a: "Project Phoenix" }, { a: "Phoenix alone" }]
  )
  expect(await lab.ids("c", { q: "phoenix project", query_by: "a", drop_tokens_threshold: 10 })).toEqual([
    "1",
    "0",
    "2"
  ])
})
it("29: weights are order, not ratio, and weight 0 still matches", async () => {
  const lab = await documents(ab, [
    { a: "oak", b: "none" },
    { a: "none", b: "oak" }
  ])
  const scores = async (weights: string) =>
    (await lab.search("c", { q: "oak", query_by: "a,b", query_by_weights: weights })).body.hits.map(
      (hit: any) => hit.document.id
    )
  expect(await scores("100,1")).toEqual(await scores("2,1"))
  expect(await scores("1,100")).toEqual([...(await scores("2,1"))].reverse())
  expect((await scores("1,0")).length).toBe(2)
})
it("30: prioritize_token_position", async () => {
  const lab = await documents([ab[0]], [{ a: "ash birch" }, { a: "birch ash" }])
  expect(await lab.ids("c", { q: "ash", query_by: "a", prioritize_token_position: true })).toEqual(["0", "1"])
  expect(await lab.ids("c", { q: "ash", query_by: "a" })).toEqual(["1", "0"])
})
it("31: prioritize_num_matching_fields=false: two fields score like one", async () => {
  const lab = await documents(ab, [
    { a: "oak x", b: "oak x" },
    { a: "oak x", b: "none" }
  ])
  const scores = async (on: boolean) =>
    (await lab.search("c", { q: "oak", query_by: "a,b", prioritize_num_matching_fields: on })).body.hits.map(
      (hit: any) => hit.text_match_info.score
    )
  expect(new Set(await scores(false)).size).toBe(1)
  expect(new Set(await scores(true)).size).toBe(2)
})
it("32: the exact bit is about the value", async () => {
  const lab = await documents(
    [{ name: "tags", type: "string[]" }],
    [{ tags: ["red", "old oak table set"] }, { tags: ["red", "oak table"] }, { tags: ["red", "old oak table set"] }]
  )
  expect((await lab.ids("c", { q: "red oak table", query_by: "tags" }))[0]).toBe("1")
})
it("33: an array scores as its best element", async () => {
  const lab = await documents(
    [{ name: "tags", type: "string[]" }],
    [{ tags: ["oak table", "oak", "table"] }, { tags: ["oak table"] }]
  )
  const { body } = await lab.search("c", { q: "oak table", query_by: "tags" })
  expect(new Set(body.hits.map((hit: any) => hit.text_match_info.best_field_score)).size).toBe(1)
})
