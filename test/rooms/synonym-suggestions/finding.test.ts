/** Synonyms in the searches of generated visitors: the planted ones are found, and few others. */
import { describe, expect, it } from "vitest"
import { generateCatalog } from "../../../fixtures/catalog/generate.ts"
import { generateSynonymVisitors } from "../../../fixtures/events/synonyms.ts"
import { gramOf, strongestVectors, symmetric } from "../../../src/texts/linear.ts"
import { Reformulations } from "../../../src/synonym-suggestions/finding/reformulations.ts"
import { leastShare, replaced, suggestionsOf } from "../../../src/synonym-suggestions/finding/suggest.ts"
import { TermTexts } from "../../../src/synonym-suggestions/finding/term-vectors.ts"
import { isFoundAnyway, wordsOf } from "../../../src/synonym-suggestions/finding/words.ts"

describe("words", () => {
  it("that a search matches by itself are no synonyms", () => {
    const anyway = (a: string, b: string) => isFoundAnyway(wordsOf(a), wordsOf(b))
    for (const [a, b] of [
      ["lmap", "lamp"],
      ["headfones", "headphones"],
      ["lamp", "lamps"],
      ["t shirt", "tshirt"],
      ["Café", "cafe"],
      ["desk lmap", "desk lamp"]
    ])
      expect([a, b, anyway(a!, b!)]).toEqual([a, b, true])
    for (const [a, b] of [
      ["sneaker", "trainer"],
      ["tv", "tx"],
      ["sofa", "couch"],
      ["telly", "television"],
      ["fotograf", "photograph"]
    ])
      expect([a, b, anyway(a!, b!)]).toEqual([a, b, false])
  })
  it("that replace each other are those in which two queries differ", () => {
    expect(replaced("red sneaker", "trainer red")).toEqual([["sneaker"], ["trainer"]])
    expect(replaced("sofa", "big couch")).toEqual([["sofa"], ["big", "couch"]])
    for (const [a, b] of [
      ["lamp", "desk lamp"],
      ["red lamp", "lamp"],
      ["lamp", "lamp"],
      ["a b c d", "e"],
      ["", "x"]
    ])
      expect([a, b, replaced(a!, b!)]).toEqual([a, b, undefined])
    expect(leastShare(3, 3)).toBeGreaterThan(leastShare(2, 3))
    expect(leastShare(50, 100)).toBeCloseTo(0.436, 2)
  })
})
describe("term vectors", () => {
  it("are the strongest eigenvectors of the co-occurrence matrix", () => {
    // The matrix [[2, 1], [1, 2]] has the eigenvalues 3 and 1.
    const sparse = {
      starts: Int32Array.of(0, 2, 4),
      columns: Int32Array.of(0, 1, 0, 1),
      values: Float64Array.of(2, 1, 1, 2)
    }
    const vectors = strongestVectors(symmetric(sparse), 2, { power: 0.5, seed: 1 })
    const product = (i: number, j: number) =>
      vectors[2 * i]! * vectors[2 * j]! + vectors[2 * i + 1]! * vectors[2 * j + 1]!
    expect([product(0, 0), product(0, 1), product(1, 1)].map((n) => Math.round(n * 1e3) / 1e3)).toEqual([2, 1, 2])
    expect(strongestVectors(symmetric(sparse), 2, { power: 0.5, seed: 1 })).toEqual(vectors)
    // The root of its square, which is never computed, is the matrix itself.
    const roots = strongestVectors(gramOf(sparse, 2), 2, { power: 0.25, seed: 1 })
    expect(roots[0]! * roots[2]! + roots[1]! * roots[3]!).toBeCloseTo(1, 5)
  })
  it("are close for words with the same surroundings", () => {
    const texts = new TermTexts()
    const [cities, foods] = [
      ["paris", "rome"],
      ["soup", "bread"]
    ]
    const [about, kitchen] = [
      ["train", "hotel", "flight", "museum"],
      ["salt", "butter", "pepper", "spoon"]
    ]
    for (let i = 0; i < 400; i++) {
      texts.add([`${about[i % 4]} ${cities[(i % 2) ^ ((i >> 3) % 2)]} ${about[(i >> 2) % 4]}`])
      texts.add([`${kitchen[i % 4]} ${foods[(i % 2) ^ ((i >> 3) % 2)]} ${kitchen[(i >> 2) % 4]}`])
    }
    const vectors = texts.vectors()
    expect(vectors.similarity(["paris"], ["rome"])).toBeGreaterThan(0.8)
    expect(vectors.similarity(["paris"], ["soup"])).toBeLessThan(0.3)
    expect(vectors.similarity(["paris"], ["nowhere"])).toBeUndefined()
  })
})
describe("reformulations", () => {
  const at = 1_700_000_000_000
  it("are a visitor's next successful search after an empty one, each visitor once", () => {
    const seen = new Reformulations()
    const search = (visitor: string, q: string, found: number, after_s: number) =>
      seen.add({ visitor, q, found, at: at + 1_000 * after_s })
    for (const round of [0, 1]) {
      search("a", "sofa", 0, 100 * round)
      search("a", "couch", 5, 100 * round + 10)
    }
    search("b", "sofa", 0, 0)
    search("b", "bed", 0, 10)
    search("b", "couch", 3, 20)
    search("c", "sofa", 0, 0)
    search("c", "couch", 3, 301)
    search("d", "lamp", 3, 0)
    search("d", "couch", 3, 1)
    search("", "sofa", 0, 0)
    search("", "couch", 3, 1)
    expect(seen.pairs).toEqual([
      { from: "sofa", to: "couch", visitors: 1 },
      { from: "bed", to: "couch", visitors: 1 }
    ])
    expect(seen.queries.find(({ q }) => q === "sofa")).toEqual({ q: "sofa", searches: 5, zero_hits: 5 })
  })
})
it("finds the planted synonyms, and few others", () => {
  const products = [...generateCatalog({ seed: 5, products: 2_000 })]
  for (const seed of [1, 2, 3]) {
    const { planted, searches } = generateSynonymVisitors(products, {
      seed,
      sessions: 3_000,
      planted: 30,
      from: 0,
      to: 30 * 86_400_000
    })
    const seen = new Reformulations()
    const texts = new TermTexts()
    for (const { description, title } of products) texts.add([title, description])
    for (const search of searches()) seen.add(search)
    for (const { q } of seen.queries) texts.add([q])
    const suggestions = suggestionsOf(seen.queries, seen.pairs, texts.vectors())
    const pairs = suggestions.flatMap(({ synonyms, term }) => synonyms.map((synonym) => [term, synonym] as const))
    const right = pairs.filter(([term, synonym]) => planted.get(term) === synonym)
    const [precision, recall] = [right.length / pairs.length, right.length / planted.size]
    expect(precision).toBeGreaterThanOrEqual(0.8)
    expect(recall).toBeGreaterThanOrEqual(0.6)
  }
})
