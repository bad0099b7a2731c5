/** A text that is scanned for a few words is marked as if each of its tokens had been looked at. */
import { describe, expect, it } from "vitest"
import { analyzerOf } from "../src/analysis/analyzer.ts"
import { TextTokens, wantedTokens } from "../src/analysis/text-tokens.ts"
import { FieldMarks, MarkedText, PlainMarks } from "../src/search/highlight/marks.ts"
import { bestWindow, snippetOf, type SnippetRules } from "../src/search/highlight/highlight-text.ts"
import { suiteField, suiteSchema } from "../src/testing/engine-suite.ts"

/** The mulberry32 generator. */
const randomOf = (seed: number) => () => {
  seed = (seed + 0x6d2b79f5) | 0
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed)
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
  return ((t ^ (t >>> 14)) >>> 0) / 4294967296
}
const pick = <A>(random: () => number, from: ReadonlyArray<A>): A => from[Math.floor(random() * from.length)]

const SCHEMAS = [
  suiteSchema("c", [suiteField("v", "string")]),
  suiteSchema("c", [suiteField("v", "string")], { token_separators: ["-", "/"], symbols_to_index: ["+", "#", '"'] }),
  suiteSchema("c", [suiteField("v", "string", { truncate_len: 3 })]),
  suiteSchema("c", [suiteField("v", "string", { stem: true })]),
  suiteSchema("c", [suiteField("v", "string", { locale: "fr" })])
]
const ASCII = [
  "Wool",
  "wool",
  "woollen",
  "O'Neil",
  "ONEIL",
  "v-neck",
  "28",
  "cm",
  "-",
  "wo-ol",
  "wool-",
  "c++",
  "a/b",
  "'x'",
  "x",
  "W.",
  '"wool"',
  "d'or",
  "back\\slash",
  "a\tb",
  "_"
]
const PIECES = [...ASCII, "Été", "Straße", "日本", "e\u0301", "wo\u{1f600}ol"]
const RULES: SnippetRules = {
  affixTokens: 2,
  threshold: 5,
  startTag: "<",
  endTag: ">",
  arePlainTags: true,
  isFull: false,
  separators: "",
  symbols: "",
  bytesMax: 1_000_000
}

describe("the tokens of a text", () => {
  it("are the same whether they are scanned for or split one by one", () => {
    const scanned = new TextTokens(),
      split = new TextTokens()
    let marked = 0,
      ascii = 0,
      lower = 0
    for (let seed = 1; seed <= 6_000; seed++) {
      const random = randomOf(seed),
        schema = pick(random, SCHEMAS),
        analyzer = analyzerOf(schema, schema.fields[0]),
        pieces = pick(random, [ASCII, PIECES])
      const text = Array.from({ length: 1 + Math.floor(random() * 30) }, () => pick(random, pieces)).join(
        pick(random, [" ", " ", "\n", ", ", ""])
      )
      const words = new Map(
        analyzer.tokenize(Array.from({ length: 3 }, () => pick(random, pieces)).join(" ")).map((token) => [
          token,
          {
            typedLength: 1 + Math.floor(random() * token.length),
            typos: Math.floor(random() * 3),
            isPrefix: random() < 0.5
          }
        ])
      )
      const rules = {
        ...RULES,
        affixTokens: Math.floor(random() * 3),
        threshold: pick(random, [0, 1, 5, 30]),
        isFull: random() < 0.3,
        separators: schema.token_separators.join(""),
        symbols: schema.symbols_to_index.join("")
      }
      const find = (token: string) => words.get(token)
      const all = analyzer.tokenizeWithOffsets(text)
      split.take(all)
      analyzer.readTokens(text, wantedTokens(words.keys()), scanned)
      expect(
        Array.from({ length: scanned.count }, (_, i) => [scanned.edges[2 * i], scanned.edges[2 * i + 1]]),
        text
      ).toEqual(all.map(({ end, start }) => [start, end]))
      for (let i = 0; i < scanned.texts.length; i++) expect(scanned.texts[i], text).toBe(all[scanned.places[i]].token)
      if (scanned.areLower) {
        lower++
        const written = scanned.places.map((i) => text.slice(all[i].start, all[i].end).toLowerCase())
        expect(scanned.texts, text).toEqual(written)
      }
      const expected = bestWindow(text, split, find),
        match = bestWindow(text, scanned, find)
      expect(match, text).toEqual(expected)
      if (scanned.isAscii) ascii++
      if (scanned.isPlainJson) expect(JSON.stringify(text), text).toBe(`"${text}"`)
      if (match === undefined) continue
      marked++
      expect(snippetOf(text, scanned, match, find, rules), text).toEqual(snippetOf(text, split, match, find, rules))
    }
    expect(marked).toBeGreaterThan(2_000)
    expect(ascii).toBeGreaterThan(2_000)
    expect(lower).toBeGreaterThan(100)
  })
  it("leave out nearly all words that are not looked for", () => {
    const analyzer = analyzerOf(SCHEMAS[0], SCHEMAS[0].fields[0]),
      tokens = new TextTokens()
    analyzer.readTokens("Soft wool for cold days; wood or weave it", wantedTokens(["wool"]), tokens)
    expect(tokens.texts).toEqual(["wool", "wood"])
    expect(tokens.places).toEqual([1, 5])
    expect(tokens.count).toBe(9)
    // A named ranking finds "oo" within this one.
    analyzer.readTokens("Soft bam-oo, soft", wantedTokens(["oo"]), tokens)
    expect(tokens.texts).toEqual(["bamoo"])
    analyzer.readTokens("Soft wool", undefined, tokens)
    expect(tokens.texts).toEqual(["soft", "wool"])
  })
  it("of a long text are found without space that is kept", () => {
    const analyzer = analyzerOf(SCHEMAS[0], SCHEMAS[0].fields[0]),
      tokens = new TextTokens()
    for (const length of [65_536, 65_537, 700_000]) {
      const text = `${"a ".repeat(length / 2 - 2)}wool`.padEnd(length)
      analyzer.readTokens(text, wantedTokens(["wool"]), tokens)
      expect(tokens.texts.at(-1)).toBe("wool")
      expect(tokens.count).toBe(Math.floor(length / 2) - 1)
      expect(tokens.places.at(-1)).toBe(tokens.count - 1)
      analyzer.readTokens("wool", wantedTokens(["wool"]), tokens)
      expect(tokens.texts).toEqual(["wool"])
      expect(tokens.edges.length).toBeLessThanOrEqual(65_538)
      expect(tokens.bytes.length).toBeLessThanOrEqual(3 * 65_536 + 1)
    }
  })
  it("know texts that JSON writes as they are", () => {
    const analyzer = analyzerOf(SCHEMAS[0], SCHEMAS[0].fields[0]),
      tokens = new TextTokens()
    const isPlain = (text: string): boolean => {
      analyzer.readTokens(text, undefined, tokens)
      return tokens.isPlainJson
    }
    expect(isPlain("plain, with 'marks' <b> & more")).toBe(true)
    for (const text of ['a "quote"', "back\\slash", "two\nlines", "a\ttab", "\u0000", "é", "\ud800"])
      expect(isPlain(text), JSON.stringify(text)).toBe(false)
  })
})

describe("marked texts", () => {
  const markedAs = (text: string, rules: SnippetRules): PlainMarks => {
    const schema = SCHEMAS[0],
      analyzer = analyzerOf(schema, schema.fields[0]),
      tokens = new TextTokens(),
      find = (token: string) => (token === "wool" ? { typedLength: 4, typos: 0, isPrefix: false } : undefined)
    analyzer.readTokens(text, wantedTokens(["wool"]), tokens)
    const made = snippetOf(text, tokens, bestWindow(text, tokens, find)!, find, rules)
    const marked = new MarkedText(made, 1, tokens.isPlainJson && rules.arePlainTags)
    const field = { name: "v", path: ["v"], analyzer, marking: undefined, isNested: false, isInfix: false, rules }
    return new PlainMarks([new FieldMarks(field, marked, 1)])
  }
  it("are cut two words after the window, unless the text has at most five", () => {
    const snippetIn = (text: string): unknown => markedAs(text, RULES).highlight.v
    expect(snippetIn("so soft a wool for cold days")).toEqual({
      matched_tokens: ["wool"],
      snippet: "soft a <wool> for cold"
    })
    expect(snippetIn("wool, so soft a wool for cold days")).toEqual({
      matched_tokens: ["wool"],
      snippet: "<wool>, so soft"
    })
    expect(snippetIn("wool so soft a wool")).toEqual({
      matched_tokens: ["wool", "wool"],
      snippet: "<wool> so soft a <wool>"
    })
  })
  it("are written as JSON, whatever they contain", () => {
    for (const [text, rules] of [
      ["soft wool, wool", RULES],
      ['soft "wool" \\ wool\n', RULES],
      ["soft wool é", RULES],
      ["soft wool", { ...RULES, startTag: '<b class="x">', endTag: "</b>", arePlainTags: false }],
      ["soft wool", { ...RULES, isFull: true }]
    ] as const) {
      const marks = markedAs(text, rules)
      expect(JSON.parse(marks.highlightJson), text).toEqual(marks.highlight)
      expect(JSON.parse(marks.highlightsJson), text).toEqual(marks.highlights)
    }
  })
})
