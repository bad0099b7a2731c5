/**
 * A thread that says when a request is due. Timers of the loading thread fire in whole milliseconds, each up to one
 * late: half of what a quick answer seems to take at a fixed rate would be the load's own clock. A thread that sleeps
 * on memory until the instant itself is 0.1 ms late at the median, its message included, and uses no processor
 * meanwhile.
 */
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads"

interface Pace {
  /** Milliseconds since the epoch, with fractions: threads count from different beginnings. */
  readonly started: number
  readonly ends: number
  readonly rate: number
}
export const instant = (): number => performance.timeOrigin + performance.now()

/** `due` is told each instant, by `instant()`'s clock, of `rate` in a second until `ends`; the end is told by none. */
export const pace = (options: Pace, due: (at: number) => void): Worker => {
  const worker = new Worker(new URL(import.meta.url), { workerData: { pace: options } })
  worker.on("message", due)
  return worker
}

const sleeping = new Int32Array(new SharedArrayBuffer(4))
const sleepUntil = (at: number): void => {
  for (let left = at - instant(); left > 0; left = at - instant()) Atomics.wait(sleeping, 0, 0, left)
}
const { pace: own } = (workerData ?? {}) as { readonly pace?: Pace }
if (!isMainThread && own !== undefined)
  for (let nth = 1, at = own.started; ; nth++) {
    at = own.started + (nth / own.rate) * 1_000
    if (at >= own.ends) break
    sleepUntil(at)
    parentPort?.postMessage(at)
  }
