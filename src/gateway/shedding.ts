/**
 * When the gateway turns requests away. The in-process engine searches on this thread, so what waits is seen as a timer
 * that comes late: a request that is read now has waited as long.
 *
 * Decision: requests are turned away while the newest timer, of four a second, was more than a second late. That
 * recovers by itself: refusing costs nearly nothing, so the next timer is on time and searches are accepted again.
 */
import { Effect } from "effect"

const EVERY_MS = 250
const LATE_MAX_MS = 1_000

/** Pure: how late a timer is that should come `every_ms` after the previous one. */
export const isOverloaded = (elapsed_ms: number, every_ms = EVERY_MS, lateMax_ms = LATE_MAX_MS): boolean =>
  elapsed_ms - every_ms > lateMax_ms

/** Lives as long as the scope. Asking it is a read. */
export const makeShedding = Effect.gen(function* () {
  let isShedding = false
  let before = performance.now()
  yield* Effect.acquireRelease(
    Effect.sync(() => {
      const timer = setInterval(() => {
        const now = performance.now()
        isShedding = isOverloaded(now - before)
        before = now
      }, EVERY_MS)
      timer.unref()
      return timer
    }),
    (timer) => Effect.sync(() => clearInterval(timer))
  )
  return { isShedding: () => isShedding }
})
