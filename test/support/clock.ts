/** A clock that stands at one moment and otherwise is the real one: sleeps and measured times go on. */
import { Clock, Effect } from "effect"

export const atTime = (now: number) => <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.flatMap(Clock.Clock, (clock) =>
    Effect.provideService(effect, Clock.Clock, Object.assign(Object.create(clock) as Clock.Clock, { currentTimeMillis: Effect.succeed(now), currentTimeMillisUnsafe: () => now })))
