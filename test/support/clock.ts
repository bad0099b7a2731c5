/** A clock that stands at one moment and otherwise is the real one: sleeps and measured times go on. */
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
 * A clock that runs with the real one and can be put forward: for what happens hours later. Sleeps last as long as they
 * say.
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

/** A clock that stands still until it is put forward; sleeps and measured times are the real one's. */
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
