/**
 * Bounds on what one search may contain: lists, values, words, patterns and time. Beyond a bound, the search is refused
 * by name, or the excess is ignored.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { compileParameters } from "../../engine-sdk/src/query/compile-search.ts"
import {
  DEFAULT_LIMITS,
  type CurationItem,
  type SearchContext,
  type SynonymSet
} from "../../engine-sdk/src/query/query-context.ts"
import { applyCurations } from "../../engine-sdk/src/query/curation.ts"
import { expandSynonyms } from "../../engine-sdk/src/query/synonym-expansion.ts"
import { createLab, type Lab, schemaOf } from "../support/engine-lab.ts"

const fields = [
  { name: "title", type: "string", facet: true },
  { name: "n", type: "int32", facet: true },
  { name: "place", type: "geopoint", optional: true },
  { name: "parts", type: "object[]", optional: true },
  { name: "parts.tag", type: "string[]", optional: true }
]
const many = (count: number, make: (i: number) => string): string =>
  Array.from({ length: count }, (_item, i) => make(i)).join(",")
let lab: Lab
beforeAll(async () => {
  lab = createLab()
  await lab.collection(
    "c",
    fields,
    Array.from({ length: 300 }, (_document, i) => ({ id: `d${i}`, title: `w${i} common`, n: i })),
    { enable_nested_fields: true }
  )
})
afterAll(() => lab.close())
/** Sent as a body, because it is longer than a query string may be. */
const ask = async (parameters: Record<string, string | number>) =>
  (
    await lab.call("POST", "/multi_search", {
      searches: [{ collection: "c", q: "*", query_by: "title", ...parameters }]
    })
  ).body.results[0]

describe("lists", () => {
  it.each([
    ["include_fields", (i: number) => `f${i}`],
    ["exclude_fields", (i: number) => `f${i}`],
    ["highlight_fields", (i: number) => `f${i}`],
    ["highlight_full_fields", (i: number) => `f${i}`],
    ["facet_return_parent", (i: number) => `f${i}`],
    ["pinned_hits", (i: number) => `d${i}:${i + 1}`],
    ["hidden_hits", (i: number) => `d${i}`],
    ["synonym_sets", () => "s"],
    ["stopwords", () => "s"],
    ["curation_tags", (i: number) => `t${i}`],
    ["group_by", () => "title"]
  ])("`%s` takes 1,000 entries and says so beyond", async (name, entry) => {
    expect(await ask({ [name]: many(1_001, entry) })).toEqual({
      code: 400,
      error: `Parameter \`${name}\` has too many entries: at most 1000 are allowed.`
    })
    const { error = "" } = await ask({ [name]: many(1_000, entry) })
    expect(error).not.toContain("too many")
  })
  it.each(["include_fields", "exclude_fields", "highlight_fields", "facet_by", "facet_return_parent"])(
    "`%s` takes 100 patterns",
    async (name) => {
      expect((await ask({ [name]: many(101, (i) => `f${i}*`) })).error).toBe(
        `Parameter \`${name}\` has too many patterns: at most 100 are allowed.`
      )
    }
  )
  it("take 1,000 ranges of a facet", async () => {
    expect((await ask({ facet_by: `n(${many(1_001, (i) => `r${i}:[${i},${i + 1}]`)})` })).error).toBe(
      "Parameter `facet_by`: `n` has too many ranges, at most 1000 are allowed."
    )
    const { facet_counts } = await ask({
      facet_by: `n(${many(1_000, (i) => `r${i}:[${i},${i + 1}]`)})`,
      max_facet_values: 1_000
    })
    expect(facet_counts[0].counts.length).toBe(300)
    expect(facet_counts[0].counts.every(({ count }: { count: number }) => count === 1)).toBe(true)
  })
})
describe("filters", () => {
  const tooMany = "`filter_by` has too many values. Maximum allowed: 10000."
  it("take 10,000 values of all comparisons together", async () => {
    expect((await ask({ filter_by: `n:[${many(10_001, (i) => String(i))}]` })).error).toBe(tooMany)
    expect(
      (await ask({ filter_by: `id:[${many(6_000, (i) => `d${i}`)}] && n:[${many(4_001, (i) => String(i))}]` })).error
    ).toBe(tooMany)
    expect(
      (await ask({ filter_by: `id:[${many(6_000, (i) => `d${i}`)}] && n:[${many(4_000, (i) => String(i))}]` })).found
    ).toBe(300)
    expect((await ask({ filter_by: `place:(${many(5_001, (i) => `${i % 90}.${i}, ${i % 180}.5`)})` })).error).toBe(
      tooMany
    )
    expect(
      (
        await ask({
          sort_by: `_eval([${Array.from({ length: 900 }, () => `(n:[${many(12, (i) => String(i))}]):1`).join(",")}]):desc`
        })
      ).code
    ).toBe(400)
  })
  it("take 100 operations, also inside braces", async () => {
    const clauses = (count: number) => Array.from({ length: count }, () => "tag:a").join(" && ")
    expect((await ask({ filter_by: `parts.{${clauses(51)}}` })).error).toContain(
      "too many operations. Maximum allowed: 100."
    )
    expect((await ask({ filter_by: `parts.{${clauses(20_000)}}` })).error).toContain("too many operations")
    expect((await ask({ filter_by: `parts.{${clauses(50)}}` })).found).toBe(0)
  })
})

describe("compiling", () => {
  const schema = schemaOf(fields, { enable_nested_fields: true })
  const context = (limits: SearchContext["limits"] = {}): SearchContext => ({
    collection: { schema, num_documents: 0, created_at: 0 },
    collectionOf: () => undefined,
    now_s: 0,
    matchesAny: () => false,
    limits,
    resources: {
      preset: () => undefined,
      stopwords: () => undefined,
      synonymSet: () => undefined,
      curationSet: () => undefined,
      stemmingDictionary: () => undefined
    }
  })
  const planOf = (parameters: Record<string, string>, limits?: SearchContext["limits"]) => {
    const plan = compileParameters({ query_by: "title", q: "*", ...parameters }, context(limits))
    if (!plan.ok) throw new Error(plan.error.message)
    return plan.value
  }
  it("gives a search four seconds, and at most ten, or what the limits allow", () => {
    const limits = { cutoff_ms_max: 4_000 }
    expect(
      [
        planOf({}),
        planOf({ search_cutoff_ms: "60000" }),
        planOf({ search_cutoff_ms: "50" }),
        planOf({ search_cutoff_ms: "60000" }, limits),
        planOf({}, { cutoff_ms_max: 1_000 }),
        planOf({ search_cutoff_ms: "0" })
      ].map(({ cutoff_ms }) => cutoff_ms)
    ).toEqual([4_000, 10_000, 50, 4_000, 1_000, 0])
  })
  it("searches for the first 200 words", () => {
    for (const ranking of ["", "relevance"]) {
      const { text } = planOf({
        q: Array.from({ length: 300 }, (_word, i) => `w${i}`).join(" "),
        ...(ranking === "" ? {} : { ranking })
      })
      expect([text?.tokens.length, text?.tokens.at(-1)]).toEqual([200, "w199"])
      if (ranking !== "") expect(text?.relevance?.text.trim().split(" ").length).toBe(200)
    }
    expect(planOf({ q: `"${Array.from({ length: 300 }, (_word, i) => `w${i}`).join(" ")}"` }).text?.tokens.length).toBe(
      200
    )
    expect(DEFAULT_LIMITS).toMatchObject({
      cutoff_ms_default: 4_000,
      cutoff_ms_max: 10_000,
      list_items_max: 1_000,
      filter_values_max: 10_000,
      query_words_max: 200
    })
  })
  it("expands synonyms to 200 variants, however large their sets are", () => {
    const words = Array.from({ length: 3_000 }, (_word, i) => `w${i}`)
    const sets: ReadonlyArray<SynonymSet> = [{ name: "s", items: [{ id: "a", root: "", synonyms: words }] }]
    expect(expandSynonyms(["w1", "x", "w2"], sets, { locale: "", prefix: false, numTypos: 0 }).length).toBe(200)
    expect(expandSynonyms(["w1"], sets, { locale: "", prefix: false, numTypos: 0 }).flat()).not.toContain("w1")
    // A long query gets fewer: 4,000 words in all variants together.
    expect(expandSynonyms(words.slice(0, 200), sets, { locale: "", prefix: true, numTypos: 2 }).length).toBe(20)
    // A member of thousands of words matches nobody's query.
    expect(
      expandSynonyms(["a"], [{ name: "s", items: [{ id: "a", root: "a", synonyms: [words.join(" "), "b"] }] }], {
        locale: "",
        prefix: false,
        numTypos: 0
      })
    ).toEqual([["b"]])
  })
  it("resolves as many placeholders as allowed, and leaves other items alone", () => {
    let asked = 0
    const item = (id: number): CurationItem => ({
      id: String(id),
      rule: { query: "{title} {title} {title} {title}", match: "contains" },
      includes: [],
      excludes: [],
      filter_by: "title:={title}",
      remove_matched_tokens: false,
      filter_curated_hits: false,
      stop_processing: false
    })
    applyCurations({
      q: Array.from({ length: 200 }, (_word, i) => `w${i}`).join(" "),
      filterBy: "",
      sortBy: "",
      sets: [{ name: "s", items: Array.from({ length: 200 }, (_item, i) => item(i)) }],
      tags: [],
      now_s: 0,
      symbolsToIndex: [],
      tokenSeparators: [],
      synonymSets: [],
      dictionaries: () => undefined,
      parse: () => {
        asked++
        return { kind: "all" }
      },
      isSortable: () => false,
      matchesAny: () => false
    })
    expect(asked).toBeLessThanOrEqual(5_000)
  })
})
