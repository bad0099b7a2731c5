/** When a commit waits for further senders: simulated senders, and how many of their commits waited. */
import { describe, expect, it } from "vitest"
import { Linger, LINGER_MS } from "../../../src/events/intake/linger.ts"
import { seeded } from "../../support/attribution-oracle.ts"

/** The share of `commits` that waited, if each wait brings `bringing()` further senders. */
const shareOf = (linger: Linger, commits: number, bringing: () => number): number => {
  let waits = 0
  for (let i = 0; i < commits; i++) {
    if (!linger.isDue(0)) continue
    waits++
    linger.brought(bringing())
  }
  return waits / commits
}

describe("a commit", () => {
  it("does not wait where one or two senders wait for their answers, except for occasional probes", () => {
    for (const most of [0, 1]) expect(shareOf(new Linger(), 16_000, () => most)).toBe(1 / 16)
  })
  it("waits where independent senders come often enough", () => {
    const random = seeded(5)
    const arrivals = (a_second: number) => () => {
      let count = 0
      for (
        let t = (-Math.log(1 - random()) / a_second) * 1_000;
        t < LINGER_MS;
        t += (-Math.log(1 - random()) / a_second) * 1_000
      )
        count++
      return count
    }
    expect(shareOf(new Linger(), 10_000, arrivals(20))).toBeLessThan(0.1)
    expect(shareOf(new Linger(), 10_000, arrivals(600))).toBeGreaterThan(0.9)
  })
  it("learns within some commits that many senders came, and that they left", () => {
    const linger = new Linger()
    shareOf(linger, 1_000, () => 0)
    expect(shareOf(linger, 64, () => 15)).toBeGreaterThan(0.7)
    shareOf(linger, 1_000, () => 15)
    // From fifteen down below the break-even point: ten waits, and afterwards only the probes.
    expect(shareOf(linger, 160, () => 0)).toBeLessThan(0.15)
    expect(shareOf(linger, 1_600, () => 0)).toBe(1 / 16)
  })
  it("does not delay senders again after a long commit, and waits as before after it", () => {
    const linger = new Linger()
    expect(shareOf(linger, 1_000, () => 15)).toBeGreaterThan(0.9)
    for (let i = 0; i < 100; i++) expect(linger.isDue(LINGER_MS)).toBe(false)
    expect(linger.isDue(LINGER_MS - 1)).toBe(true)
  })
})
