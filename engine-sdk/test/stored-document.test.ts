/** Fields extracted from stored text equal those of a complete parse; tokens as bytes equal those as strings. */
import { describe, expect, it } from "vitest"
import { analyzerOf } from "../src/analysis/analyzer.ts"
import { AsciiTokens } from "../src/analysis/ascii-tokens.ts"
import { encodeUtf8, hashBytes } from "../src/index/bytes.ts"
import { allocatePlain, SectionReader, SectionWriter } from "../src/index/sections.ts"
import { StringTable } from "../src/index/string-table.ts"
import { TokenTable } from "../src/index/token-table.ts"
import { IdFilter } from "../src/store/id-filter.ts"
import { pickFields, StoredDocument } from "../src/documents/mod.ts"
import { answerToJson, storedHit } from "../src/search/answer/answer-json.ts"
import { suiteField, suiteSchema } from "../src/testing/engine-suite.ts"

/** The mulberry32 generator. */
const randomOf = (seed: number) => () => {
  seed = (seed + 0x6d2b79f5) | 0
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed)
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
  return ((t ^ (t >>> 14)) >>> 0) / 4294967296
}
const PIECES = [
  "a",
  "b",
  '"',
  "\\",
  '\\"',
  "{",
  "}",
  "[",
  "]",
  ",",
  ":",
  " ",
  "\n",
  "é",
  "日",
  "\u{1f600}",
  "name",
  "title"
]
const pick = <A>(random: () => number, from: ReadonlyArray<A>): A => from[Math.floor(random() * from.length)]
const textOf = (random: () => number): string =>
  Array.from({ length: Math.floor(random() * 8) }, () => pick(random, PIECES)).join("")
const valueOf = (random: () => number, depth = 0): unknown => {
  const roll = random()
  if (roll < 0.4) return textOf(random)
  if (roll < 0.55) return Math.floor(random() * 2e6) / 1000 - 1000
  if (roll < 0.65) return pick(random, [true, false, null])
  if (depth > 2) return "x"
  if (roll < 0.85) return Array.from({ length: Math.floor(random() * 4) }, () => valueOf(random, depth + 1))
  return Object.fromEntries(
    Array.from({ length: Math.floor(random() * 4) }, () => [textOf(random), valueOf(random, depth + 1)])
  )
}

describe("fields of a stored document", () => {
  it("equal those of a complete parse, whatever the text looks like", () => {
    let walked = 0
    for (let seed = 1; seed <= 3000; seed++) {
      const random = randomOf(seed)
      const document = Object.fromEntries(
        Array.from({ length: 1 + Math.floor(random() * 6) }, (): [string, unknown] => [
          random() < 0.6 ? pick(random, ["title", "name", "tags", "a.b"]) : textOf(random),
          valueOf(random)
        ])
      )
      const text = JSON.stringify(document, undefined, pick(random, [0, 0, 2, "\t"]))
      const names = ["title", "name", "tags", "a.b", "missing"]
      const picked = pickFields(text, names)
      if (picked !== undefined) {
        walked++
        expect(picked, text).toEqual(names.map((name) => document[name]))
      }
      expect(new StoredDocument(text).pick(names), text).toEqual(names.map((name) => document[name]))
    }
    expect(walked).toBeGreaterThan(1000)
  })
  it("are the document's own keys; escaped keys are left to the parser", () => {
    const tricky = { inner: { title: "no" }, list: [{ title: "no" }], title: "yes", last: 2.5 }
    expect(pickFields(JSON.stringify(tricky), ["title", "last", "inner"])).toEqual(["yes", 2.5, { title: "no" }])
    expect(pickFields('{"title":"a, title: b","tags":["title","x"],"x":null}', ["x", "tags", "title", "tag"])).toEqual([
      null,
      ["title", "x"],
      "a, title: b",
      undefined
    ])
    expect(pickFields('{"a":1,"b":2}', ['a":1,"b', "b"])).toEqual([undefined, 2])
    expect(pickFields('{"\\u0061":1}', ["a"])).toBeUndefined()
    expect(new StoredDocument('{"\\u0061":1}').pick(["a"])).toEqual([1])
    expect(pickFields("{}", ["a"])).toEqual([undefined])
  })
  it("are written as stored until the document has been read", () => {
    const answerOf = (change: (hit: ReturnType<typeof storedHit>) => void): string => {
      const hit = storedHit(new StoredDocument('{ "id": "1" }'), {})
      change(hit)
      return answerToJson({ hits: [hit] } as never)
    }
    expect(answerOf(() => {})).toBe('{"hits":[{"document":{ "id": "1" },"highlight":{}}]}')
    expect(
      answerOf((hit) => {
        hit.document.price = 3
      })
    ).toBe('{"hits":[{"document":{"id":"1","price":3},"highlight":{}}]}')
    expect(
      answerOf((hit) => {
        hit.document = { id: "2" }
      })
    ).toBe('{"hits":[{"document":{"id":"2"},"highlight":{}}]}')
    const copy = { ...storedHit(new StoredDocument('{"id":"1"}'), {}), pinned: true }
    expect(answerToJson({ hits: [copy] } as never)).toBe(
      '{"hits":[{"document":{"id":"1"},"highlight":{},"pinned":true}]}'
    )
  })
})

describe("tokens as bytes", () => {
  it("are the same tokens wherever they are available", () => {
    const pieces = [
      "Wool",
      "v-neck",
      "O'Neil",
      " ",
      "  ",
      "\n",
      "28",
      "cm,",
      "UPPER",
      "x",
      "é",
      "日本",
      "_",
      "a".repeat(130),
      "-",
      "."
    ]
    const into = new AsciiTokens()
    let asBytes = 0
    for (let seed = 1; seed <= 3000; seed++) {
      const random = randomOf(seed)
      const field = suiteField("v", "string", {
        symbols_to_index: random() < 0.3 ? ["-"] : [],
        token_separators: random() < 0.3 ? [".", "_"] : [],
        truncate_len: random() < 0.2 ? 5 : 100
      })
      const analyzer = analyzerOf(suiteSchema("c", [field]), field)
      const text = Array.from({ length: Math.floor(random() * 12) }, () =>
        pick(random, seed % 2 === 0 ? pieces.filter((piece) => /^[\x00-\x7f]*$/.test(piece)) : pieces)
      ).join(random() < 0.5 ? " " : "")
      if (!analyzer.asciiTokens(text, into)) {
        expect(/^[\x00-\x7f]*$/.test(text)).toBe(false)
        continue
      }
      asBytes++
      expect(
        Array.from({ length: into.count }, (_, i) =>
          new TextDecoder().decode(into.bytes.subarray(i === 0 ? 0 : into.ends[i - 1], into.ends[i]))
        ),
        text
      ).toEqual(analyzer.tokenize(text))
    }
    expect(asBytes).toBeGreaterThan(1000)
  })
  it("have the same numbers whether they come as bytes or as text", () => {
    const table = new TokenTable(),
      numbers = new Map<string, number>()
    const analyzer = analyzerOf(suiteSchema("c", [suiteField("v", "string")]), suiteField("v", "string"))
    const into = new AsciiTokens()
    for (let seed = 1; seed <= 20_000; seed++) {
      const random = randomOf(seed)
      const word = `${pick(random, ["ab", "ba", "日", "x", ""])}${Math.floor(random() * 6000).toString(36)}`
      const number = numbers.get(word) ?? numbers.size
      numbers.set(word, number)
      if (random() < 0.5 && analyzer.asciiTokens(word, into))
        expect(table.idOf(into.bytes, 0, into.ends[0], into.hashes[0])).toBe(number)
      else expect(table.idOfText(word)).toBe(number)
    }
    const sections = new SectionWriter()
    const { rank } = table.put(sections, "w.")
    const { meta, region } = sections.finish(0, [], allocatePlain)
    const sorted = StringTable.read(new SectionReader(meta, region), "w.")
    for (const [word, number] of numbers) expect(sorted.text(rank[number])).toBe(word)
    expect(sorted.size).toBe(numbers.size)
  })
  it("keep their numbers while a large table grows, whatever its initial size", () => {
    for (const room of [0, 31, 40_000, 90_000]) {
      const table = new TokenTable(room),
        random = randomOf(room + 1),
        numbers = new Map<string, number>(),
        words: Array<string> = []
      for (let i = 0; i < 150_000; i++) {
        const word =
          words.length > 0 && random() < 0.3
            ? pick(random, words)
            : `${i.toString(36)}${random() < 0.0005 ? "x".repeat(Math.floor(random() * 200_000)) : random() < 0.1 ? "é".repeat(Math.floor(random() * 40)) : ""}`
        const number = numbers.get(word) ?? numbers.size
        if (!numbers.has(word)) {
          numbers.set(word, number)
          words.push(word)
        }
        if (table.idOfText(word) !== number) expect.fail(`${word.slice(0, 20)} after ${i} words in room for ${room}`)
      }
      expect(table.size).toBe(words.length)
      for (let id = 0; id < words.length; id++)
        if (table.text(id) !== words[id] || table.find(encodeUtf8(words[id])) !== id)
          expect.fail(`${id} in room for ${room}`)
      expect(table.find(encodeUtf8("nowhere"))).toBe(-1)
    }
  })
})

describe("the filter of ids", () => {
  it("never denies an existing id, and rarely passes a missing one", () => {
    const hashOf = (id: string): number => {
      const key = encodeUtf8(id)
      return hashBytes(key, 0, key.length)
    }
    const filter = new IdFilter(1)
    let added = 0
    while (!filter.isFull) filter.add(hashOf(`sku-${added++}`))
    for (let i = 0; i < added; i++) expect(filter.mayHold(hashOf(`sku-${i}`))).toBe(true)
    let passed = 0
    for (let i = 0; i < 10_000; i++) if (filter.mayHold(hashOf(`other-${i}`))) passed++
    expect(passed).toBeLessThan(200)
  })
})
