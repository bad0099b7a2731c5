/**
 * Between two pieces of work on a thread that answers requests: whatever waits gets its turn. A timer, though it takes
 * a millisecond: `Effect.sleep(0)` and `Effect.yieldNow` are `setImmediate`, and where one follows another Deno 2.9
 * reads no socket in between. Beside pieces of half a millisecond a request took 25 ms instead of 1.3 that way.
 */
import { Effect } from "effect"

export const nextTurn: Effect.Effect<void> = Effect.callback((resume) => {
  const timer = setTimeout(() => resume(Effect.void), 0)
  return Effect.sync(() => clearTimeout(timer))
})
