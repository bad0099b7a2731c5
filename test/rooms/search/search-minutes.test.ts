/** Minutes of searches: what is counted here is read by every process, of one organization, and goes after a day. */
import { describe, expect, it } from "@effect/vitest"
import { Clock, Effect, Exit, Layer, Scope } from "effect"
import { Identifiers } from "../../../log/identifiers.ts"
import { expireSearchMinutes, makeSearchMinutes, readSearchMinutes } from "../../../src/search/search-minutes.ts"
import { makeSetClock } from "../../support/clock.ts"
import { layerTestSql } from "../../support/postgres.ts"

const START = Date.UTC(2026, 10, 23, 16)

describe("minutes of searches", () => {
  it.live("add up over processes, by organization and window", () =>
    Effect.gen(function* () {
      const { clock, forward, now } = yield* makeSetClock(START)
      const at = Effect.provideService(Clock.Clock, clock)
      const first = yield* Scope.make()
      const second = yield* Scope.make()
      const a = yield* at(Scope.provide(makeSearchMinutes, first))
      const b = yield* at(Scope.provide(makeSearchMinutes, second))
      for (let i = 0; i < 95; i++) a.add("org_a", 10, false)
      for (let i = 0; i < 5; i++) b.add("org_a", 1_000, true)
      b.add("org_b", 5_000, true)
      forward(60_000)
      b.add("org_a", 10, false)
      yield* Scope.close(first, Exit.void)
      yield* Scope.close(second, Exit.void)
      const whole = yield* readSearchMinutes("org_a", START, now() + 1)
      expect(whole).toMatchObject({ searches: 101, errors: 5 })
      expect(whole.p95_ms).toBeGreaterThan(8)
      expect(whole.p95_ms).toBeLessThan(12)
      expect(yield* readSearchMinutes("org_a", now(), now() + 1)).toMatchObject({ searches: 1, errors: 0 })
      expect(yield* at(expireSearchMinutes(100))).toBe(0)
      forward(25 * 3_600_000)
      expect(yield* at(expireSearchMinutes(100))).toBe(3)
    }).pipe(Effect.provide(Layer.merge(Identifiers.layer, Layer.fresh(layerTestSql))))
  )

  it.live("of very many organizations the newest are held, and those are stored", () =>
    Effect.gen(function* () {
      const { clock, now } = yield* makeSetClock(START)
      const at = Effect.provideService(Clock.Clock, clock)
      const scope = yield* Scope.make()
      const minutes = yield* at(Scope.provide(makeSearchMinutes, scope))
      for (let i = 0; i < 25_000; i++) minutes.add(`org_${i}`, 10, false)
      expect(minutes.held()).toBe(20_000)
      yield* Scope.close(scope, Exit.void)
      const counted = (i: number) =>
        Effect.map(readSearchMinutes(`org_${i}`, START, now() + 1), ({ searches }) => searches)
      expect([yield* counted(0), yield* counted(4_999), yield* counted(5_000), yield* counted(24_999)]).toEqual([
        0, 0, 1, 1
      ])
    }).pipe(Effect.provide(Layer.merge(Identifiers.layer, Layer.fresh(layerTestSql))))
  )
})
