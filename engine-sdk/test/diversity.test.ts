/**
 * Diversity compared with naive definitions: near duplicates, caps, minimum numbers of values, MMR by vectors and by
 * text.
 */
import { describe, expect, it } from "vitest"
import {
  capPerValue,
  ensureValues,
  greedyMmr,
  separateDuplicates,
  textSimilarity,
  vectorSimilarity
} from "../src/diversity/mod.ts"
import { plainTable, productTable } from "../src/diversity/dot-kernel.ts"
import { queryWords } from "../src/rules/mod.ts"
import { randomOf } from "./random.ts"

const bigrams = (text: string): Set<string> => {
  const words = queryWords(text)
  return new Set(
    words.length === 0
      ? []
      : Array.from({ length: words.length + 1 }, (_word, i) => `${words[i - 1] ?? ""} ${words[i] ?? ""}`)
  )
}
const jaccard = <A>(a: Set<A>, b: Set<A>): number => {
  const common = [...a].filter((item) => b.has(item)).length
  return common === 0 ? 0 : common / (a.size + b.size - common)
}

describe("near duplicates", () => {
  it("are those that the naive definition finds", () => {
    const random = randomOf(3)
    for (let round = 0; round < 60; round++) {
      const texts = Array.from({ length: 30 }, () =>
        random.chance(0.1)
          ? ""
          : Array.from({ length: 1 + random.below(5) }, () => random.pick(["red", "Lamp", "desk", "100", "x"])).join(
              " "
            )
      )
      const threshold = random.pick([0, 0.3, 0.5, 0.8, 1])
      const different: number[] = [],
        similar: number[] = []
      texts.forEach((text, i) => {
        const isLike = different.some(
          (earlier) =>
            texts[earlier] !== "" && text !== "" && jaccard(bigrams(texts[earlier]), bigrams(text)) >= threshold
        )
        ;(isLike ? similar : different).push(i)
      })
      expect(separateDuplicates(texts, threshold).order).toEqual([...different, ...similar])
    }
  })
  it("name what they resemble, and how closely", () => {
    const { like } = separateDuplicates(["red desk lamp", "oak table", "Red desk lamp", "red desk lamp blue"], 0.5)
    expect([...like]).toEqual([
      [2, { earlier: 0, similarity: 1 }],
      [3, { earlier: 0, similarity: 0.5 }]
    ])
  })
  it("stop when the time is up, and leave the rest unchanged", () => {
    expect(separateDuplicates(["a", "a", "a"], 1, () => true).order).toEqual([0, 1, 2])
  })
})

describe("caps", () => {
  it("move hits beyond the cap behind those within it, from a given rank on", () => {
    expect(capPerValue([["a"], ["a"], ["b"], ["a"], [], ["c"], ["b", "c"]], 1, 1)).toEqual([0, 2, 4, 5, 1, 3, 6])
    expect(capPerValue([["a"], ["a"], ["a"], ["b"]], 1, 2)).toEqual([0, 1, 3, 2])
  })
  it("bring new values to the first page, as far as they exist", () => {
    const values = [["a"], ["a"], ["b"], ["a"], ["a"], ["c"], ["d"]]
    expect(ensureValues(values, 3, 1, 3)).toEqual([0, 2, 5, 1, 3, 4, 6])
    expect(ensureValues(values, 2, 1, 3)).toEqual([0, 1, 2, 3, 4, 5, 6])
    expect(ensureValues(values, 9, 1, 4)).toEqual([0, 2, 5, 6, 1, 3, 4])
    expect(ensureValues(values, 2, 3, 4)).toEqual([0, 1, 2, 3, 4, 5, 6])
    expect(ensureValues(values, 3, 3, 5)).toEqual([0, 1, 2, 3, 5, 4, 6])
  })
  it("keep their guarantees on random lists", () => {
    const random = randomOf(8)
    for (let round = 0; round < 200; round++) {
      const values = Array.from({ length: 1 + random.below(30) }, () =>
        random.chance(0.1) ? [] : [random.pick(["a", "b", "c", "d", "e", "f"])]
      )
      const min = 1 + random.below(6),
        from = 1 + random.below(4),
        page = 1 + random.below(12)
      const order = ensureValues(values, min, from, page)
      expect([...order].sort((a, b) => a - b)).toEqual(values.map((_own, i) => i))
      expect(order.slice(0, from - 1)).toEqual(values.map((_own, i) => i).slice(0, from - 1))
      const reach = Math.min(
        min,
        Math.max(0, Math.min(page, values.length) - (from - 1)),
        new Set(values.slice(from - 1).flat()).size
      )
      expect(new Set(order.slice(from - 1, page).flatMap((i) => values[i])).size).toBeGreaterThanOrEqual(reach)
    }
  })
})

describe("MMR", () => {
  const naive = (
    size: number,
    lambda: number,
    picks: number,
    similarity: (i: number, j: number) => number
  ): number[] => {
    const picked: number[] = []
    while (picked.length < Math.min(picks, size)) {
      let best = -1,
        bestValue = -Infinity
      for (let i = 0; i < size; i++) {
        if (picked.includes(i)) continue
        const value =
          lambda * (size > 1 ? (size - 1 - i) / (size - 1) : 1) -
          (1 - lambda) * picked.reduce((most, j) => Math.max(most, similarity(i, j)), 0)
        if (value > bestValue) {
          best = i
          bestValue = value
        }
      }
      picked.push(best)
    }
    return [...picked, ...Array.from({ length: size }, (_i, i) => i).filter((i) => !picked.includes(i))]
  }
  const vectorsOf = (seed: number, count: number, dimensions: number): Array<Float32Array | undefined> => {
    const random = randomOf(seed)
    const centres = Array.from({ length: 4 }, () => Array.from({ length: dimensions }, () => random.next() - 0.5))
    return Array.from({ length: count }, () => {
      if (random.chance(0.05)) return undefined
      const centre = random.pick(centres)
      return Float32Array.from(centre, (part) => part + (random.next() - 0.5) * 0.4)
    })
  }
  it("picks what the naive definition picks, by vectors and by text", () => {
    const random = randomOf(21)
    for (let seed = 1; seed <= 40; seed++) {
      const vectors = vectorsOf(seed, 1 + random.below(40), random.pick([1, 3, 8, 24, 33]))
      const texts = vectors.map(() =>
        Array.from({ length: random.below(5) }, () => random.pick(["a", "b", "c", "d"])).join(" ")
      )
      for (const lambda of [0, 0.3, 0.7, 1])
        for (const similarity of [vectorSimilarity(vectors), textSimilarity(texts)]) {
          const picks = 1 + random.below(45),
            size = vectors.length
          expect(greedyMmr({ size, lambda, picks, relevance: (i) => -i, similarity }).order).toEqual(
            naive(size, lambda, picks, similarity)
          )
        }
    }
  })
  it("keeps the order when only relevance counts", () => {
    const vectors = vectorsOf(1, 60, 16)
    expect(
      greedyMmr({ size: 60, lambda: 1, relevance: (i) => -i, similarity: vectorSimilarity(vectors) }).order
    ).toEqual(vectors.map((_vector, i) => i))
  })
  it("stops with what it has when the time is up", () => {
    let asked = 0
    const { order, picked } = greedyMmr({
      size: 4,
      lambda: 0,
      relevance: (i) => -i,
      similarity: (i, j) => ((i + j) % 2 === 0 ? 1 : 0),
      isLate: () => asked++ === 2
    })
    expect([order, picked]).toEqual([[0, 1, 2, 3], 2])
  })
  it("multiplies in lanes with the results of plain loops", () => {
    for (const dimensions of [1, 7, 8, 9, 384]) {
      const vectors = vectorsOf(dimensions, 20, dimensions),
        lanes = productTable(vectors, dimensions),
        plain = plainTable(vectors)
      for (let i = 0; i < 20; i++) for (let j = 0; j < 20; j++) expect(lanes(i, j)).toBeCloseTo(plain(i, j), 4)
    }
  })
  it("compares texts by the share of words in common", () => {
    expect(textSimilarity(["red lamp", "Lamp, blue", "", "red lamp"])(0, 1)).toBeCloseTo(1 / 3)
  })
})
