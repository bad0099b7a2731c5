/** Synonyms, as the reference engine's own tests assert them. The numbers in titles only count the rules. */
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { expandSynonyms, type SynonymItem, type SynonymSet } from "../../../engine-sdk/src/query/mod.ts"
import { createLab, type Lab } from "../../support/engine-lab.ts"

const set = (...items: Array<Partial<SynonymItem>>): SynonymSet => ({
  name: "s",
  items: items.map((item, i) => ({ id: String(i), root: "", synonyms: [], ...item }))
})
const variants = (q: string, sets: SynonymSet, options = { locale: "", prefix: false, numTypos: 0 }): string[] =>
  expandSynonyms(q.split(" "), [sets], options).map((tokens) => tokens.join(" "))

describe("expansion", () => {
  it("89: several entries substitute together, every combination but the original", () => {
    expect(variants("suit man", set({ synonyms: ["blazer", "suit"] }, { synonyms: ["male", "man"] })).sort()).toEqual([
      "blazer male",
      "blazer man",
      "suit male"
    ])
  })
  it("91: one-way entries expand only their root", () => {
    const tv = set({ root: "tv", synonyms: ["television"] })
    expect(variants("tv", tv)).toEqual(["television"])
    expect(variants("television", tv)).toEqual([])
  })
  it("93: multi-word entries match whole runs", () => {
    expect(variants("fresh sea food", set({ synonyms: ["sea food", "fish"] }))).toEqual(["fresh fish"])
  })
  it("95: punctuation goes unless it is the entry's symbol", () => {
    expect(variants("c", set({ synonyms: ["c++", "guide"] }))).toEqual(["guide"])
    expect(variants("c++", set({ synonyms: ["c++", "guide"], symbols_to_index: ["+"] }))).toEqual(["guide"])
  })
  it("does not chain: what a synonym brings is not expanded again", () => {
    expect(variants("a", set({ synonyms: ["a", "b"] }, { synonyms: ["b", "c"] }))).toEqual(["b"])
  })
  it("matches by prefix or with typos only where asked and nothing matches exactly", () => {
    const sofa = set({ synonyms: ["sofa", "couch"] })
    expect(variants("sof", sofa)).toEqual([])
    expect(variants("sof", sofa, { locale: "", prefix: true, numTypos: 0 })).toEqual(["couch"])
    expect(variants("soffa", sofa, { locale: "", prefix: false, numTypos: 1 })).toEqual(["couch"])
  })
  it("is bounded", () => {
    const many = set({ synonyms: Array.from({ length: 50 }, (_, i) => `w${i}`) })
    expect(variants(Array.from({ length: 20 }, () => "w1").join(" "), many).length).toBeLessThanOrEqual(200)
  })
})
describe("search", () => {
  let lab: Lab
  beforeEach(async () => {
    lab = createLab()
    await lab.call("PUT", "/synonym_sets/s", {
      items: [
        { id: "a", synonyms: ["ceo", "chief executive officer"] },
        { id: "b", root: "tv", synonyms: ["television"] }
      ]
    })
    await lab.collection(
      "c",
      [{ name: "title", type: "string" }],
      ["ceo", "chief executive officer", "tv", "television"].map((title, i) => ({ id: String(i), title })),
      { synonym_sets: ["s"] }
    )
  })
  afterEach(() => lab.close())
  it("88: both forms are found by either query", async () => {
    expect((await lab.ids("c", { q: "ceo", query_by: "title" })).sort()).toEqual(["0", "1"])
    expect((await lab.ids("c", { q: "chief executive officer", query_by: "title" })).sort()).toEqual(["0", "1"])
  })
  it("94: enable_synonyms=false disables linked and named sets", async () => {
    expect(await lab.ids("c", { q: "ceo", query_by: "title", enable_synonyms: false, synonym_sets: "s" })).toEqual([
      "0"
    ])
  })
  it("answers 404 for a set that is unknown", async () => {
    expect(await lab.search("c", { q: "ceo", query_by: "title", synonym_sets: "nosuch" })).toEqual({
      status: 404,
      body: { message: "Synonym index not found" }
    })
  })
})
