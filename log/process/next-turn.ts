/**
 * Yields between two slices of work on a thread that answers requests. It uses a timer, although that takes a
 * millisecond: `Effect.sleep(0)` and `Effect.yieldNow` are `setImmediate`, and Deno 2.9 reads no socket between
 * consecutive ones. With those, a request took 25 ms instead of 1.3 next to slices of half a millisecond.
 */
import { Effect } from "effect"

export const nextTurn: Effect.Effect<void> = Effect.callback((resume) => {
  const timer = setTimeout(() => resume(Effect.void), 0)
  return Effect.sync(() => clearTimeout(timer))
})
