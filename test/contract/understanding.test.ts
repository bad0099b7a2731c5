/**
 * Query understanding in answers: words, language, entities, corrections and rewrites; what a restricted key learns
 * from it; what analytics and cached answers keep of it. Two tenants side by side.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Program, Tenant } from "../support/program.ts"
import { sharedProgram } from "../support/shared-program.ts"
import { securedKey } from "../support/secured.ts"

let program: Program
let shop: Tenant, other: Tenant
const documents = [
  { id: "1", title: "Blue enamel mug", brand: "Blue Mountain", color: "Blue", shelf: "open" },
  { id: "2", title: "Red enamel mug", brand: "Hearth", color: "Red", shelf: "open" },
  { id: "3", title: "Кружка синяя", brand: "Hearth", color: "Синий", shelf: "open" },
  { id: "4", title: "Winter coat", brand: "Northloom", color: "Navy Blue", shelf: "open" },
  { id: "5", title: "Secret prototype wintar", brand: "Blue Prototype", color: "Ultraviolet", shelf: "hidden" },
  { id: "7", title: "ghbdtn", brand: "Hearth", color: "Red", shelf: "open" },
  { id: "8", title: "Привет", brand: "Hearth", color: "Red", shelf: "open" },
  { id: "6", title: "Phone 15 case", brand: "Hearth", color: "Red", shelf: "open" }
]
const schema = {
  name: "goods",
  fields: [
    { name: "title", type: "string" },
    { name: "brand", type: "string", facet: true },
    { name: "color", type: "string", facet: true },
    { name: "shelf", type: "string", facet: true }
  ]
}
const fill = async ({ full_key }: Tenant, rows: ReadonlyArray<object>) => {
  expect((await program.request("POST", "/v1/collections", { key: full_key, body: schema })).status).toBe(201)
  const body = rows.map((row) => JSON.stringify(row)).join("\n")
  const imported = await program.request("POST", "/v1/collections/goods/documents/import?action=create", {
    key: full_key,
    body
  })
  expect(imported.text.split("\n").every((line) => line.includes('"success":true'))).toBe(true)
}
beforeAll(async () => {
  program = await sharedProgram()
  shop = await program.tenant("Understood")
  other = await program.tenant("Other")
  await fill(shop, documents)
  await fill(other, [{ id: "1", title: "Blue enamel mug", brand: "Elsewhere", color: "Green", shelf: "open" }])
})
afterAll(() => program?.stop())

const search = async (parameters: Record<string, string>, key = shop.search_key) => {
  const query = new URLSearchParams({ query_by: "title", ...parameters }).toString()
  return program.request("GET", `/v1/collections/goods/documents/search?${query}`, { key })
}
const idsOf = (body: { readonly hits: ReadonlyArray<{ readonly document: { readonly id: string } }> }) =>
  body.hits.map(({ document }) => document.id)

describe("an answer", () => {
  it("reports how its query was understood, and nothing for q=*", async () => {
    const { body } = await search({ q: "  Blue ENAMEL  mug " })
    expect(body.query_understanding).toEqual({
      original: "  Blue ENAMEL  mug ",
      normalized: "blue enamel mug",
      tokens: ["blue", "enamel", "mug"],
      rewrites: [],
      entities: [{ text: "blue", field: "color", value: "Blue" }]
    })
    expect(body.correction).toBeNull()
    const all = await search({ q: "*" })
    expect(Object.keys(all.body)).not.toContain("query_understanding")
    expect(Object.keys(all.body)).not.toContain("correction")
  })
  it("names a language only if two words or a script decide it", async () => {
    const languageOf = async (q: string) => (await search({ q })).body.query_understanding.language as unknown
    expect(await languageOf("mug")).toBeUndefined()
    expect(await languageOf("чашка")).toBeUndefined()
    expect(await languageOf("κούπα")).toBe("el")
    expect(await languageOf("אוזניות")).toBe("he")
    expect(await languageOf("беспроводные наушники")).toBe("ru")
    expect(await languageOf("бездротові навушники")).toBe("uk")
  })
  it("takes the longest names first, and no word twice", async () => {
    const entitiesOf = async (q: string) => (await search({ q })).body.query_understanding.entities as unknown
    expect(await entitiesOf("navy blue mountain hearth")).toEqual([
      { text: "navy blue", field: "color", value: "Navy Blue" },
      { text: "hearth", field: "brand", value: "Hearth" }
    ])
    expect(await entitiesOf("blue mountain red mug")).toEqual([
      { text: "blue mountain", field: "brand", value: "Blue Mountain" },
      { text: "red", field: "color", value: "Red" }
    ])
    expect(await entitiesOf("mountain mug")).toEqual([])
  })
  it("names values of its own tenant", async () => {
    const ours = await search({ q: "elsewhere green blue mug" })
    expect(ours.body.query_understanding.entities).toEqual([{ text: "blue", field: "color", value: "Blue" }])
    const theirs = await search({ q: "elsewhere green blue mug" }, other.search_key)
    expect(theirs.body.query_understanding.entities).toEqual([
      { text: "elsewhere", field: "brand", value: "Elsewhere" },
      { text: "green", field: "color", value: "Green" }
    ])
  })
})

describe("a correction", () => {
  it("replaces the words that were found only through typos", async () => {
    expect((await search({ q: "Blue enamle mug" })).body.correction).toEqual({ q: "Blue enamel mug", type: "typo" })
    expect((await search({ q: "enamel mug" })).body.correction).toBeNull()
    expect((await search({ q: "enamle mug", ranking: "relevance" })).body.correction).toEqual({
      q: "enamel mug",
      type: "typo"
    })
    expect((await search({ q: "qqqqqqqq" })).body.correction).toBeNull()
  })
  it("is present in grouped answers, beside rules, and is null in a union", async () => {
    expect((await search({ q: "enamle", group_by: "brand" })).body.correction).toEqual({ q: "enamel", type: "typo" })
    const body = { union: true, searches: [{ collection: "goods", q: "enamle", query_by: "title" }] }
    const union = await program.request("POST", "/v1/multi_search", { key: shop.search_key, body })
    expect(union.body.found).toBe(2)
    expect(union.body.correction).toBeNull()
    expect(union.body.query_understanding).toMatchObject({ original: "enamle", tokens: ["enamle"], rewrites: [] })
  })
})

describe("a rewrite", () => {
  it("answers a query that finds nothing, and is not tried unless it is requested", async () => {
    expect((await search({ q: "rhe;rf" })).body).toMatchObject({ found: 0, correction: null })
    const { body } = await search({ q: "rhe;rf", query_rewrite: "split,layout" })
    expect(idsOf(body)).toEqual(["3"])
    expect(body.correction).toEqual({ q: "кружка", type: "layout" })
    expect(body.query_understanding).toMatchObject({
      original: "rhe;rf",
      normalized: "rhe;rf",
      tokens: ["кружка"],
      rewrites: [{ kind: "layout", q: "кружка" }]
    })
    expect(body.request_params).toMatchObject({ first_q: "rhe;rf", q: "кружка" })
    expect((await search({ q: "kruzhka", query_rewrite: "translit" })).body.correction).toEqual({
      q: "кружка",
      type: "translit"
    })
    expect(
      (await search({ q: "phone15", query_rewrite: "split", num_typos: "0", split_join_tokens: "off" })).body.correction
    ).toEqual({ q: "phone 15", type: "split" })
    expect(
      (await search({ q: "wintercoat", query_rewrite: "split", split_join_tokens: "off" })).body.correction
    ).toEqual({ q: "winter coat", type: "split" })
  })
  it("never replaces a query that found something, unless fewer hits are too few", async () => {
    const kinds = { query_rewrite: "layout,translit,split" }
    expect((await search({ q: "mug", ...kinds })).body).toMatchObject({
      found: 2,
      query_understanding: { rewrites: [] }
    })
    const typed = await search({ q: "ghbdtn", ...kinds })
    expect([idsOf(typed.body), typed.body.correction, typed.body.query_understanding.rewrites]).toEqual([
      ["7"],
      null,
      []
    ])
    const asked = await search({ q: "ghbdtn", ...kinds, query_rewrite_min_found: "2" })
    expect([idsOf(asked.body), asked.body.correction]).toEqual([["8"], { q: "привет", type: "layout" }])
    // The words have no other reading, so they stay.
    const few = await search({ q: "mug", ...kinds, query_rewrite_min_found: "3" })
    expect([few.body.found, few.body.correction]).toEqual([2, null])
  })
  it("is tried word by word", async () => {
    const { body } = await search({ q: "rhe;rf синяя", query_rewrite: "layout", drop_tokens_threshold: "0" })
    expect([body.correction, idsOf(body)]).toEqual([{ q: "кружка синяя", type: "layout" }, ["3"]])
  })
  it("is bounded: six searches of a request, whatever it requests", async () => {
    const searches = Array.from({ length: 12 }, (_, i) => ({ collection: "goods", q: `zzqqx${i}w` }))
    const { body } = await program.request(
      "POST",
      "/v1/multi_search?query_by=title&query_rewrite=layout,translit,split",
      { key: shop.search_key, body: { searches } }
    )
    const tried = body.results.flatMap((each: any) => each.query_understanding.rewrites)
    expect(tried).toHaveLength(6)
  })
  it("refuses unknown kinds", async () => {
    const refused = await search({ q: "mug", query_rewrite: "layout,guess" })
    expect([refused.status, refused.body.message]).toEqual([
      400,
      "Parameter `query_rewrite` names `guess`; it may list `layout`, `translit` and `split`."
    ])
    expect((await search({ q: "mug", query_rewrite_min_found: "many" })).status).toBe(400)
    const body = {
      searches: [
        { collection: "goods", q: "mug", query_by: "title", query_rewrite: "guess" },
        { collection: "goods", q: "mug", query_by: "title" }
      ]
    }
    const { body: many } = await program.request("POST", "/v1/multi_search", { key: shop.search_key, body })
    expect([many.results[0].code, many.results[1].found]).toEqual([400, 2])
  })
  it("precedes what rules show if nothing was found", async () => {
    const rules = (zero_hits_fallback: string) =>
      program.request("PUT", "/v1/collections/goods/search_rules", { key: shop.full_key, body: { zero_hits_fallback } })
    expect((await rules("popular")).status).toBe(200)
    const shown = (await search({ q: "rhe;rf" })).body
    expect(shown.found).toBeGreaterThan(1)
    const { body } = await search({ q: "rhe;rf", query_rewrite: "layout" })
    expect([idsOf(body), body.correction]).toEqual([["3"], { q: "кружка", type: "layout" }])
    const none = (await search({ q: "zzqqxw", query_rewrite: "layout" })).body
    expect([none.found, none.correction]).toEqual([shown.found, null])
    expect((await search({ q: "enamle" })).body.correction).toEqual({ q: "enamel", type: "typo" })
    expect((await rules("none")).status).toBe(200)
  })
  it("can be set in a preset", async () => {
    const preset = { value: { query_rewrite: "layout" } }
    expect((await program.request("PUT", "/v1/presets/rewriting", { key: shop.full_key, body: preset })).status).toBe(
      200
    )
    expect((await search({ q: "rhe;rf", preset: "rewriting" })).body.correction).toEqual({
      q: "кружка",
      type: "layout"
    })
  })
  it("is the same in a cached answer", async () => {
    const first = (await search({ q: "rhe;rf", query_rewrite: "layout", use_cache: "true" })).body
    const again = (await search({ q: "rhe;rf", query_rewrite: "layout", use_cache: "true" })).body
    const { query_id: one, ...rest } = first
    const { query_id: two, ...same } = again
    expect(one).not.toBe(two)
    expect(same).toEqual(rest)
    expect(same.query_understanding.original).toBe("rhe;rf")
  })
  it("is counted under the words that the visitor typed", async () => {
    await search({ q: "rhe;rf", query_rewrite: "layout" })
    const from = new Date(Date.now() - 60_000).toISOString(),
      to = new Date(Date.now() + 60_000).toISOString()
    let names: Array<string> = []
    for (let waited = 0; waited < 8_000 && !names.includes("rhe;rf"); waited += 100) {
      await new Promise((settle) => setTimeout(settle, 100))
      const { body } = await program.request("GET", `/v1/analytics/metrics/queries?from=${from}&to=${to}`, {
        key: shop.full_key
      })
      names = body.data.map(({ q }: { q: string }) => q)
    }
    expect(names).toContain("rhe;rf")
    expect(names).not.toContain("кружка")
  })
})

describe("a key that sees a part", () => {
  const restricted = async (q: string, embedded: Record<string, string>, more: Record<string, string> = {}) =>
    (await search({ q, ...more }, securedKey(shop.search_key, embedded))).body
  const open = { filter_by: "shelf:=open" }

  it("learns no value that only hidden documents have, and hidden values shadow none", async () => {
    expect((await search({ q: "ultraviolet" })).body.query_understanding.entities).toHaveLength(1)
    const { query_understanding } = await restricted("ultraviolet blue prototype mug", open)
    expect(query_understanding.entities).toEqual([{ text: "blue", field: "color", value: "Blue" }])
  })
  it("has two dozen lookups per request to check what it may be shown", async () => {
    const searches = Array.from({ length: 30 }, () => ({ collection: "goods", q: "red mug", query_by: "title" }))
    const key = securedKey(shop.search_key, open)
    const { body } = await program.request("POST", "/v1/multi_search", { key, body: { searches } })
    const named = body.results.filter((each: any) => each.query_understanding.entities.length > 0)
    expect([body.results.length, named.length]).toEqual([30, 24])
  })
  it("gets no value of a field that it must not name", async () => {
    const { query_understanding } = await restricted("blue mug hearth", { exclude_fields: "brand" })
    expect(query_understanding.entities).toEqual([{ text: "blue", field: "color", value: "Blue" }])
  })
  it("learns nothing from corrections and rewrites about what it cannot find", async () => {
    // Indexed in a hidden document only: for this key a typo like any other.
    const whole = await search({ q: "prototipe" })
    expect(whole.body.correction).toEqual({ q: "prototype", type: "typo" })
    const part = await restricted("prototipe", open)
    expect([part.found, part.correction]).toEqual([0, null])
    expect((await search({ q: "wintar" })).body.correction).toBeNull()
    expect((await restricted("wintar", open)).correction).toEqual({ q: "winter", type: "typo" })
    const typed = await restricted("ыускуе", open, { query_rewrite: "layout" })
    expect([typed.found, typed.correction]).toEqual([0, null])
    // As many candidates as for a word that no document has: nothing reveals that the index contains this one.
    const unknown = await restricted("ыуссуе", open, { query_rewrite: "layout" })
    expect(typed.query_understanding.rewrites).toHaveLength(unknown.query_understanding.rewrites.length)
    expect((await search({ q: "ыускуе", query_rewrite: "layout" })).body.correction).toEqual({
      q: "secret",
      type: "layout"
    })
    expect((await restricted("rhe;rf", open, { query_rewrite: "layout" })).correction).toEqual({
      q: "кружка",
      type: "layout"
    })
  })
})

it("learns new values soon after they were written", async () => {
  const entitiesOf = async () => (await search({ q: "chartreuse" })).body.query_understanding.entities as unknown[]
  expect(await entitiesOf()).toEqual([])
  const body = { id: "9", title: "Chartreuse mug", brand: "Hearth", color: "Chartreuse", shelf: "open" }
  await program.request("POST", "/v1/collections/goods/documents", { key: shop.full_key, body })
  let found: unknown[] = []
  for (let waited = 0; waited < 60_000 && found.length === 0; waited += 50) {
    await new Promise((settle) => setTimeout(settle, 50))
    found = await entitiesOf()
  }
  expect(found).toEqual([{ text: "chartreuse", field: "color", value: "Chartreuse" }])
})

describe("with a profile", () => {
  it("values are those that it counts, rewrites stay within it, and what its filter hides stays hidden", async () => {
    const profile = {
      name: "open_shelf",
      searchable_fields: ["title"],
      facet_fields: [{ field: "brand" }],
      fixed_filter_by: "shelf:=open"
    }
    const path = "/v1/collections/goods/search-profiles"
    expect((await program.request("POST", path, { key: shop.full_key, body: profile })).status).toBe(201)
    const by = async (q: string, key = shop.search_key) =>
      (await search({ q, profile: "open_shelf", query_rewrite: "layout,split" }, key)).body
    // Counted: the brand; not counted: the colour with the same words.
    expect((await by("blue mountain navy blue")).query_understanding.entities).toEqual([
      { text: "blue mountain", field: "brand", value: "Blue Mountain" }
    ])
    for (const key of [shop.search_key, shop.full_key]) {
      const hidden = await by("blue prototype", key)
      expect([idsOf(hidden).includes("5"), hidden.query_understanding.entities]).toEqual([false, []])
      // The words of a hidden document are never offered as corrections.
      expect((await by("secretprototype", key)).correction).toBe(null)
    }
    const typed = await by("rhe;rf")
    expect([typed.correction, typed.found, typed.profile.name]).toEqual([
      { q: "кружка", type: "layout" },
      1,
      "open_shelf"
    ])
    expect((await by("ыускуе")).found).toBe(0)
    const many = await program.request("POST", "/v1/multi_search", {
      key: shop.search_key,
      body: {
        searches: [
          { collection: "goods", q: "mug", profile: "absent" },
          { collection: "goods", q: "rhe;rf", profile: "open_shelf", query_rewrite: "layout" }
        ]
      }
    })
    expect(many.body.results.map(({ code, found, profile: used }: any) => [code, found, used?.name])).toEqual([
      [404, undefined, undefined],
      [undefined, 1, "open_shelf"]
    ])
  })
})
