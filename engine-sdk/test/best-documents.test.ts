/** The documents that get a close look are those of the highest scores; of equal ones, those that came first. */
import { describe, expect, it } from "vitest"
import { BestDocuments, CLOSE_LOOK_DOCS } from "../src/search/relevance/best-documents.ts"
import { nthLargest } from "../src/sorted.ts"
import { randomOf } from "./random.ts"

describe("the value of a rank", () => {
  it("is that of the sorted values, whatever their order", () => {
    const random = randomOf(3)
    for (let n = 0; n < 400; n++) {
      const size = 1 + random.below(700),
        distinct = 1 + random.below(n % 3 === 0 ? 5 : 1_000)
      const values = Float64Array.from({ length: size + 10 }, () => random.below(distinct))
      if (n % 4 === 1) values.sort()
      if (n % 4 === 2) values.sort().reverse()
      const sorted = values.slice(0, size).sort().reverse(),
        rank = 1 + random.below(size),
        rest = values.slice(size)
      expect(nthLargest(values, size, rank)).toBe(sorted[rank - 1])
      expect(values.slice(size)).toEqual(rest)
      expect(values.slice(0, size).sort().reverse()).toEqual(sorted)
    }
  })
})

describe("the best documents", () => {
  it("are the 200 of the highest scores in the order of their arrival, over all segments", () => {
    for (const [seed, size, distinct] of [
      [1, 40, 10],
      [2, 200, 1_000],
      [3, 201, 1_000],
      [4, 5_000, 1_000_000],
      [5, 5_000, 12],
      [6, 20_000, 1]
    ]) {
      const random = randomOf(seed),
        best = new BestDocuments(seed % 2 === 0, true)
      const offered: Array<{ s: number; doc: number; score: number; at: number }> = []
      for (let s = 0; s < 3; s++) {
        best.beginSegment()
        for (let doc = 0; doc < size / 3; doc++) {
          const score = 1 + random.below(distinct)
          offered.push({ s, doc, score, at: offered.length })
          best.offer(doc, score, 5)
        }
      }
      const expected = offered
        .toSorted((a, b) => b.score - a.score || a.at - b.at)
        .slice(0, CLOSE_LOOK_DOCS)
        .sort((a, b) => a.at - b.at)
      expect(best.best().map(({ doc, s, score, terms }) => ({ s, doc, score, terms }))).toEqual(
        expected.map(({ doc, s, score }) => ({ s, doc, score, terms: 5 }))
      )
    }
  })
})
