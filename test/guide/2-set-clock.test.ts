/**
 * How to test, second of five: a service that asks what time it is.
 *
 * No part of the program reads the machine's clock by itself: it asks `Clock`, a service that a test can replace. A set
 * clock stands still until the test puts it forward, so that an hour passes in no time, and the test means the same on
 * a slow machine. Never wait for time in a test, and never assert how long something took.
 *
 * The service here counts searches by minute, and forgets minutes that nobody wants.
 */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { SearchMinutes } from "../../src/search/search-minutes.ts"
import { makeSetClock } from "../support/clock.ts"

// A round moment, so that the numbers below can be read.
const NOON = Date.UTC(2026, 10, 23, 12)
const MINUTE_MS = 60_000

const everybody = () => true
const nobody = () => false

describe("minutes of searches", () => {
  // `it.effect` runs an Effect; what it needs is provided inside, where a reader sees it.
  it.effect("begin when the clock says so", () =>
    Effect.gen(function* () {
      const { clock, forward } = yield* makeSetClock(NOON)
      const minutes = yield* Effect.provideService(SearchMinutes.make, Clock.Clock, clock)

      minutes.add("org_a", 10, false)
      forward(MINUTE_MS - 1)
      minutes.add("org_a", 10, true)
      // A millisecond later it is another minute.
      forward(1)
      minutes.add("org_a", 10, false)

      const taken = minutes.take(everybody).minutes
      assert.deepStrictEqual(
        taken.map(({ errors, minute_at }) => [minute_at, errors]),
        [
          [NOON, 1],
          [NOON + MINUTE_MS, 0]
        ]
      )
    })
  )

  it.effect("are forgotten when they are over and nobody wants them", () =>
    Effect.gen(function* () {
      const { clock, forward } = yield* makeSetClock(NOON)
      const minutes = yield* Effect.provideService(SearchMinutes.make, Clock.Clock, clock)
      minutes.add("org_a", 10, false)

      // Both sides of the edge: at two minutes it is still there, and just behind them it is not.
      forward(2 * MINUTE_MS)
      minutes.take(nobody)
      assert.strictEqual(minutes.held, 1)
      forward(1)
      minutes.take(nobody)
      assert.strictEqual(minutes.held, 0)
    })
  )
})
