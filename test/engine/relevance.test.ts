/**
 * The relevance ranking on corpora small enough to check by hand: words, BM25F, corrections, pairs, coordination, and
 * what it has in common with every search.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, describe, expect, it } from "vitest"
import { openEngine } from "../../engine-sdk/src/mod.ts"
import { memoryResources } from "../../engine-sdk/src/operations/mod.ts"
import { wordAnalyzerOf } from "../../engine-sdk/src/search/relevance/words.ts"
import { askedText, relevanceUnits } from "../../engine-sdk/src/query/relevance-query.ts"
import { createLab, type Lab, schemaOf, seeded } from "../support/engine-lab.ts"
import { routerOver } from "../support/operation-router.ts"

const text = (name: string, more: object = {}) => ({ name, type: "string", optional: true, ...more })
let lab: Lab
const open = async (
  documents: ReadonlyArray<object>,
  fields: ReadonlyArray<object> = [text("title"), text("body")],
  more: object = {}
) => {
  lab = createLab()
  await lab.collection("c", fields, documents, more)
}
afterEach(async () => {
  await lab?.close()
})
const ask = async (q: string, more: Record<string, string | number | boolean> = {}) => {
  const { body, status } = await lab.search("c", {
    q,
    query_by: "title,body",
    ranking: "relevance",
    prefix: false,
    ...more
  })
  if (status !== 200) throw new Error(JSON.stringify(body))
  return body as {
    readonly found: number
    readonly hits: ReadonlyArray<{
      readonly document: { readonly id: string }
      readonly text_match: number
      readonly text_match_info: Record<string, unknown>
      readonly highlight: Record<string, { readonly snippet: string }>
    }>
    readonly facet_counts: ReadonlyArray<{
      readonly counts: ReadonlyArray<{ readonly value: string; readonly count: number }>
    }>
  }
}
const ids = async (q: string, more: Record<string, string | number | boolean> = {}) =>
  (await ask(q, more)).hits.map(({ document }) => document.id)
const scores = async (q: string, more: Record<string, string | number | boolean> = {}) =>
  new Map((await ask(q, more)).hits.map(({ document, text_match }) => [document.id, text_match / 1e6]))

describe("words", () => {
  const surfaces = (value: string) =>
    wordAnalyzerOf("")
      .words(value)
      .map(({ surface }) => surface)
  it.each([
    ["Wi-Fi 6E, (dual-band)", ["wi", "fi", "6e", "dual", "band"]],
    ["3.5 inch 1,000 W", ["3.5inch", "1000w"]],
    ["King's don’t U.S.A. end.Next", ["king", "dont", "usa", "end", "next"]],
    ["Intel® Core™2 Duo", ["intel", "core", "2", "duo"]],
    ["Café Ærø straße", ["cafe", "aero", "strasse"]],
    ["500 GB and 500gb", ["500gb", "and", "500gb"]],
    ["a 5 a b", ["a", "5", "a", "b"]]
  ])("%s", (value, expected) => {
    expect(surfaces(value)).toEqual(expected)
  })
  it("keep the parts of a number with its unit", () => {
    expect(wordAnalyzerOf("").words("16 gb")).toEqual([{ surface: "16gb", parts: ["16", "gb"] }])
  })
  it("are segmented where a script has no spaces", () => {
    expect(surfaces("私は東京に住んでいます").length).toBeGreaterThan(1)
  })
  it("have no root when they hold a digit", () => {
    expect(wordAnalyzerOf("").stem("running")).toBe("run")
    expect(wordAnalyzerOf("").stem("mx500s")).toBe("mx500s")
  })
})

describe("the request", () => {
  const schema = schemaOf([text("title"), text("body"), text("attr_a"), text("attr_b")])
  it("weighs the first field as a title, or as the request says", () => {
    const weights = (parameters: Record<string, string>) =>
      relevanceUnits(parameters, schema).map(({ name, weight }) => [name, weight])
    expect(weights({ query_by: "title,body,attr_*" })).toEqual([
      ["title", 4],
      ["body", 1],
      ["attr_*", 1]
    ])
    expect(weights({ query_by: "title" })).toEqual([["title", 1]])
    expect(weights({ query_by: "title,body,attr_*", query_by_weights: "10,5,0" })).toEqual([
      ["title", 2],
      ["body", 1],
      ["attr_*", 0.1]
    ])
  })
  it("drops exclusions, quotation marks and stopwords", () => {
    expect(
      askedText('red -"dark blue" shoes -kids "for men"', new Set(["for"]))
        .split(/\s+/)
        .filter((word) => word !== "")
    ).toEqual(["red", "shoes", "men"])
  })
  it("ignores an unknown ranking without a refusal", async () => {
    await open([{ id: "1", title: "red shoe" }])
    const plain = await ask("red", { ranking: "" }),
      unknown = await ask("red", { ranking: "psychic" })
    expect(unknown.hits[0].text_match).toBe(plain.hits[0].text_match)
  })
  it("can come from a preset", async () => {
    await open([{ id: "1", title: "red shoe" }])
    await lab.call("PUT", "/presets/shop", { value: { ranking: "relevance", query_by: "title" } })
    const { body } = await lab.search("c", { q: "red", preset: "shop" })
    expect(body.hits[0].text_match).toBe((await ask("red", { query_by: "title" })).hits[0].text_match)
  })
})

describe("BM25F", () => {
  const idf = (df: number, n: number) => Math.log(1 + (n - df + 0.5) / (df + 0.5))
  it("follows the formula", async () => {
    await open([
      { id: "1", title: "red lamp", body: "a lamp for the desk lamp" },
      { id: "2", title: "blue chair", body: "lamp" },
      { id: "3", title: "green table", body: "wood" }
    ])
    const found = await scores("lamp", { ranking: "bm25" })
    // Titles have 2 words each; bodies 3 (lamp, desk, lamp: stop words take no position), 1 and 1.
    const length = (own: number, mean: number) => 1 - 0.6 + (0.6 * own) / mean
    const first = 4 / length(2, 2) + 2 / length(3, 5 / 3),
      second = 1 / length(1, 5 / 3)
    const score = (tf: number) => (idf(2, 3) * 2.4 * tf) / (1.4 + tf)
    expect(found.get("1")).toBeCloseTo(score(first), 5)
    expect(found.get("2")).toBeCloseTo(score(second), 5)
    expect(found.has("3")).toBe(false)
  })
  it("counts repeated words of the query repeatedly and finds every form of a word", async () => {
    await open([
      { id: "1", title: "running shoes" },
      { id: "2", title: "desk" }
    ])
    const once = await scores("runs", { ranking: "bm25" }),
      twice = await scores("runs run", { ranking: "bm25" })
    expect(twice.get("1")).toBeCloseTo(2 * once.get("1")!, 5)
  })
  it("finds a number with its unit in either spelling", async () => {
    await open([
      { id: "1", title: "disk 500 GB" },
      { id: "2", title: "disk 500gb" },
      { id: "3", title: "disk 500 sheets" }
    ])
    expect((await ids("500gb")).sort()).toEqual(["1", "2"])
    expect((await ids("500 gb")).sort()).toEqual(["1", "2"])
    expect((await ids("500")).sort()).toEqual(["1", "2", "3"])
    // No document has 500 mb, so only the number is searched.
    expect((await ids("500mb")).sort()).toEqual(["1", "2", "3"])
  })
})

describe("unknown words", () => {
  const shop = [
    { id: "1", title: "gaming mouse pad" },
    { id: "2", title: "gaming mouse" },
    { id: "3", title: "headset stand" },
    { id: "4", title: "wireless headset" },
    { id: "5", title: "pro headset" },
    { id: "6", title: "keyboard" },
    { id: "7", title: "mechanical keyboard" },
    { id: "8", title: "canon mx 500 printer" }
  ]
  it("are split where both halves are words", async () => {
    await open(shop)
    expect((await ids("gamingmouse")).slice(0, 2).sort()).toEqual(["1", "2"])
  })
  it("are corrected, one letter or two", async () => {
    await open(shop)
    expect((await ids("keybaord")).sort()).toEqual(["6", "7"])
    expect((await ids("keyybaord")).sort()).toEqual(["6", "7"])
    expect(await ids("keyybaord", { num_typos: 0 })).toEqual([])
    expect(await ids("keyybaord", { ranking: "bm25" })).toEqual([])
  })
  it("are cut between letters and digits", async () => {
    await open(shop)
    expect((await ids("mx500"))[0]).toBe("8")
  })
  it("are completed at the end of a query while prefixes are allowed", async () => {
    await open(shop)
    expect((await ids("wireless heads", { prefix: true }))[0]).toBe("4")
    expect(await ids("heads", { prefix: false, num_typos: 0 })).toEqual([])
    const { hits } = await ask("keyb", { prefix: true })
    expect(hits[0].highlight.title.snippet).toContain("<mark>keyb</mark>oard")
  })
  it("that are typed separately find texts that write them as one word", async () => {
    await open(shop)
    const found = await ids("head set")
    expect(found.slice(0, 3).sort()).toEqual(["3", "4", "5"])
  })
  it("never replace a known word", async () => {
    await open([
      { id: "1", title: "form" },
      { id: "2", title: "from" },
      { id: "3", title: "farm" },
      { id: "4", title: "farm" }
    ])
    expect(await ids("form")).toEqual(["1"])
  })
})

describe("order", () => {
  it("prefers adjacent words in order to separate ones", async () => {
    await open([
      { id: "1", title: "x", body: "stone wall garden tower" },
      { id: "2", title: "x", body: "wall garden tower stone" },
      { id: "3", title: "x", body: "other words here" }
    ])
    const found = await scores("stone wall")
    expect(found.get("1")!).toBeGreaterThan(found.get("2")!)
    expect((await scores("stone wall", { ranking: "bm25" })).get("1")).toBe(
      (await scores("stone wall", { ranking: "bm25" })).get("2")
    )
  })
  it("applies the root of the matched share for two and three words", async () => {
    await open([
      { id: "1", title: "t", body: "alpha" },
      { id: "2", title: "t", body: "beta" },
      { id: "3", title: "t", body: "alpha beta" },
      { id: "4", title: "t", body: "gamma" }
    ])
    const one = await scores("alpha beta", { ranking: "bm25" }),
      all = await scores("alpha beta")
    // Both words are equally rare, so half of the query is matched.
    expect(all.get("1")! / one.get("1")!).toBeCloseTo(Math.sqrt(0.5), 5)
  })
  it("sorts by another key when requested, and shows the score", async () => {
    await open(
      [
        { id: "1", title: "red", price: 3 },
        { id: "2", title: "red", price: 1 },
        { id: "3", title: "red red", price: 2 }
      ],
      [text("title"), text("body"), { name: "price", type: "int32" }]
    )
    expect(await ids("red", { sort_by: "price:asc" })).toEqual(["2", "3", "1"])
    const { hits } = await ask("red", { sort_by: "_text_match:desc,price:asc" })
    expect(hits.map(({ text_match }) => text_match)).toEqual(
      [...hits.map(({ text_match }) => text_match)].sort((a, b) => b - a)
    )
    expect(hits[0].text_match_info).toMatchObject({ tokens_matched: 1, num_tokens_dropped: 0 })
  })
})

describe("matching", () => {
  const words = ["alpha", "beta", "gamma"]
  const many = Array.from({ length: 1_300 }, (_, i) => ({
    id: String(i),
    title: words.filter((_word, w) => i % (w + 2) === 0).join(" ") || "none",
    kind: i % 5 === 0 ? "five" : "other"
  }))
  const fields = [text("title"), text("body"), text("kind", { facet: true })]
  it("requires every word while enough documents contain all of them", async () => {
    await open([...many, ...Array.from({ length: 600 }, (_, i) => ({ id: `b${i}`, title: "alpha beta" }))], fields)
    expect((await ask("alpha beta")).found).toBe(600 + many.filter(({ title }) => title.includes("alpha beta")).length)
  })
  it("drops words when few documents contain all of them, unless forbidden", async () => {
    await open(many, fields)
    const all = many.filter(({ title }) => title === "alpha beta gamma").length
    expect((await ask("alpha beta gamma", { drop_tokens_threshold: 0 })).found).toBe(all)
    expect((await ask("alpha beta gamma")).found).toBeGreaterThanOrEqual(500)
  })
  it("drops words once so many documents were deleted that too few have them all", async () => {
    await open([
      ...Array.from({ length: 505 }, (_, i) => ({ id: `both${i}`, title: "alpha beta" })),
      ...Array.from({ length: 40 }, (_, i) => ({ id: `one${i}`, title: "alpha" }))
    ])
    expect((await ask("alpha beta")).found).toBe(505)
    for (let i = 0; i < 5; i++) await lab.call("DELETE", `/collections/c/documents/both${i}`)
    expect((await ask("alpha beta")).found).toBe(500)
    await lab.call("DELETE", "/collections/c/documents/both5")
    expect((await ask("alpha beta")).found).toBe(499 + 40)
  })
  it("with a filter only loses documents, and counts those that the filter leaves", async () => {
    await open(many, fields)
    const whole = await ask("alpha gamma", { facet_by: "kind", per_page: 250 })
    const part = await ask("alpha gamma", { filter_by: "kind:=five", per_page: 250 })
    expect(part.found).toBe(whole.facet_counts[0].counts.find(({ value }) => value === "five")?.count)
    const anywhere = new Set(
      await Promise.all([1, 2, 3, 4].map((page) => ids("alpha gamma", { per_page: 250, page }))).then((pages) =>
        pages.flat()
      )
    )
    expect(part.hits.every(({ document }) => anywhere.has(document.id))).toBe(true)
  })
  it("pages without gaps or repeats", async () => {
    await open(many, fields)
    const { found } = await ask("alpha beta gamma")
    const all = (
      await Promise.all(
        Array.from({ length: Math.ceil(found / 100) }, (_, i) =>
          ids("alpha beta gamma", { per_page: 100, page: i + 1 })
        )
      )
    ).flat()
    expect(new Set(all).size).toBe(found)
  })
  it("shows the 200 best before the others, even one that resembles none of them", async () => {
    await open([
      ...Array.from({ length: 300 }, (_, i) => ({ id: `alike${i}`, title: "alpha beta gamma" })),
      { id: "alone", title: "delta" },
      ...Array.from({ length: 3_000 }, (_, i) => ({ id: `other${i}`, title: `word${i % 50} epsilon` }))
    ])
    const found = (
      await Promise.all([1, 2].map((page) => ids("alpha beta gamma delta", { per_page: 150, page })))
    ).flat()
    expect(found.length).toBe(300)
    expect(found.indexOf("alone")).toBe(199)
  })
  it("is the same after documents with a hundred thousand different words", async () => {
    const alike = Array.from({ length: 40 }, (_, i) => ({ id: `a${i}`, title: `red wall clock word${i % 7}` }))
    const wide = Array.from({ length: 110 }, (_, i) => ({
      id: `w${i}`,
      title: "green floor lamp",
      body: Array.from({ length: 1_000 }, (_word, w) => `${(i * 1_000 + w).toString(36)}x`).join(" ")
    }))
    await open([...alike, ...wide])
    const before = await ask("red wall clock word3", { per_page: 40 })
    expect((await ask("green floor lamp", { per_page: 40 })).found).toBe(110)
    expect((await ask("red wall clock word3", { per_page: 40 })).hits).toEqual(before.hits)
  })
  it("keeps phrases and exclusions", async () => {
    await open([
      { id: "1", title: "red wall clock" },
      { id: "2", title: "clock wall red" },
      { id: "3", title: "red clock" }
    ])
    expect(await ids('"wall clock"')).toEqual(["1"])
    expect(await ids("clock -wall")).toEqual(["3"])
  })
  it("leaves a query of stop words to the plain ranking", async () => {
    await open([
      { id: "1", title: "the who" },
      { id: "2", title: "a band" }
    ])
    expect(await ids("the who")).toEqual(["1"])
  })
  it("searches wildcards as one text, and fields that are not stored", async () => {
    await open(
      [
        { id: "1", title: "x", attr_a: "walnut", attr_b: "hinge" },
        { id: "2", title: "y", attr_b: "oak", hidden: "walnut" }
      ],
      [text("title"), text("attr_a"), text("attr_b"), text("hidden", { store: false })]
    )
    expect(await ids("walnut", { query_by: "title,attr_*" })).toEqual(["1"])
    expect(await ids("walnut", { query_by: "hidden" })).toEqual(["2"])
  })
  it("reads lists and nested objects without joining their ends", async () => {
    await open(
      [{ id: "1", title: "x", parts: ["steel frame", "oak top"], maker: { name: "Nord" } }],
      [text("title"), { name: "parts", type: "string[]" }, { name: "maker", type: "object" }],
      { enable_nested_fields: true }
    )
    expect(await ids("oak nord", { query_by: "title,parts,maker" })).toEqual(["1"])
    expect(await ids("nord", { query_by: "maker.name" })).toEqual(["1"])
  })
  it("uses synonyms", async () => {
    await open(
      [
        { id: "1", title: "television" },
        { id: "2", title: "radio" }
      ],
      [text("title"), text("body")],
      { synonym_sets: [] }
    )
    await lab.call("PUT", "/synonym_sets/s", { items: [{ id: "tv", synonyms: ["tv", "television"] }] })
    expect(await ids("tv", { synonym_sets: "s" })).toEqual(["1"])
  })
})

describe("what is scored and what is skipped", () => {
  const WORDS = ["oak", "pine", "elm", "ash", "lamp", "desk", "chair", "shelf", "red", "blue", "green", "old"]
  /** Texts of random words, so that scores differ and some pairs occur by chance. */
  const shelf = (docs: number, random: () => number) =>
    Array.from({ length: docs }, (_none, i) => {
      const words = (count: number) =>
        Array.from({ length: count }, () => WORDS[Math.floor(random() * WORDS.length)]).join(" ")
      return { id: String(i), own: String(i), title: words(3), body: words(4 + Math.floor(random() * 12)) }
    })
  const own = { name: "own", type: "string", facet: true, sort: true }
  /** Grouped with one hit for each group, so that every document of the answer is scored completely. */
  const scored = async (q: string, more: Record<string, string | number | boolean> = {}) => {
    const { body } = await lab.search("c", { q, query_by: "title,body", ranking: "relevance", prefix: false, ...more })
    const hits: ReadonlyArray<{ readonly document: { readonly id: string }; readonly text_match: number }> =
      body.grouped_hits?.map((group: { readonly hits: ReadonlyArray<unknown> }) => group.hits[0]) ?? body.hits
    return hits.map(({ document, text_match }) => `${document.id} ${text_match}`)
  }

  it("gives the same first page whether only the best or all are scored", async () => {
    await open(shelf(3_000, seeded(11)), [text("title"), text("body"), own])
    for (const q of ["oak", "oak lamp", "lamp oak desk", "red oak shelf lamp", "old blue chair pine desk"]) {
      const all = await scored(q, { group_by: "own", group_limit: 1 })
      expect(all).toHaveLength(10)
      expect(await scored(q)).toEqual(all)
      // So many hits that most of the window is in the answer.
      expect((await scored(q, { per_page: 150 })).slice(0, 10)).toEqual(all)
    }
  })
  it("counts the same documents whether few or all are scored", async () => {
    await open(shelf(3_000, seeded(12)), [text("title"), text("body"), own])
    for (const q of ["oak", "oak lamp", "lamp oak desk shelf", "red oak shelf lamp chair pine"]) {
      const { found } = await ask(q)
      expect(found).toBeGreaterThan(300)
      expect(found).toBe((await ask(q, { sort_by: "own:asc" })).found)
    }
  })
  it("orders equal scores beyond the scored ones by the next key", async () => {
    const equals = Array.from({ length: 700 }, (_none, i) => ({ id: String(i), body: "plain oak", n: i }))
    await open(equals, [text("title"), text("body"), { name: "n", type: "int32" }])
    const asked = { sort_by: "_text_match:desc,n:desc", per_page: 3 }
    expect(await ids("oak", asked)).toEqual(["699", "698", "697"])
    expect(await ids("oak", { ...asked, sort_by: "_text_match:desc,n:asc" })).toEqual(["0", "1", "2"])
  })
  it("finds a document that its neighbours lift from far below, and keeps the rest beside one without any", async () => {
    const q = "oak lamp desk red"
    const row = (group: string, docs: number, title: string, body: string) =>
      Array.from({ length: docs }, (_none, i) => ({ id: group + i, own: group + i, title, body }))
    const plain = [
      ...row("best", 8, q, "zeta eta theta iota kappa"),
      ...row("middle", 20, "", q),
      ...row("risen", 1, "", `${q} zeta eta theta iota kappa`),
      ...row(
        "low",
        160,
        "",
        "oak plain words stand plain words stand lamp plain words stand plain words stand desk red"
      )
    ]
    await open(plain, [text("title"), text("body"), own])
    const page = await scored(q)
    expect(page).toEqual(await scored(q, { group_by: "own", group_limit: 1 }))
    expect(page[8]).toMatch(/^risen0 /)
    await lab.close()
    // It has so many words of its own that none of the shared ones is kept as a neighbour.
    const apart = (between: () => string) => q.replaceAll(" ", () => ` ${between()} `)
    let words = 0
    const alone = row(
      "alone",
      1,
      "",
      apart(() => Array.from({ length: 24 }, () => `own${words++}`).join(" "))
    )
    const last = row(
      "last",
      60,
      "",
      apart(() => "plenty filler text stuff ".repeat(9))
    )
    const more = row("more", 4, q, "zeta eta theta iota kappa")
    await open([...plain, ...more, ...alone, ...last], [text("title"), text("body"), own])
    expect(await scored(q)).toEqual(await scored(q, { group_by: "own", group_limit: 1 }))
  })
  it("distinguishes long texts by their length", async () => {
    const long = (words: number) => `oak ${"filler ".repeat(words)}`
    await open([
      { id: "1", body: long(700) },
      { id: "2", body: long(550) }
    ])
    const found = await scores("oak")
    expect(found.get("2")).toBeGreaterThan(found.get("1")!)
  })
  it("follows newly published documents", async () => {
    const documents = shelf(500, seeded(13))
    const later = shelf(100, seeded(14)).map(({ body, id, title }) => ({
      id: `new${id}`,
      title: `oak lamp ${title}`,
      body
    }))
    const write = () =>
      lab.call("POST", "/collections/c/documents/import", later.map((document) => JSON.stringify(document)).join("\n"))
    const queries = ["oak lamp", "lamp oak desk", "red oak shelf lamp"]
    await open(documents)
    const before: string[][] = [],
      after: string[][] = []
    for (const q of queries) before.push(await scored(q))
    await write()
    for (const q of queries) after.push(await scored(q))
    expect(after).not.toEqual(before)
    await lab.close()
    // The same documents, but without earlier searches.
    await open(documents)
    await write()
    for (const [i, q] of queries.entries()) expect(await scored(q)).toEqual(after[i])
  })
})

describe("the score of a match", () => {
  it("is the same wherever the document is, and whether lists are read or searched for few matches", async () => {
    const documents = Array.from({ length: 4_000 }, (_none, i) => ({
      id: String(i),
      title: `oak ${"lamp ".repeat(i % 7)}`,
      body: i % 2 === 0 ? "pine" : "oak beside oak",
      n: i
    }))
    await open(documents, [text("title"), text("body"), { name: "n", type: "int32" }])
    const scoresOf = async (order: string, filter: string) =>
      (await ask("oak", { per_page: 250, sort_by: `n:${order},_text_match:desc`, filter_by: filter })).hits.map(
        ({ document, text_match }) => ({ kind: Number(document.id) % 14, text_match })
      )
    const first = await scoresOf("asc", "n:>=0"),
      ofKind = first.slice(0, 14).map(({ text_match }) => text_match)
    expect(new Set(ofKind).size).toBe(14)
    // The last are forty matches of four thousand: their postings are searched one by one.
    for (const [order, filter] of [
      ["asc", "n:>=0"],
      ["desc", "n:>=0"],
      ["asc", "n:[1000..1300]"],
      ["asc", "n:[1500..1540]"]
    ]) {
      const scores = await scoresOf(order, filter)
      expect(scores.length).toBeGreaterThan(40)
      for (const { kind, text_match } of scores) expect(text_match).toBe(ofKind[kind])
    }
  })
})

describe("marks", () => {
  const snippets = async (q: string) => (await ask(q)).hits.map(({ highlight }) => highlight.title.snippet)
  it("are on words within tokens, however the tokens begin", async () => {
    await open([
      { id: "1", title: "Pavilion dv7-1211ea notebook computer" },
      { id: "2", title: "Ölmühle Öl and oil" }
    ])
    expect(await snippets("1211ea")).toEqual(["Pavilion <mark>dv7-1211ea</mark> notebook computer"])
    expect(await snippets("notebooks")).toEqual(["Pavilion dv7-1211ea <mark>notebook</mark> computer"])
    expect(await snippets("ol")).toEqual(["Ölmühle <mark>Öl</mark> and oil"])
    const { hits } = await ask("noteb", { prefix: true })
    expect(hits[0].highlight.title.snippet).toBe("Pavilion dv7-1211ea <mark>noteb</mark>ook computer")
  })
  it("are on words whose second letter differs from their root's", async () => {
    await open([{ id: "1", title: "A dying lamp, dies at noon" }])
    expect(await snippets("die")).toEqual(["A <mark>dying</mark> lamp, <mark>dies</mark> at noon"])
  })
  it("are on words that an indexed symbol joins to others", async () => {
    await open([{ id: "1", title: "red+blue lamp" }], [text("title", { symbols_to_index: ["+"] }), text("body")])
    expect(await snippets("blue")).toEqual(["<mark>red+blue</mark> lamp"])
  })
})

describe("change", () => {
  it("sees upserts and deletes at once, whatever was built before", async () => {
    await open([
      { id: "1", title: "red lamp" },
      { id: "2", title: "red chair" }
    ])
    expect((await ids("red")).sort()).toEqual(["1", "2"])
    await lab.call("POST", "/collections/c/documents?action=upsert", { id: "1", title: "blue lamp" })
    expect(await ids("red")).toEqual(["2"])
    expect(await ids("blue")).toEqual(["1"])
    await lab.call("DELETE", "/collections/c/documents/2")
    expect(await ids("red")).toEqual([])
  })
  it("keeps words through merges without reading the documents again, updates and deletes in between", async () => {
    await open([])
    const expected = new Map<string, string>()
    const random = seeded(5)
    for (let batch = 0; batch < 60; batch++) {
      const lines = Array.from({ length: 5 }, () => {
        const id = String(Math.floor(random() * 150)),
          title = `shared word${batch % 7} own${id}x${batch}`
        expected.set(id, title)
        return JSON.stringify({ id, title })
      })
      await lab.call("POST", "/collections/c/documents/import?action=upsert", lines.join("\n"))
      if (batch % 6 === 5) {
        const id = [...expected.keys()][0]
        expected.delete(id)
        await lab.call("DELETE", `/collections/c/documents/${id}`)
      }
      if (batch % 4 === 0) await ids("shared")
    }
    await new Promise((resolve) => setTimeout(resolve, 50))
    for (let word = 0; word < 7; word++) {
      const wanted = [...expected]
        .filter(([, title]) => title.includes(`word${word} `))
        .map(([id]) => id)
        .sort()
      expect((await ids(`word${word}`, { per_page: 250, num_typos: 0 })).sort()).toEqual(wanted)
    }
    expect((await ask("shared")).found).toBe(expected.size)
  })
  it("works over an engine that stores documents on disk and writes in a worker, also after a restart", async () => {
    lab = createLab()
    const path = mkdtempSync(join(tmpdir(), "dowser-relevance-engine-"))
    const answers: string[][] = []
    for (const isFirst of [true, false]) {
      const engine = await openEngine({ path, worker: true })
      const wire = routerOver({ engine, resources: memoryResources(), namespace: "own" })
      if (isFirst) {
        await wire("POST", "/collections", JSON.stringify({ name: "c", fields: [text("title")] }))
        await wire(
          "POST",
          "/collections/c/documents/import",
          Array.from({ length: 800 }, (_, i) =>
            JSON.stringify({ id: String(i), title: i % 100 === 0 ? "copper kettle" : `plain thing ${i}` })
          ).join("\n")
        )
      }
      const { text: body } = await wire(
        "GET",
        "/collections/c/documents/search?q=coper%20ketle&query_by=title&ranking=relevance&prefix=false",
        undefined
      )
      answers.push(
        (JSON.parse(body) as { readonly hits: ReadonlyArray<{ readonly document: { readonly id: string } }> }).hits.map(
          ({ document }) => document.id
        )
      )
      const other = await routerOver({ engine, resources: memoryResources(), namespace: "other" })(
        "GET",
        "/collections/c/documents/search?q=kettle&query_by=title&ranking=relevance",
        undefined
      )
      expect(other.status).toBe(404)
      await engine.close()
    }
    rmSync(path, { recursive: true, force: true })
    expect(answers[0].map(Number).sort((a, b) => a - b)).toEqual([0, 100, 200, 300, 400, 500, 600, 700])
    expect(answers[1]).toEqual(answers[0])
  })
  it("gives the same order however documents are spread over segments", async () => {
    const random = seeded(11)
    const vocabulary = ["oak", "pine", "desk", "lamp", "chair", "shelf", "steel", "glass", "round", "small"]
    const sentence = (n: number) =>
      Array.from({ length: n }, () => vocabulary[Math.floor(random() * vocabulary.length)]).join(" ")
    const documents = Array.from({ length: 120 }, (_, i) => ({ id: String(i), title: sentence(3), body: sentence(12) }))
    const queries = ["oak desk", "small round lamp", "steel glass shelf chair", "pine"]
    await open(documents)
    const answers = () =>
      Promise.all(queries.flatMap((q) => ["bm25", "relevance"].map((ranking) => ids(q, { per_page: 200, ranking }))))
    const together = await answers()
    await lab.close()
    await open([])
    for (let at = 0; at < documents.length; at += 9)
      await lab.call(
        "POST",
        "/collections/c/documents/import?action=create",
        documents
          .slice(at, at + 9)
          .map((document) => JSON.stringify(document))
          .join("\n")
      )
    expect(await answers()).toEqual(together)
  })
})

describe("search_cutoff_ms", () => {
  it("ends both rankings with the hits found so far, and says so", async () => {
    await open(
      Array.from({ length: 2_000 }, (_, i) => ({
        id: `${i}`,
        title: `red kettle ${i % 7}`,
        body: "a kettle that is red ".repeat(20)
      }))
    )
    for (const ranking of ["relevance", "plain"]) {
      const { body, status } = await lab.search("c", {
        q: "red kettle",
        query_by: "title,body",
        ranking,
        search_cutoff_ms: 0
      })
      expect([status, (body as { search_cutoff: boolean }).search_cutoff]).toEqual([200, true])
      const whole = (await lab.search("c", { q: "red kettle", query_by: "title,body", ranking })).body as {
        search_cutoff: boolean
        found: number
      }
      expect([whole.search_cutoff, whole.found]).toEqual([false, 2_000])
    }
  })
})
