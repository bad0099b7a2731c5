/** The text of a page equals the text of its hits, and hits that were read are written in their current state. */
import { describe, expect, it } from "vitest"
import { packed, TextReader, Texts, unpacked } from "../src/lane/portable.ts"
import { createEngine } from "../src/memory/mod.ts"
import {
  createCollection,
  memoryResources,
  mergeSearchParameters,
  planSearch,
  type OperationContext
} from "../src/operations/mod.ts"
import type { SearchAnswer } from "../src/plan.ts"
import { answerToJson } from "../src/search/answer/answer-json.ts"
import { randomOf } from "./random.ts"

const WORDS = [
  "wool",
  "red",
  "Rëd",
  "shoe",
  "shoes",
  "v-neck",
  "O'Neil",
  '"quoted"',
  "back\\slash",
  "日本",
  "x",
  "42",
  "\u{1f600}",
  "\ud800",
  "line\nbreak",
  "naïve"
]
const FIELDS = [
  { name: "title", type: "string" },
  { name: "brand", type: "string", facet: true },
  { name: "tags", type: "string[]", facet: true },
  { name: 'note "7"', type: "string", optional: true },
  { name: "2024", type: "string", optional: true },
  { name: "maker", type: "object", optional: true },
  { name: "parts", type: "object[]", optional: true },
  { name: "price", type: "float", optional: true },
  { name: "place", type: "geopoint", optional: true }
]
const world = async (seed: number) => {
  const { next: random, pick } = randomOf(seed)
  const text = (most: number): string =>
    Array.from({ length: 1 + Math.floor(random() * most) }, () => pick(WORDS)).join(pick([" ", " ", ", "]))
  const engine = createEngine()
  const context: OperationContext = { engine, resources: memoryResources(), namespace: "a", now_s: 0 }
  expect(
    (await createCollection(context, JSON.stringify({ name: "c", enable_nested_fields: true, fields: FIELDS }))).ok
  ).toBe(true)
  const some = (value: unknown): { [name: string]: unknown } =>
    random() < 0.5 ? (value as { [name: string]: unknown }) : {}
  const documents = Array.from({ length: 40 }, (_, i) =>
    JSON.stringify({
      ...some({ "2024": text(3) }),
      id: `d${i}`,
      title: text(40),
      ...some({ 'note "7"': text(3) }),
      brand: text(2),
      tags: Array.from({ length: Math.floor(random() * 8) }, () => text(2)),
      ...some({ maker: { name: text(2), title: text(2) } }),
      ...some({ parts: [{ name: text(2) }, { name: text(3), tags: [text(1), text(2)] }] }),
      ...some({ price: Math.floor(random() * 100) }),
      ...some({ place: [random(), random()] }),
      unknown: [text(2), null, 1]
    })
  )
  const written = await engine.write(
    "a",
    "c",
    documents.map((document) => ({ kind: "put", action: "create", dirtyValues: undefined, document }))
  )
  if (!written.ok || !written.value.every(({ result }) => result.ok)) throw new Error(JSON.stringify(written))
  const maybe = (name: string, values: ReadonlyArray<string>): Record<string, string> =>
    random() < 0.25 ? { [name]: pick(values) } : {}
  const parameters = () => ({
    q: random() < 0.1 ? "*" : Array.from({ length: 1 + Math.floor(random() * 3) }, () => pick(WORDS)).join(" "),
    query_by: pick([
      "title",
      "title,brand,tags",
      "tags,title",
      "brand,2024",
      'note "7",tags',
      "title,maker.name",
      "parts.name,title",
      "parts.tags,tags",
      "title,2024,tags,brand"
    ]),
    ...maybe("highlight_full_fields", ["title", "tags", "title,tags,maker"]),
    ...maybe("highlight_fields", ["tags", "title,2024", "maker", "parts", "tags,maker.name"]),
    ...maybe("enable_highlight_v1", ["false"]),
    ...maybe("snippet_threshold", ["0", "2"]),
    ...maybe("highlight_affix_num_tokens", ["0", "1"]),
    ...maybe("highlight_start_tag", ['<"b">']),
    ...maybe("sort_by", ["price:desc", "_text_match:desc,price:asc", "place(0.5,0.5):asc"]),
    ...maybe("infix", ["fallback"]),
    ...maybe("num_typos", ["0"]),
    ...maybe("prefix", ["false"]),
    ...maybe("include_fields", ["title", "id,tags"]),
    ...maybe("pinned_hits", ["d3:1"]),
    ...maybe("group_by", ["brand"]),
    ...maybe("facet_by", ["brand", "tags,brand"]),
    ...maybe("per_page", ["0", "3"]),
    ...maybe("ranking", ["relevance"])
  })
  const find = async (asked: Record<string, string>): Promise<SearchAnswer> => {
    const merged = mergeSearchParameters(context, [asked], {})
    if (!merged.ok) throw new Error(merged.error.message)
    const plan = await planSearch(context, engine.describeCollection("a", "c")!, merged.value)
    if (!plan.ok) throw new Error(plan.error.message)
    const [found] = await engine.search("a", [{ ...plan.value, echo: { ...plan.value.echo, excludeSearchTime: true } }])
    if (!found.ok) throw new Error(found.error.message)
    return found.value
  }
  return { engine, find, parameters }
}

/** The answer as another thread receives it, with its texts in one. */
const elsewhere = (answer: SearchAnswer): SearchAnswer => {
  const texts = new Texts(),
    sent = packed({ ok: true, value: answer }, {}, texts)
  const there = unpacked<SearchAnswer>(structuredClone(sent), new TextReader(texts.text))
  if (!there.ok) throw new Error(there.error.message)
  return there.value
}

describe("the text of a page", () => {
  it("equals that of its hits", async () => {
    let marked = 0,
      listed = 0
    for (let seed = 1; seed <= 12; seed++) {
      const { engine, find, parameters } = await world(seed)
      for (let n = 0; n < 60; n++) {
        const asked = parameters()
        const text = answerToJson(await find(asked))
        const read = await find(asked)
        for (const hit of read.hits ?? read.grouped_hits?.flatMap(({ hits }) => hits) ?? []) {
          if (Object.keys(hit.highlight).length > 0) marked++
          if ((hit.highlights ?? []).some((one) => "indices" in one)) listed++
        }
        expect(answerToJson(read), JSON.stringify(asked)).toBe(text)
        const there = elsewhere(await find(asked))
        expect(answerToJson(there), JSON.stringify(asked)).toBe(text)
        for (const hit of there.hits ?? there.grouped_hits?.flatMap(({ hits }) => hits) ?? []) void hit.highlight
        for (const { counts } of there.facet_counts) void counts.length
        expect(JSON.parse(answerToJson(there)), JSON.stringify(asked)).toEqual(JSON.parse(text))
        expect(Object.keys(JSON.parse(text) as object), "one order of members").toEqual(Object.keys(read))
        // Reading a document makes the writer serialize it again, but changes nothing.
        for (const hit of read.hits ?? []) void hit.document
        expect(answerToJson(read), JSON.stringify(asked)).toBe(text)
      }
      await engine.close()
    }
    expect(marked).toBeGreaterThan(500)
    expect(listed).toBeGreaterThan(200)
  })
  it("includes changes to its hits, and stays the same when the collection changes", async () => {
    const { engine, find } = await world(1)
    const asked = { q: "shoe", query_by: "title", per_page: "2" }
    const answer = await find(asked),
      text = answerToJson(answer)
    await engine.write(
      "a",
      "c",
      [...((await find({ ...asked, per_page: "40" })).hits ?? [])].map(
        ({ document }) => ({ kind: "delete", id: String(document.id) }) as never
      )
    )
    expect(answerToJson(answer)).toBe(text)
    answer.hits![0].distance_m = 7
    expect(answerToJson(answer)).not.toBe(text)
    expect(answerToJson(answer).replace(',"distance_m":7', "")).toBe(text)
    answer.hits = answer.hits!.slice(1)
    expect(JSON.parse(answerToJson(answer))).toMatchObject({
      found: answer.found,
      hits: [{ document: answer.hits[0].document }]
    })
    const replaced = await find({ q: "wool", query_by: "title" })
    replaced.hits = []
    expect(answerToJson(replaced)).toContain('"hits":[]')
    await engine.close()
  })
})
