/** Waits for answers in a process whose event loop may stall. */
import { Effect, Option } from "effect"

const PIECES = 5

/**
 * Succeeds with the value of `wait` if it completes in time, else with none. The time is split into five parts, because
 * an event loop that stalled runs its timers before it reads what arrived, so a stall of any length uses up one part
 * only. `wait` is interrupted and restarted with each part, so it must allow that, as awaiting a `Deferred` does.
 */
export const settlesWithin = <A, E, R>(
  wait: Effect.Effect<A, E, R>,
  time_ms: number
): Effect.Effect<Option.Option<A>, E, R> => {
  const piece = (left: number): Effect.Effect<Option.Option<A>, E, R> =>
    Effect.flatMap(Effect.timeoutOption(wait, time_ms / PIECES), (settled) =>
      Option.isSome(settled) || left === 1 ? Effect.succeed(settled) : piece(left - 1)
    )
  return piece(PIECES)
}
