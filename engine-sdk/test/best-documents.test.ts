/** The documents that get a close look are those of the highest scores; of equal ones, those that came first. */
import { describe, expect, it } from "vitest"
import { hasBit } from "../src/index/bits.ts"
import { BestDocuments, CLOSE_LOOK_DOCS, lookedFor } from "../src/search/relevance/best-documents.ts"
import type { SegmentView } from "../src/index/reader.ts"
import { newMatches, type SegmentMatches } from "../src/search/text/segment-matches.ts"
import { nthLargest } from "../src/sorted.ts"
import { randomOf } from "./random.ts"

/** The recorded documents with their scores. */
const recordedOf = ({ high, low, scored }: SegmentMatches): ReadonlyArray<readonly number[]> =>
  Array.from(scored.keys())
    .flatMap((word) => Array.from({ length: 32 }, (_own, bit) => word * 32 + bit))
    .filter((doc) => hasBit(scored, doc))
    .map((doc) => [doc, high[doc], low[doc]])

/** The scores as a part of a larger array that begins with higher ones. */
const afterOthers = (scores: Float64Array): Float64Array => {
  const all = new Float64Array(500 + scores.length).fill(9e9)
  all.set(scores, 500)
  return all.subarray(500)
}

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
        best = new BestDocuments(seed % 2 === 0, CLOSE_LOOK_DOCS)
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

  it("are the same, and so are those that may share their place, when a segment offers all of its documents at once", () => {
    const cases: ReadonlyArray<
      readonly [name: string, size: number, score: (random: ReturnType<typeof randomOf>) => number]
    > = [
      ["few", 399, (random) => random.below(1_000)],
      ["many that differ", 5_000, (random) => random.below(1_000_000) / 1_000],
      ["many that hardly differ", 5_000, (random) => 1 + random.below(1_000) * 2e-7],
      ["many that are equal", 5_000, (random) => 1 + random.below(3)],
      ["two that are the same in millionths", 5_000, (random) => (random.below(2) === 0 ? 1 : 0.999999)],
      ["all equal", 5_000, () => 7],
      ["all nothing", 5_000, () => 0],
      ["a few that are something", 5_000, (random) => (random.below(50) === 0 ? 1 + random.below(100) : 0)],
      ["tiny and huge", 5_000, (random) => 10 ** (random.below(40) - 20)]
    ]
    for (const [name, size, score] of cases)
      for (const [keepsAll, looked] of [
        [false, 200],
        [true, 200],
        [false, 100],
        [false, 7]
      ] as const) {
        const random = randomOf(size),
          byOne = new BestDocuments(keepsAll, looked),
          atOnce = new BestDocuments(keepsAll, looked)
        const segments = Array.from({ length: 3 }, () => ({
          docs: Uint32Array.from({ length: size }, (_own, i) => i * 3),
          scores: Float64Array.from({ length: size }, () => score(random)),
          terms: new Uint32Array(size).fill(5)
        }))
        const results = [byOne, atOnce].map((best) => {
          segments.forEach(({ docs, scores, terms }) => {
            best.beginSegment()
            if (best === atOnce) best.offerAll(docs, afterOthers(scores), terms)
            else docs.forEach((doc, i) => best.offer(doc, scores[i], terms[i]))
          })
          const candidates = best.best().map(({ doc, s, score: own }) => [s, doc, own])
          const matches = segments.map(() => newMatches({ segment: { docs: size * 3 } } as SegmentView, undefined))
          best.record(matches)
          return { candidates, recorded: matches.map(recordedOf) }
        })
        expect(results[1], name).toEqual(results[0])
        expect(results[1].candidates.length, name).toBe(looked)
      }
  })

  it("are 100 for one or two terms, and 200 for more, whose scores are diffused", () => {
    expect([1, 2, 3, 4, 60].map(lookedFor)).toEqual([100, 100, 200, 200, 200])
  })
})
