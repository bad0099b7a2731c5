/** A transcript becomes a query in the words of a collection. */
import { describe, expect, it } from "vitest"
import type { SpokenWord } from "../../../src/ports/transcriber/transcriber.ts"
import { correcting, doubtful, plainQuery } from "../../../src/voice/correction.ts"
import { atOnce } from "../../../src/suggestions/typeahead/sliced.ts"
import { alikeness, soundOfWord } from "../../../src/ports/transcriber/sounds-alike.ts"
import { keptWords, Vocabulary } from "../../../src/voice/vocabulary.ts"

const corrected = (words: ReadonlyArray<SpokenWord>, known: Vocabulary) => atOnce(correcting(words, known))
const heard = (text: string, score: number | undefined = 0.5): ReadonlyArray<SpokenWord> =>
  text
    .split(" ")
    .filter((word) => word !== "")
    .map((word) => ({ text: word, score }))
const vocabulary = new Vocabulary(
  keptWords("case shell samsung wireless bluetooth headphones kitchen knife set washing machine voyager".split(" "))
)
const alike = (a: string, b: string) => alikeness(soundOfWord(a), soundOfWord(b))

describe("the similarity of sounds", () => {
  it("is full for other spellings, high for sounds of the same place in the mouth, low for others", () => {
    for (const [a, b] of [
      ["phone", "fone"],
      ["knight", "nite"],
      ["wrapp", "rap"],
      ["quick", "kwik"],
      ["Café", "cafe"]
    ] as const)
      expect([a, alike(a, b)]).toEqual([a, 1])
    expect(alike("samson", "samsung")).toBeGreaterThan(0.8)
    expect(alike("set", "said")).toBeGreaterThan(0.75)
    expect(alike("lamp", "table")).toBeLessThan(0.5)
    expect(alike("", "")).toBe(0)
    expect(alike("set", "said")).toBe(alike("said", "set"))
  })
})

describe("a correction", () => {
  it("replaces doubtful words by indexed ones that sound alike, and joins split ones", () => {
    for (const [said, text, put] of [
      ["Kitchen knife said,", "kitchen knife set", ["set"]],
      ["Samson", "samsung", ["samsung"]],
      ["Sam some case.", "samsung case", ["samsung"]],
      ["head phones", "headphones", ["headphones"]],
      ["Boyager case", "voyager case", ["voyager"]],
      ["washing machine", "washing machine", []]
    ] as const)
      expect([said, corrected(heard(said), vocabulary)]).toEqual([said, { text, put }])
  })
  it("keeps words that are certain, that nothing sounds like, or that have a digit", () => {
    for (const [said, score] of [
      ["samson", 0.99],
      ["umbrella", 0.1],
      ["samson9", 0.1]
    ] as const)
      expect(corrected(heard(said, score), vocabulary)).toEqual({ text: said, put: [] })
    expect(corrected(heard("samson", undefined), vocabulary).text).toBe("samsung")
  })
  it("is a plain query if nothing is known: no spoken word has a special meaning in it", () => {
    expect(plainQuery(heard('-Lamp "red" *, ?! don\'t T-shirt 5.5" -'))).toBe("lamp red don't t shirt 5.5")
    expect(corrected([], vocabulary)).toEqual({ text: "", put: [] })
  })
  it("is bounded, however much is spoken", () => {
    const words = keptWords(Array.from({ length: 10_000 }, (_, i) => `word${String.fromCharCode(97 + (i % 26))}${i}`))
    const many = corrected(heard("wordzx ".repeat(3_000)), new Vocabulary(words))
    expect(many.text.split(" ")).toHaveLength(3_000)
    expect(many.put.length).toBeLessThanOrEqual(24)
  })
  it("names the words that it would look up", () => {
    expect(doubtful(heard("Samson case Samson 9"), vocabulary)).toEqual(["samson"])
    expect(doubtful(heard("Samson", 0.99), vocabulary)).toEqual([])
  })
  it("knows no word if a collection has none", () => {
    const empty = new Vocabulary(keptWords([]))
    expect([empty.has(""), empty.nearest("lamp")]).toEqual([false, undefined])
  })
})
