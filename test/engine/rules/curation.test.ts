/**
 * Curation and pinning, as the reference engine's own tests assert them. The numbers in titles only count the rules.
 */
import { afterEach, beforeEach, expect, it } from "vitest"
import { createLab, type Lab } from "../../support/engine-lab.ts"

let lab: Lab
beforeEach(async () => {
  lab = createLab()
  await lab.call("PUT", "/curation_sets/cs", { items: [] })
  await lab.collection(
    "c",
    [
      { name: "title", type: "string" },
      { name: "brand", type: "string", facet: true },
      { name: "n", type: "int32" }
    ],
    ["red shoes", "blue shoes", "Nike shoes", "green shirt", "big sale"].map((title, n) => ({
      id: `d${n}`,
      title,
      brand: n === 2 ? "Nike" : "Puma",
      n
    })),
    { default_sorting_field: "n", curation_sets: ["cs"] }
  )
})
afterEach(() => lab.close())
const rules = async (...items: object[]): Promise<void> => {
  expect(
    (await lab.call("PUT", "/curation_sets/cs", { items: items.map((item, i) => ({ id: `r${i}`, ...item })) })).status
  ).toBe(200)
}
const search = async (q: string, more: Record<string, string | boolean | number> = {}) =>
  (await lab.search("c", { q, query_by: "title", enable_curations: true, ...more })).body
const ids = (body: any): string[] => body.hits.map((hit: any) => hit.document.id)

it("71: pins count even when the query finds nothing", async () => {
  expect((await search("zzzz", { pinned_hits: "d0:1,d1:2,d3:3" })).found).toBe(3)
})
it("72: a pin that also matches is counted once", async () => {
  expect((await search("*", { pinned_hits: "d0:1,d1:2" })).found).toBe(5)
})
it("73: pins page", async () => {
  expect(ids(await search("*", { pinned_hits: "d0:1,d1:2,d2:3,d3:4", per_page: 2, page: 2 }))).toEqual(["d2", "d3"])
})
it("74: a pin past the end comes last", async () => {
  expect(ids(await search("shoes", { pinned_hits: "d3:9" })).at(-1)).toBe("d3")
})
it("75: ids may hold colons", async () => {
  await lab.call("POST", "/collections/c/documents", { id: "sku:7", title: "x", brand: "y", n: 0 })
  expect(ids(await search("*", { pinned_hits: "sku:7:2" }))[1]).toBe("sku:7")
})
it("76: hidden hits reduce found and facets", async () => {
  const body = await search("*", { hidden_hits: "d2", facet_by: "brand" })
  expect(body.found).toBe(4)
  expect(body.facet_counts[0].counts.map((count: any) => count.value)).toEqual(["Puma"])
})
it("78: a rule whose filter is wrong is inert", async () => {
  await rules({ rule: { query: "shoes", match: "exact" }, filter_by: "nosuch:=1" })
  expect((await search("shoes")).found).toBe(3)
})
it("79: contains needs whole words; case and punctuation do not matter", async () => {
  await rules({ rule: { query: "sale", match: "contains" }, includes: [{ id: "d3", position: 1 }] })
  expect(ids(await search("sales"))[0]).not.toBe("d3")
  expect(ids(await search("Big SALE! today"))[0]).toBe("d3")
})
it("80: outside its window a rule is inert", async () => {
  await rules(
    { rule: { query: "shoes", match: "exact" }, includes: [{ id: "d3", position: 1 }], effective_to_ts: 1_000 },
    { rule: { query: "shoes", match: "exact" }, includes: [{ id: "d4", position: 1 }], effective_from_ts: 1_000 }
  )
  expect(ids(await search("shoes"))[0]).toBe("d4")
})
it("81: later rules act on the rewritten query unless processing stops", async () => {
  await rules(
    { rule: { query: "tee", match: "exact" }, replace_query: "shirt", stop_processing: false },
    { rule: { query: "shirt", match: "exact" }, metadata: { seen: true } }
  )
  expect(await search("tee")).toMatchObject({ found: 1, metadata: { seen: true } })
})
it("82: placeholders need exact facet values", async () => {
  await rules({ rule: { query: "{brand} shoes", match: "contains" }, filter_by: "brand:={brand}" })
  expect(ids(await search("nike shoes"))).toEqual(["d2"])
  expect((await search("nik shoes")).found).not.toBe(0)
})
it("83: curation first, then synonyms", async () => {
  await rules({ rule: { query: "tee", match: "exact" }, replace_query: "top" })
  await lab.call("PUT", "/synonym_sets/s", { items: [{ id: "a", synonyms: ["top", "shirt"] }] })
  expect(ids(await search("tee", { synonym_sets: "s" }))).toEqual(["d3"])
})
it("86: tags: the exact set first, else any shared tag", async () => {
  await rules(
    { rule: { tags: ["a", "b"] }, metadata: { hit: "ab" } },
    { rule: { tags: ["a"] }, metadata: { hit: "a" } }
  )
  expect((await search("shoes", { curation_tags: "a,b" })).metadata).toEqual({ hit: "ab" })
  expect((await search("shoes", { curation_tags: "a" })).metadata).toEqual({ hit: "ab" })
  expect((await search("shoes", { curation_tags: "z" })).metadata).toBeUndefined()
  expect((await search("shoes")).metadata).toBeUndefined()
})
it("87: filter_curated_hits of the request overrides the rule's false", async () => {
  await rules({ rule: { query: "shoes", match: "exact" }, includes: [{ id: "d3", position: 1 }] })
  expect(ids(await search("shoes", { filter_by: "brand:=Nike" }))).toEqual(["d3", "d2"])
  expect(ids(await search("shoes", { filter_by: "brand:=Nike", filter_curated_hits: true }))).toEqual(["d2"])
})
it("enable_curations is off by default, and excludes beat includes", async () => {
  await rules({
    rule: { query: "shoes", match: "exact" },
    includes: [{ id: "d3", position: 1 }],
    excludes: [{ id: "d3" }, { id: "d0" }]
  })
  expect(ids(await search("shoes"))).toEqual(["d2", "d1"])
  expect((await lab.search("c", { q: "shoes", query_by: "title" })).body.found).toBe(3)
})
