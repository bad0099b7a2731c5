/** Tokens of the default and locale tokenizers, their offsets, stems and sort keys (`docs/contract/text.md`). */
import { describe, expect, it } from "vitest"
import { analyzerOf, createAnalyzer, sortKeyOfString } from "../../engine-sdk/src/analysis/mod.ts"
import { schemaOf, seeded } from "../support/engine-lab.ts"

const field = (attributes: object, more: object = {}) => {
  const schema = schemaOf([{ name: "t", type: "string", ...attributes }], more)
  return analyzerOf(schema, schema.fields[0])
}
describe("default tokenizer", () => {
  it.each<[string, string[]]>([
    ["T-shirt O'Neil a/c", ["tshirt", "oneil", "ac"]],
    ["Crème Straße Łódź", ["creme", "strasse", "lodz"]],
    ["Привет, МИР", ["привет", "мир"]],
    ["東京タワー", ["東京タワー"]],
    ["  --  ", []],
    ["a\tb\nc", ["ab", "c"]],
    ["iPhone® 6s™", ["iphoner", "6stm"]],
    ["e\u0301te\u0301", ["ete"]],
    ["½ №5", ["12", "no5"]]
  ])("%s", (text, tokens) => {
    expect(field({}).tokenize(text)).toEqual(tokens)
  })
  it("keeps indexed symbols and splits at separators, the field's lists before the collection's", () => {
    expect(field({}, { symbols_to_index: ["+"], token_separators: ["-"] }).tokenize("C++ wi-fi")).toEqual([
      "c++",
      "wi",
      "fi"
    ])
    expect(field({ token_separators: ["_"] }, { token_separators: ["-"] }).tokenize("wi-fi a_b")).toEqual([
      "wifi",
      "a",
      "b"
    ])
  })
  it("cuts tokens at truncate_len", () => {
    expect(field({ truncate_len: 3 }).tokenize("abcdef")).toEqual(["abc"])
  })
  it("gives offsets that cover exactly the letters used", () => {
    const text = "Hi (Blue), O'Neil é .x."
    expect(
      field({})
        .tokenizeWithOffsets(text)
        .map(({ start, end }) => text.slice(start, end))
    ).toEqual(["Hi", "Blue", "O'Neil", "é", "x"])
  })
  it("agrees with itself: offsets never change the tokens", () => {
    const random = seeded(3)
    const analyzer = field({}, { symbols_to_index: ["+"], token_separators: ["-"] })
    const letters = [..."aZ9 -+.'éßЖ東\u0301😀\n"]
    for (let i = 0; i < 1_000; i++) {
      const text = Array.from(
        { length: Math.floor(random() * 20) },
        () => letters[Math.floor(random() * letters.length)]
      ).join("")
      expect(analyzer.tokenizeWithOffsets(text).map(({ token }) => token)).toEqual(analyzer.tokenize(text))
    }
  })
})
describe("locales", () => {
  it("romanises Cyrillic and Greek, folds kana and traditional Chinese, keeps diacritics elsewhere", () => {
    expect(createAnalyzer({ locale: "ru" }).tokenize("ёлка")).toEqual(createAnalyzer({ locale: "ru" }).tokenize("елка"))
    expect(createAnalyzer({ locale: "el" }).tokenize("Ακρόπολη")).toEqual(
      createAnalyzer({ locale: "el" }).tokenize("ΑΚΡΟΠΟΛΗ")
    )
    expect(createAnalyzer({ locale: "ja" }).tokenize("ソファ")).toEqual(
      createAnalyzer({ locale: "ja" }).tokenize("ｿﾌｧ")
    )
    expect(createAnalyzer({ locale: "zh" }).tokenize("書籍")).toEqual(createAnalyzer({ locale: "zh" }).tokenize("书籍"))
    expect(createAnalyzer({ locale: "de" }).tokenize("München Straße")).toEqual(["münchen", "strasse"])
    expect(createAnalyzer({ locale: "th" }).tokenize("หนังสือภาษาไทย").length).toBeGreaterThan(1)
  })
  it("switches typos off for zh, ja and ko only", () => {
    expect(["zh", "ja", "ko", "th", "ru", ""].map((locale) => createAnalyzer({ locale }).typosAllowed)).toEqual([
      false,
      false,
      false,
      true,
      true,
      true
    ])
  })
})
describe("stemming", () => {
  it("uses Porter2 for English and the language of the locale otherwise", () => {
    expect(field({ stem: true }).tokenize("generously generals organization flies")).toEqual([
      "generous",
      "general",
      "organ",
      "fli"
    ])
    expect(field({ stem: true, locale: "de" }).tokenize("Häuser Haus")).toEqual(["haus", "haus"])
    expect(field({ stem: true }).unstemmed.tokenize("cooking")).toEqual(["cooking"])
  })
  it("lets a dictionary replace the algorithm", () => {
    const schema = schemaOf([{ name: "t", type: "string", stem_dictionary: "irregular" }])
    const analyzer = analyzerOf(schema, schema.fields[0], () => new Map([["mice", "mouse"]]))
    expect(analyzer.tokenize("mice cooking")).toEqual(["mouse", "cooking"])
  })
})
it("sorts by letters, not by punctuation, case or accents", () => {
  expect(sortKeyOfString("L'Oréal — Foo!")).toBe("loreal  foo")
  expect(sortKeyOfString("!!!")).toBe("")
  const sorted = ["by Buqu", "by Ярославль", "by", "by Müller"].sort((a, b) =>
    sortKeyOfString(a) < sortKeyOfString(b) ? -1 : 1
  )
  expect(sorted).toEqual(["by", "by Ярославль", "by Buqu", "by Müller"])
})
