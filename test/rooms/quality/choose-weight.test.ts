/** The weight of vectors is chosen on some queries, and must prove itself on others. */
import { expect, it } from "vitest"
import { makeRandom } from "../../../fixtures/random.ts"
import { chooseWeight, WEIGHTS } from "../../../src/quality/choose-weight.ts"

/** `gain` is each weight's gain over words alone. */
const measured = (queries: number, gain: (weight: number, at: number) => number) =>
  WEIGHTS.map((weight) =>
    Array.from({ length: queries }, (_, at) => ({ q: `query ${at}`, ndcg_at_10: 0.5 + gain(weight, at) }))
  )

it("is the best one if it is better for most queries", () => {
  const chosen = chooseWeight(measured(200, (weight) => [0, 0.01, 0.05, 0.03, -0.1][WEIGHTS.indexOf(weight as 0)]!))
  expect(chosen).toMatchObject({ weight: 0.3, queries: 200, cross_validated: 0.55 })
  expect(chosen.ndcg_at_10).toEqual([
    { weight: 0, ndcg_at_10: 0.5 },
    { weight: 0.1, ndcg_at_10: 0.51 },
    { weight: 0.3, ndcg_at_10: 0.55 },
    { weight: 0.5, ndcg_at_10: 0.53 },
    { weight: 1, ndcg_at_10: 0.4 }
  ])
})
it("is 0 if only chance favours another, in nearly all of a hundred suites", () => {
  let chosen = 0
  for (let seed = 0; seed < 100; seed++) {
    const random = makeRandom(seed)
    const noise = WEIGHTS.map(() => Array.from({ length: 40 }, () => 0.2 * (random.next() - 0.5)))
    const figures = measured(40, (weight, at) => (weight === 0 ? 0 : noise[WEIGHTS.indexOf(weight as 0)]![at]!))
    if (chooseWeight(figures).weight > 0) chosen++
  }
  expect(chosen).toBeLessThan(50)
})
it("is 0 if all are the same, or if the gain is too small to count", () => {
  expect(chooseWeight(measured(50, () => 0)).weight).toBe(0)
  expect(chooseWeight(measured(50, (weight) => (weight === 0 ? 0 : 0.001))).weight).toBe(0)
})
