/**
 * How to test, part two of five: a service that reads the clock.
 *
 * No part of the program reads the machine's clock directly: it uses `Clock`, a service that a test can replace. A set
 * clock stands still until the test moves it forward, so that an hour takes no time, and the result is the same on a
 * slow machine. Never wait for time to pass in a test, and never assert how long something took.
 *
 * The service here counts searches by minute, and forgets minutes that nobody needs.
 */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { SearchMinutes } from "../../src/search/search-minutes.ts"
import { makeSetClock } from "../support/clock.ts"

// A round time keeps the numbers below readable.
const NOON = Date.UTC(2026, 10, 23, 12)
const MINUTE_MS = 60_000

const everybody = () => true
const nobody = () => false

describe("minutes of searches", () => {
  // `it.effect` runs an Effect. Its services are provided inside the test, where a reader sees them.
  it.effect("begin when the clock says so", () =>
    Effect.gen(function* () {
      const { clock, forward } = yield* makeSetClock(NOON)
      const minutes = yield* Effect.provideService(SearchMinutes.make, Clock.Clock, clock)

      minutes.add("org_a", 10, false)
      forward(MINUTE_MS - 1)
      minutes.add("org_a", 10, true)
      // One millisecond later, the next minute has begun.
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

      // Both sides of the boundary: after exactly two minutes it is still kept, and one millisecond later it is gone.
      forward(2 * MINUTE_MS)
      minutes.take(nobody)
      assert.strictEqual(minutes.held, 1)
      forward(1)
      minutes.take(nobody)
      assert.strictEqual(minutes.held, 0)
    })
  )
})
