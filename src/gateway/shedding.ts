/**
 * When the gateway refuses requests. The in-process engine searches on this thread, so waiting work shows as a timer
 * that fires late: a request read now has waited as long.
 *
 * Decision: requests are refused while the newest timer, of four per second, was more than a second late. That
 * recovers by itself: refusing costs nearly nothing, so the next timer is on time and searches are accepted again.
 */
import { Effect } from "effect"

const EVERY_MS = 250
const LATE_MAX_MS = 1_000

/** Pure. A timer should fire `every_ms` after the previous one; this checks whether it is too late. */
export const isOverloaded = (elapsed_ms: number, every_ms = EVERY_MS, lateMax_ms = LATE_MAX_MS): boolean =>
  elapsed_ms - every_ms > lateMax_ms

/** Lives as long as the scope. A check is one read. */
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
