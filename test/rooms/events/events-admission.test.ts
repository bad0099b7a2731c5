/**
 * Shares of the events that can be counted each second: the level, and a run of the controller over simulated tenants
 * and a simulated worker.
 */
import { assert, describe, it } from "@effect/vitest"
import { AdmissionControl, fairLevel, type Offer, SHARE_FROM_MS } from "../../../src/events/intake/admission.ts"
import { Draws } from "../../support/simulation/random.ts"

describe("the fair level", () => {
  it("uses the capacity, refuses nobody below it, and takes from nobody for the benefit of a larger one", () => {
    const draws = new Draws(1)
    for (let round = 0; round < 2_000; round++) {
      const offers = Array.from({ length: draws.whole(1, 8) }, (): Offer => ({
        rate: draws.next() ** 3 * 10_000,
        weight: draws.pick([0.01, 0.5, 1, 1, 3])
      }))
      const capacity = draws.next() * 12_000
      const level = fairLevel(offers, capacity)
      const offered = offers.reduce((sum, { rate }) => sum + rate, 0)
      const given = offers.reduce((sum, { rate, weight }) => sum + Math.min(rate, level * weight), 0)
      assert.closeTo(given, Math.min(offered, capacity), 1e-6 * (1 + capacity))
      if (level === Number.POSITIVE_INFINITY) assert.isTrue(offered <= capacity + 1e-6)
    }
  })
})

interface Tenant {
  readonly name: string
  readonly batch: number
  readonly from_ms: number
  readonly until_ms: number
  /** Events sent each second. */ readonly rate: number
}

/**
 * Simulates tenants with one log that is counted in order at `drain` events a second; refused senders return when they
 * are told to.
 */
const simulate = (
  tenants: ReadonlyArray<Tenant>,
  options: {
    readonly drain: number
    readonly for_ms: number
    readonly weights?: Record<string, number>
    readonly isOff?: boolean
    readonly standstill?: readonly [from: number, until: number]
  }
) => {
  const control = new AdmissionControl(options.weights === undefined ? {} : { weights: options.weights })
  const log: Array<{ readonly tenant: string; events: number; readonly at: number }> = []
  const result = new Map(tenants.map(({ name }) => [name, { stored: 0, refused: 0, waitMax_ms: 0, counted: 0 }]))
  const nextAt = new Map(tenants.map(({ from_ms, name }) => [name, from_ms]))
  let counted = 0
  let behindMax_ms = 0
  for (let now = 0; now < options.for_ms; now += 5) {
    for (const { batch, name, rate, until_ms } of tenants) {
      for (let at = nextAt.get(name)!; at <= now && at < until_ms; at = nextAt.get(name)!) {
        const comeBack_s = options.isOff === true ? 0 : control.admit(name, batch, now)
        const of = result.get(name)!
        if (comeBack_s > 0) {
          of.refused++
          nextAt.set(name, now + comeBack_s * 1_000)
          break
        }
        of.stored += batch
        log.push({ tenant: name, events: batch, at: now })
        nextAt.set(name, at + (batch / rate) * 1_000)
      }
    }
    const stands = options.standstill !== undefined && now >= options.standstill[0] && now < options.standstill[1]
    for (let budget = stands ? 0 : options.drain * 0.005; budget > 0 && log.length > 0;) {
      const first = log[0]!
      const step = Math.min(budget, first.events)
      budget -= step
      counted += step
      const of = result.get(first.tenant)!
      of.counted += step
      if ((first.events -= step) > 1e-9) break
      of.waitMax_ms = Math.max(of.waitMax_ms, now - first.at)
      log.shift()
    }
    const lag_ms = log.length === 0 ? 0 : now - log[0]!.at
    behindMax_ms = Math.max(behindMax_ms, lag_ms)
    if (now % 1_000 === 0) {
      control.sample(now, lag_ms, counted)
      counted = 0
    }
  }
  return { of: (name: string) => result.get(name)!, behindMax_ms, control }
}

describe("admission", () => {
  const burst: Tenant = { name: "a", batch: 1_000, from_ms: 5_000, until_ms: 60_000, rate: 150_000 }
  const steady: Tenant = { name: "b", batch: 10, from_ms: 0, until_ms: 60_000, rate: 100 }

  it("limits a burst so that the others wait only seconds, and refuses none of theirs", () => {
    const without = simulate([burst, steady], { drain: 40_000, for_ms: 60_000, isOff: true })
    const held = simulate([burst, steady], { drain: 40_000, for_ms: 60_000 })
    assert.isAbove(without.of("b").waitMax_ms, 15_000)
    assert.isBelow(held.of("b").waitMax_ms, 2 * SHARE_FROM_MS)
    assert.strictEqual(held.of("b").refused, 0)
    assert.isAbove(held.of("a").refused, 0)
    // The worker must not be idle because of it.
    assert.isAbove(held.of("a").counted, 0.75 * 40_000 * 55)
  })

  it("divides the rest by weight", () => {
    const tenants = ["a", "b", "c"].map((name): Tenant => ({
      name,
      batch: 500,
      from_ms: 0,
      until_ms: 120_000,
      rate: 60_000
    }))
    const { of } = simulate(tenants, { drain: 30_000, for_ms: 120_000, weights: { a: 4, c: 0.5 } })
    assert.closeTo(of("a").stored / of("b").stored, 4, 1)
    assert.closeTo(of("b").stored / of("c").stored, 2, 0.6)
  })

  it("lets a single sender store everything", () => {
    const { of } = simulate([burst], { drain: 10_000, for_ms: 60_000 })
    assert.strictEqual(of("a").refused, 0)
  })

  it("during a standstill only a large sender is limited, to what could be counted; afterwards nobody is", () => {
    const { behindMax_ms, control, of } = simulate(
      [
        { ...burst, from_ms: 0, until_ms: 40_000 },
        { ...steady, until_ms: 200_000 }
      ],
      { drain: 40_000, for_ms: 200_000, standstill: [10_000, 30_000] }
    )
    assert.isAbove(behindMax_ms, 19_000)
    assert.strictEqual(of("b").refused, 0)
    assert.isAbove(of("a").refused, 0)
    assert.strictEqual(of("a").counted, of("a").stored)
    assert.strictEqual(control.level, Number.POSITIVE_INFINITY)
  })

  it("many tenants of all sizes: nobody below the level is refused", () => {
    const draws = new Draws(9)
    for (let round = 0; round < 10; round++) {
      const tenants = Array.from({ length: 30 }, (_, i): Tenant => ({
        name: `t${i}`,
        batch: 20,
        from_ms: draws.between(0, 3_000),
        until_ms: 30_000,
        rate: i < 3 ? 40_000 : draws.between(20, 200)
      }))
      const { of } = simulate(tenants, { drain: 30_000, for_ms: 30_000 })
      for (const { name } of tenants.slice(3)) assert.strictEqual(of(name).refused, 0, name)
    }
  })
})
