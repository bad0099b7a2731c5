/**
 * Runs something again whenever it ends or fails, after pauses that double while each run is short. One run is called
 * a life; the life itself decides what a failure means, and who is notified of it.
 */
import { Clock, Effect } from "effect"

interface Pace {
  /** The first pause; it doubles each time a life ends. */
  readonly first_ms: number
  readonly max_ms: number
  /** After a life of at least this long, the pause is the first one again. */
  readonly healthyAfter_ms: number
  /** A factor for pauses, so that processes that failed together do not return together; 1 if absent. */
  readonly jitter?: Effect.Effect<number>
}

/** `over`: no life follows. `failed`: the next one follows after the pause. `soon`: after the first pause. */
export type LifeEnd = "over" | "failed" | "soon"

/** Runs `life` repeatedly, until one reports that it is over. */
export const supervised = Effect.fnUntraced(function* <R>(
  { first_ms, healthyAfter_ms, jitter, max_ms }: Pace,
  life: Effect.Effect<LifeEnd, never, R>
) {
  for (let pause_ms = first_ms; ; pause_ms = Math.min(pause_ms * 2, max_ms)) {
    const bornAt = yield* Clock.currentTimeMillis
    const end = yield* life
    if (end === "over") return
    if (end === "soon") {
      yield* Effect.sleep(first_ms)
      continue
    }
    if ((yield* Clock.currentTimeMillis) - bornAt > healthyAfter_ms) pause_ms = first_ms
    yield* Effect.sleep(pause_ms * (jitter === undefined ? 1 : yield* jitter))
  }
})
