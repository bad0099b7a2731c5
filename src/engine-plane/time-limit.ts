/** The time that a search may take. */
import { Clock, Effect } from "effect"
import { EngineUnavailable, SearchTimedOut } from "../http/errors.ts"

const timedOut = (limit_ms: number) =>
  new SearchTimedOut({ message: `The search took longer than ${limit_ms / 1_000} s.` })

/**
 * Abandoned at the limit if the engine releases this thread meanwhile; otherwise the time-out is reported when it is
 * done. The remaining time is the cut-off of each of its plans (`timely-engine.ts`).
 */
export const withinTime: <A, E>(limit_ms: number, effect: Effect.Effect<A, E>) => Effect.Effect<A, E | SearchTimedOut> =
  Effect.fnUntraced(function* (limit_ms, effect) {
    const clock = yield* Clock.Clock
    const until = clock.currentTimeNanosUnsafe() + BigInt(limit_ms) * 1_000_000n
    const answer = yield* Effect.timeoutOption(effect, limit_ms)
    return answer._tag === "None" || clock.currentTimeNanosUnsafe() > until ? yield* timedOut(limit_ms) : answer.value
  })

/** Without a limit there is no time-out response: an engine that gave up by itself counts as unavailable. */
export const withoutLimit = <A, E>(
  effect: Effect.Effect<A, E>
): Effect.Effect<A, Exclude<E, SearchTimedOut> | EngineUnavailable> =>
  Effect.mapError(effect, (error) =>
    error instanceof SearchTimedOut
      ? new EngineUnavailable({ message: error.message })
      : (error as Exclude<E, SearchTimedOut>)
  )
