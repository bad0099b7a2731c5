/** The measures themselves, on lists small enough to work out by hand. */
import { describe, expect, it } from "vitest"
import { pairedBootstrap, scoreOf } from "../../engine-sdk/src/judging/mod.ts"
import { makeRandom } from "../../fixtures/random.ts"

describe("relevance measures", () => {
  const judgments = new Map([
    ["a", 3],
    ["b", 1],
    ["c", 0]
  ])
  it("gives 1 to the ideal order and less to any other", () => {
    expect(scoreOf(["a", "b"], judgments)).toEqual({ ndcg10: 1, mrr: 1, recall100: 1, judged10: 1 })
    const swapped = scoreOf(["b", "a"], judgments)
    expect(swapped?.ndcg10).toBeCloseTo((1 + 7 / Math.log2(3)) / (7 + 1 / Math.log2(3)), 12)
    expect(scoreOf(["x", "y", "b"], judgments)).toMatchObject({ mrr: 1 / 3, recall100: 0.5, judged10: 1 / 3 })
  })
  it("gives no figure for a query without a relevant document", () => {
    expect(scoreOf(["a"], new Map([["a", 0]]))).toBeUndefined()
  })
  it("gives a confidence interval that contains the difference", () => {
    const a = Array.from({ length: 50 }, (_, i) => 0.5 + (i % 5) / 10)
    const interval = pairedBootstrap(
      a,
      a.map((value, i) => value - (i % 2) / 10),
      makeRandom(1).below
    )
    expect(interval.difference).toBeCloseTo(0.05, 6)
    expect(interval.low).toBeGreaterThan(0)
    expect(interval.high).toBeLessThan(0.1)
  })
})
