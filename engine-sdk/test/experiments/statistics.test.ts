/**
 * The statistics' guarantees, by seeded simulation: how often a continuous observer sees a difference that does not
 * exist, how often one that does, and how soon a wrong split is reported.
 */
import { describe, expect, it } from "vitest"
import {
  addSums,
  BUCKETS_MAX,
  bucketOf,
  compare,
  cupedEstimates,
  documentPrint,
  holm,
  NO_UNITS,
  preferenceP,
  quantileOf,
  ratioEstimate,
  sampleRatioP,
  type Sketch,
  slowerP,
  teamDraft,
  teamsOf,
  type UnitSums,
  unitSums,
  voteOf
} from "../../src/experiments/mod.ts"
import { randomOf } from "../random.ts"

const LOOKS_FROM = 400,
  LOOK_EVERY = 100,
  UNITS = 50_000
/** Units that either convert or do not: `converted` of `n`. */
const proportion = (n: number, converted: number): UnitSums => ({
  ...NO_UNITS,
  n,
  x: converted,
  xx: converted,
  y: n,
  yy: n,
  xy: converted
})
/**
 * Simulates an observer who looks after every hundred units: whether the sequential test, and whether a plain z-test,
 * ever reported a difference.
 */
const peeked = (seed: number, shares: readonly [number, number]) => {
  const random = randomOf(seed),
    converted = [0, 0]
  let sequence = false,
    plain = false
  for (let n = 1; n <= UNITS && !(sequence && plain); n++) {
    const arm = n % 2
    if (random.next() < shares[arm]!) converted[arm]!++
    if (n < LOOKS_FROM || n % LOOK_EVERY !== 0) continue
    const [control, variant] = converted.map((count) => ratioEstimate(proportion(n / 2, count))!)
    const { interval, p, z } = compare(control!, variant!, 0.05)
    sequence ||= p < 0.05
    plain ||= Math.abs(z) > 1.959964
    // The interval and the p-value must agree.
    if (interval !== null && Math.abs(p - 0.05) > 1e-6) expect(interval[0] > 0 || interval[1] < 0).toBe(p < 0.05)
  }
  return { sequence, plain }
}
const shareOfRuns = (runs: number, shares: readonly [number, number]) => {
  const found = Array.from({ length: runs }, (_, seed) => peeked(seed + 1, shares))
  const count = (name: "sequence" | "plain") => found.filter((one) => one[name]).length / runs
  const rates = { sequence: count("sequence"), plain: count("plain") }
  console.log(`${shares.join(" against ")}, ${runs} runs of ${UNITS} units: ${JSON.stringify(rates)}`)
  return rates
}

describe("looking every hundred units", () => {
  it("finds a false difference in at most 5 % of runs, where a plain z-test finds one in over 30 %", () => {
    const { plain, sequence } = shareOfRuns(400, [0.05, 0.05])
    expect(sequence).toBeLessThanOrEqual(0.05)
    expect(plain).toBeGreaterThan(0.3)
  })
  it("distinguishes 5 % and 6 % in at least 90 % of runs", () => {
    expect(shareOfRuns(200, [0.05, 0.06]).sequence).toBeGreaterThanOrEqual(0.9)
  })
  it("reports a split of 52 to 48, and one of 50 to 50 in at most 1 % of runs", () => {
    const alarmed = (seed: number, share: number) => {
      const random = randomOf(seed)
      let first = 0
      for (let n = 1; n <= 40_000; n++) {
        if (random.next() < share) first++
        if (n % LOOK_EVERY === 0 && sampleRatioP([first, n - first], [1, 1]) < 0.001) return true
      }
      return false
    }
    const share = (of: number, runs: number) =>
      Array.from({ length: runs }, (_, seed) => alarmed(1_000 + seed, of)).filter(Boolean).length / runs
    expect(share(0.5, 300)).toBeLessThanOrEqual(0.01)
    expect(share(0.52, 100)).toBeGreaterThanOrEqual(0.99)
    expect(sampleRatioP([0, 0], [1, 1])).toBe(1)
    expect(sampleRatioP([5_000, 5_000, 10_000], [1, 1, 2])).toBe(1)
  })
})

/** Units that search often, each with its own rate, so that their searches are not independent trials. */
const visitors = (seed: number, count: number, lift: number, memory = 0) => {
  const random = randomOf(seed)
  let sums = NO_UNITS
  for (let i = 0; i < count; i++) {
    const searches = 1 + random.below(20),
      taste = random.next() ** 3
    let clicks = 0
    for (let s = 0; s < searches; s++) if (random.next() < Math.min(1, taste * (1 + lift))) clicks++
    sums = addSums(sums, unitSums(clicks, searches, random.next() < memory ? taste * 10 + random.next() : undefined))
  }
  return sums
}

describe("a ratio over units", () => {
  it("estimates the spread that such visitors' means really have", () => {
    const means = Array.from({ length: 300 }, (_, seed) => ratioEstimate(visitors(seed + 1, 400, 0))!)
    const mean = means.reduce((sum, one) => sum + one.mean, 0) / means.length
    const spread = Math.sqrt(means.reduce((sum, one) => sum + (one.mean - mean) ** 2, 0) / (means.length - 1))
    const estimate = means.reduce((sum, one) => sum + one.standardError, 0) / means.length
    expect(estimate / spread).toBeGreaterThan(0.9)
    expect(estimate / spread).toBeLessThan(1.1)
    // If the searches were treated as independent, the estimate would be less than half of it.
    expect(Math.sqrt((mean * (1 - mean)) / (400 * 10.5)) / spread).toBeLessThan(0.5)
  })
  it("is unknown without searches, and certain of nothing with one unit", () => {
    expect(ratioEstimate(NO_UNITS)).toBeUndefined()
    expect(ratioEstimate(unitSums(3, 4))).toEqual({ units: 1, mean: 0.75, standardError: 0 })
  })
  it("has no p-value for few units, and no lift over zero", () => {
    const of = (n: number, x: number) => ratioEstimate(proportion(n, x))!
    expect(compare(of(99, 0), of(5_000, 5_000), 0.05)).toMatchObject({ interval: null, p: 1 })
    const zero = compare(of(500, 0), of(500, 100), 0.05)
    expect(zero).toMatchObject({ lift: null, interval: null })
    expect(zero.p).toBeLessThan(0.001)
  })
})

describe("covariates from before the experiment", () => {
  it("narrow the interval, move no mean by more than chance, and are ignored if few units have them", () => {
    const [control, variant] = [visitors(1, 4_000, 0, 1), visitors(2, 4_000, 0.1, 1)]
    const adjusted = cupedEstimates([control, variant])!
    expect(adjusted.reduction).toBeGreaterThan(0.4)
    const [raw, cuped] = [ratioEstimate(variant)!, adjusted.estimates[1]!]
    expect(Math.abs(raw.mean - cuped.mean)).toBeLessThan(4 * raw.standardError)
    expect(cuped.standardError).toBeLessThan(0.8 * raw.standardError)
    expect(cupedEstimates([visitors(1, 500, 0, 0.4), visitors(2, 500, 0, 0.4)])).toBeUndefined()
    expect(cupedEstimates([NO_UNITS, NO_UNITS])).toBeUndefined()
  })
  it("keep the stated coverage of the true difference", () => {
    let missed = 0
    for (let seed = 1; seed <= 200; seed++) {
      const { estimates } = cupedEstimates([visitors(seed, 300, 0, 1), visitors(10_000 + seed, 300, 0, 1)])!
      const [a, b] = estimates
      if (Math.abs(a!.mean - b!.mean) > 1.96 * Math.hypot(a!.standardError, b!.standardError)) missed++
    }
    // A share of 5 % of 200 is ten; eighteen is two and a half deviations more.
    expect(missed).toBeLessThan(19)
    expect(missed).toBeGreaterThan(1)
  })
})

/** Units whose figure has the given correlation with their earlier one. */
const remembered = (seed: number, units: number, correlation: number) => {
  const random = randomOf(seed)
  const normal = () => Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next())
  const arms: [UnitSums, UnitSums] = [NO_UNITS, NO_UNITS]
  let looked = false,
    found = false,
    adjusted = 0,
    looks = 0
  for (let n = 1; n <= units; n++) {
    const before = normal()
    const x = 10 + correlation * before + Math.sqrt(1 - correlation ** 2) * normal()
    arms[n % 2] = addSums(arms[n % 2]!, unitSums(x, 1, before))
    if (n < LOOKS_FROM || n % LOOK_EVERY !== 0) continue
    const cuped = cupedEstimates(arms)
    const [control, variant] = cuped?.estimates ?? arms.map((arm) => ratioEstimate(arm)!)
    const { p, z } = compare(control!, variant!, 0.05)
    found ||= p < 0.05
    looked ||= Math.abs(z) > 1.959964
    looks++
    adjusted += cuped === undefined ? 0 : 1
  }
  return { found, looked, reduction: cupedEstimates(arms)?.reduction, adjusted: adjusted / looks }
}

describe("an experiment with figures from before", () => {
  it("has half of the variance at a correlation of 0.7", () => {
    for (const seed of [1, 2, 3]) {
      const { reduction } = remembered(seed, 20_000, 0.7)
      expect(reduction).toBeGreaterThan(0.47)
      expect(reduction).toBeLessThan(0.51)
    }
    expect(remembered(4, 20_000, 0).reduction).toBeUndefined()
  })
  it("finds a false difference in at most 5 % of runs, however often it is looked at", () => {
    for (const correlation of [0.7, 0.05]) {
      const runs = Array.from({ length: 300 }, (_, seed) => remembered(seed + 1, 10_000, correlation))
      const share = (is: (run: (typeof runs)[number]) => boolean) => runs.filter(is).length / runs.length
      const [sequence, plain] = [share(({ found }) => found), share(({ looked }) => looked)]
      console.log(`correlation ${correlation}: ${JSON.stringify({ sequence, plain })}`)
      expect(sequence).toBeLessThanOrEqual(0.05)
      expect(plain).toBeGreaterThan(0.2)
      // With a low correlation, only some looks are adjusted.
      const adjusted = runs.reduce((sum, run) => sum + run.adjusted, 0) / runs.length
      expect(correlation === 0.7 ? adjusted === 1 : adjusted > 0.05 && adjusted < 0.95).toBe(true)
    }
  })
})

describe("latencies of answers", () => {
  const sketchOf = (times: ReadonlyArray<number>): Sketch => {
    const counts = new Map<number, number>()
    for (const time of times) counts.set(bucketOf(time), (counts.get(bucketOf(time)) ?? 0) + 1)
    return [...counts]
  }
  const timesOf = (seed: number, count: number, slower = 1) => {
    const random = randomOf(seed)
    const normal = () => Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next())
    return Array.from({ length: count }, () => slower * 10_000 * Math.exp(0.6 * normal()))
  }
  it("are known within 2.5 %, in 370 buckets, and merged by addition", () => {
    for (const seed of [1, 2, 3]) {
      const times = timesOf(seed, 9_999).sort((a, b) => a - b)
      for (const share of [0.5, 0.95, 0.99]) {
        const exact = times[Math.ceil(share * times.length) - 1]!
        expect(Math.abs(quantileOf(sketchOf(times), share)! / exact - 1)).toBeLessThanOrEqual(0.025)
        const halves = [...sketchOf(times.slice(0, 5_000)), ...sketchOf(times.slice(5_000))]
        expect(quantileOf(halves, share)).toBe(quantileOf(sketchOf(times), share))
      }
    }
    expect([bucketOf(0), bucketOf(1), bucketOf(60_000_000), bucketOf(1e12)]).toEqual([0, 0, 368, 368])
    expect([BUCKETS_MAX, quantileOf([], 0.95), quantileOf([[0, 3]], 0.95)]).toEqual([369, undefined, 1])
  })
  it("are falsely reported as slower in at most 5 % of runs, and found slower by a fifth in 9 of 10", () => {
    const found = (seed: number, slower: number) => {
      const [control, variant] = [timesOf(2 * seed, 10_000), timesOf(2 * seed + 1, 10_000, slower)]
      for (let n = 500; n <= 10_000; n += 500)
        if (slowerP(sketchOf(control.slice(0, n)), sketchOf(variant.slice(0, n)), 0.95) < 0.05) return true
      return false
    }
    const share = (runs: number, slower: number) =>
      Array.from({ length: runs }, (_, seed) => found(seed + 1, slower)).filter(Boolean).length / runs
    expect(share(60, 1)).toBeLessThanOrEqual(0.05)
    expect(share(30, 1.2)).toBeGreaterThanOrEqual(0.9)
    expect(share(30, 0.8)).toBe(0)
    // With few units there is no result; with many there is a certain one.
    expect(slowerP(sketchOf(timesOf(1, 99)), sketchOf(timesOf(2, 9_000, 9)), 0.95)).toBe(1)
    expect(slowerP(sketchOf(timesOf(1, 20_000)), sketchOf(timesOf(2, 20_000, 9)), 0.95)).toBeLessThan(1e-10)
  })
})

describe("several variants", () => {
  it("share the allowed rate of false findings", () => {
    expect(holm([0.01, 0.04, 0.03])).toEqual([0.03, 0.06, 0.06])
    expect(holm([0.5, 0.9])).toEqual([1, 1])
    expect(holm([])).toEqual([])
  })
})

describe("two rankings in one list", () => {
  const a = ["1", "2", "3", "4", "5", "6"],
    b = ["1", "3", "2", "7", "8", "9"]
  it("contains every document once, taken from both in turn, and credits both with what both propose", () => {
    for (let seed = 0; seed < 50; seed++) {
      const list = teamDraft(a, b, `query ${seed}`, 6)
      expect(new Set(list.map(({ id }) => id)).size).toBe(6)
      expect(list[0]).toEqual({ id: "1", team: "both" })
      const of = (team: string) => list.filter((hit) => hit.team === team).length
      expect(Math.abs(of("a") - of("b"))).toBeLessThanOrEqual(1)
      expect(teamDraft(a, b, `query ${seed}`, 6)).toEqual(list)
    }
    expect(teamDraft(a, a, "s", 3)).toEqual(["1", "2", "3"].map((id) => ({ id, team: "both" })))
    expect(teamDraft([], ["x"], "s", 5)).toEqual([{ id: "x", team: "b" }])
  })
  it("gets votes for the better ranking, and for neither if both are equal, although visitors prefer first places", () => {
    const SHOWN = 8
    const documents = Array.from({ length: 20 }, (_, i) => String(i))
    /** A lower number is a better document; each ranking has its own random error. */
    const ranked = (random: ReturnType<typeof randomOf>, noise: number) =>
      documents
        .map((id) => ({ id, at: Number(id) + noise * random.next() }))
        .sort((x, y) => x.at - y.at)
        .map(({ id }) => id)
    const run = (seed: number, noises: readonly [a: number, b: number]) => {
      const random = randomOf(seed)
      let wins = 0,
        losses = 0,
        found = false
      for (let session = 0; session < 1_500; session++) {
        const list = teamDraft(ranked(random, noises[0]), ranked(random, noises[1]), `${seed} ${session}`, SHOWN)
        const { a, b } = teamsOf(list)
        const credits = [0, 0]
        list.forEach(({ id }, place) => {
          // Lower places are looked at less, and better documents are clicked more.
          if (random.next() > 0.8 ** place || random.next() > 0.4 * (1 - Number(id) / 20)) return
          if (a.includes(documentPrint(id))) credits[0]!++
          if (b.includes(documentPrint(id))) credits[1]!++
        })
        const vote = voteOf(credits[1]!, credits[0]!)
        if (vote === "win") wins++
        if (vote === "loss") losses++
        if (session % 50 === 49) found ||= preferenceP(wins, losses) < 0.05
      }
      return { found, isBetter: wins > losses }
    }
    const runs = (count: number, noises: readonly [a: number, b: number]) =>
      Array.from({ length: count }, (_, seed) => run(seed + 1, noises))
    expect(runs(100, [30, 30]).filter(({ found }) => found).length).toBeLessThanOrEqual(5)
    expect(runs(20, [60, 5]).filter(({ found, isBetter }) => found && isBetter).length).toBeGreaterThanOrEqual(19)
    expect(runs(20, [5, 60]).filter(({ found, isBetter }) => found && !isBetter).length).toBeGreaterThanOrEqual(19)
  })
  it("identifies documents by 32 bits, like every other part of the program", () => {
    expect([documentPrint(""), documentPrint("a"), documentPrint("foobar")]).toEqual([
      0x811c9dc5, 0xe40c292c, 0xbf9cf968
    ])
    expect(teamsOf(teamDraft(["1", "2"], ["1", "3"], "s", 3))).toEqual({
      a: [documentPrint("2")],
      b: [documentPrint("3")]
    })
  })
  it("gives both the first place equally often", () => {
    const first = Array.from({ length: 2_000 }, (_, seed) => teamDraft(["1"], ["2"], `q${seed}`, 1)[0]!.team)
    expect(Math.abs(first.filter((team) => team === "a").length - 1_000)).toBeLessThan(90)
  })
  it("reports a fair coin in at most 5 % of runs, and detects 60 to 40", () => {
    const found = (seed: number, share: number) => {
      const random = randomOf(seed)
      let wins = 0
      for (let n = 1; n <= 2_000; n++) {
        if (random.next() < share) wins++
        if (preferenceP(wins, n - wins) < 0.05) return true
      }
      return false
    }
    const share = (of: number) => Array.from({ length: 400 }, (_, seed) => found(seed, of)).filter(Boolean).length / 400
    expect(share(0.5)).toBeLessThanOrEqual(0.05)
    expect(share(0.6)).toBeGreaterThanOrEqual(0.95)
    expect([voteOf(2, 1), voteOf(0, 3), voteOf(1, 1)]).toEqual(["win", "loss", "tie"])
  })
})
