/** A clock that shows a fixed moment; sleeps and measured times are real. */
import { Clock, Effect } from "effect"

export const atTime =
  (now: number) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.flatMap(Clock.Clock, (clock) =>
      Effect.provideService(
        effect,
        Clock.Clock,
        Object.assign(Object.create(clock) as Clock.Clock, {
          currentTimeMillis: Effect.succeed(now),
          currentTimeMillisUnsafe: () => now
        })
      )
    )

/**
 * A clock that runs with the real one and can be advanced: for what happens hours later. Sleeps last their real time.
 */
export const makeShiftedClock = Effect.map(Clock.Clock, (clock) => {
  let ahead_ms = 0
  const now = () => clock.currentTimeMillisUnsafe() + ahead_ms
  const shifted = Object.assign(Object.create(clock) as Clock.Clock, {
    currentTimeMillis: Effect.sync(now),
    currentTimeMillisUnsafe: now
  })
  return {
    clock: shifted,
    now,
    forward: (ms: number) => {
      ahead_ms += ms
    }
  }
})

/** A clock that stands still until it is advanced; sleeps and measured times are real. */
export const makeSetClock = (start: number) =>
  Effect.map(Clock.Clock, (clock) => {
    let at = start
    const set = Object.assign(Object.create(clock) as Clock.Clock, {
      currentTimeMillis: Effect.sync(() => at),
      currentTimeMillisUnsafe: () => at
    })
    return {
      clock: set,
      now: () => at,
      forward: (ms: number) => {
        at += ms
      }
    }
  })
