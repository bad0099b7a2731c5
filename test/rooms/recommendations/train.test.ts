/** What a training reports about a model: figures on visits from which it has not learned. */
import { describe, expect, it } from "vitest"
import { listParameters } from "../../../src/recommendation-models/params.ts"
import { NewestEvents } from "../../../src/recommendations/newest-events.ts"
import { measured } from "../../../src/recommendations/trial.ts"
import { candidatesFor } from "../../../src/recommendations/tuning.ts"

const NOON = Date.UTC(2026, 10, 2, 12)
/** Visits of three documents that always follow each other, from ten such groups. */
const events = (visits: number) =>
  Array.from({ length: visits }, (_, v) =>
    ["a", "b", "c"].map((letter, i) => ({
      kind: 0,
      documents: [`${letter}${(v * 7) % 10}`],
      visitor: `v${v}`,
      person: "",
      at: NOON + v * 60_000 + i
    }))
  ).flat()

/** Twenty days of visits, each with different documents in demand, so that last week's popularity does not help. */
const fashions = Array.from({ length: 20 * 100 }, (_, v) =>
  [0, 1].map((i) => ({
    kind: 0,
    documents: [`d${Math.floor(v / 100)}-${(v * 7 + i * 5) % 20}`],
    visitor: `v${v}`,
    person: `p${v % 50}`,
    at: NOON + v * 864_000 + i
  }))
).flat()
/** Baskets of three documents that belong together, and a bag that is in every second one. */
const baskets = Array.from({ length: 2_500 }, (_, b) => ({
  kind: 3,
  documents: [...["x", "y", "z"].map((letter) => `${letter}${(b * 7) % 30}`), ...(b % 2 === 0 ? ["bag"] : [])],
  visitor: `b${b}`,
  person: "",
  at: NOON + b * 60_000
}))
const PARAMS = {
  also_viewed: {},
  personalized: {},
  similar: { fields: ["brand"] },
  trending: { window_hours: 6, baseline_days: 7 },
  popular: { half_life_days: 7, event: "any" },
  frequently_bought_together: { popularity_bias: 0.4, min_support: 3 }
} as const

describe("a training", () => {
  it("finds what follows, with better figures than popularity", async () => {
    const metrics = await measured(events(600), "also_viewed", {})
    expect(metrics).toMatchObject({ test_cases: 240, confidence: "ok", hr_at_20: 1 })
    expect(metrics.mrr_at_20).toBeGreaterThan(0.5)
    expect(metrics.baseline.popular.mrr_at_20).toBeLessThan(0.25)
    // The first documents of visits are never recommended in them.
    expect(metrics.coverage).toBe(0.667)
  })
  it("says that few cases prove little, does not tune by them, and measures nothing without cases", async () => {
    const few = await measured(events(60), "personalized", { neighbours: 3 })
    expect(few).toMatchObject({ confidence: "low", test_cases: 24, parameters: { neighbours: 3 } })
    expect(await measured([], "trending", PARAMS.trending)).toMatchObject({
      confidence: "low",
      test_cases: 0,
      hr_at_20: 0,
      parameters: PARAMS.trending
    })
  })
  it("uses the parameters that worked best on earlier days, and reports the gain", async () => {
    const metrics = await measured(fashions, "popular", PARAMS.popular)
    expect(metrics.parameters).toEqual({ half_life_days: 1, event: "any" })
    expect(metrics.hr_at_20).toBeGreaterThan(1.2 * metrics.untuned!.hr_at_20)
    expect(metrics.baseline.popular).toEqual(metrics.untuned)
    // One visit in five gives 76 cases: too few to decide, however clear they seem.
    const few = await measured(
      fashions.filter((_, i) => Math.floor(i / 2) % 5 === 0),
      "popular",
      PARAMS.popular
    )
    expect([few.validation!.test_cases, few.parameters]).toEqual([76, PARAMS.popular])
    const { event, half_life_days } = PARAMS.popular
    expect(listParameters(metrics.parameters!, "popular")).toMatchObject({ half_life_days: 1 })
    expect(listParameters({ event, half_life_days }, "popular")).toMatchObject({ half_life_days: 7 })
  })
  it("separates baskets from visits: a document of a basket is used to predict the rest of it", async () => {
    const metrics = await measured(baskets, "frequently_bought_together", PARAMS.frequently_bought_together)
    expect(metrics).toMatchObject({ hr_at_20: 1, confidence: "ok" })
    expect(metrics.mrr_at_20).toBeGreaterThan(0.7)
    const viewed = await measured(events(600), "frequently_bought_together", PARAMS.frequently_bought_together)
    expect(viewed.test_cases).toBe(0)
  })
  it("is never worse than the model was before, and the same each time", async () => {
    for (const [type, params] of Object.entries(PARAMS)) {
      const [one, other] = [
        await measured(fashions, type as keyof typeof PARAMS, params),
        await measured(fashions, type as keyof typeof PARAMS, params)
      ]
      expect([type, other]).toEqual([type, one])
      expect(one.validation!.mrr_at_20).toBeGreaterThanOrEqual(one.validation!.untuned_mrr_at_20)
    }
  })
  it("tries at most some dozen of each type, the model's own first and none twice", () => {
    for (const [type, params] of Object.entries(PARAMS)) {
      const tried = candidatesFor(type as keyof typeof PARAMS, params)
      expect(tried[0]).toBe(params)
      expect(tried.length).toBeLessThanOrEqual(13)
      expect(new Set(tried.map((one) => JSON.stringify(Object.entries(one).sort()))).size).toBe(tried.length)
      expect(tried.every((one) => Object.keys(params).every((name) => name in one))).toBe(true)
    }
    expect(candidatesFor("similar", PARAMS.similar)).toEqual([PARAMS.similar])
  })
})

describe("more events than a training uses", () => {
  const event = (at: number) => ({ kind: 0, documents: [`d${at}`], visitor: "v", person: "", at })
  it("leave the newest, in order, whatever the order in which they came", async () => {
    const kept = new NewestEvents(100)
    // Two partitions, each in order, with ten minutes between two events.
    for (const first of [0, 1]) for (let i = first; i < 400; i += 2) kept.add(event(i * 600_000))
    expect((await kept.inOrder()).map(({ at }) => at / 600_000)).toEqual(Array.from({ length: 100 }, (_, i) => 300 + i))
  })
  it("leave the newest of a single hour, too", async () => {
    const kept = new NewestEvents(100)
    for (let i = 1_000; i > 0; i--) kept.add(event(i))
    expect((await kept.inOrder()).map(({ at }) => at)).toEqual(Array.from({ length: 100 }, (_, i) => 901 + i))
  })
})
