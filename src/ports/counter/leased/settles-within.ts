/** Waits for answers in a process whose event loop may stall. */
import { Effect, Option } from "effect"

const PIECES = 5

/**
 * The success of `wait` if it settles in time, else none. The time passes in five pieces, because an event loop that
 * stalled runs its timers before it reads what arrived: a stall of any length uses up one piece only. `wait` is
 * interrupted and begun again with each piece, so it must be one that can be, such as awaiting a `Deferred`.
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
