/**
 * A thread that says when a request is due. Timers of the loading thread fire in whole milliseconds, each up to one
 * late: half of what a quick answer seems to take at a fixed rate would be the load's own clock. A thread that sleeps
 * on memory until the instant itself is 0.1 ms late at the median, its message included, and uses no processor
 * meanwhile.
 */
import { isMainThread, parentPort, Worker } from "node:worker_threads"

interface Pace {
  /** Milliseconds since the epoch, with fractions: threads count from different beginnings. */
  readonly started: number
  readonly ends: number
  readonly rate: number
}
export const instant = (): number => performance.timeOrigin + performance.now()

/** Settles once the thread runs: whatever is due before that would be late. */
export const startPacer = async (): Promise<Worker> => {
  const worker = new Worker(new URL(import.meta.url))
  await new Promise<void>((resolve, reject) => {
    worker.once("message", () => resolve())
    worker.once("error", reject)
  })
  return worker
}
/** `due` is called at each due instant, by `instant()`'s clock, `rate` times a second until `ends`. */
export const pace = (worker: Worker, options: Pace, due: (at: number) => void): void => {
  worker.on("message", due)
  worker.postMessage(options)
}

const sleeping = new Int32Array(new SharedArrayBuffer(4))
const sleepUntil = (at: number): void => {
  for (let left = at - instant(); left > 0; left = at - instant()) Atomics.wait(sleeping, 0, 0, left)
}
const tell = ({ ends, rate, started }: Pace): void => {
  for (let nth = 1; ; nth++) {
    const at = started + (nth / rate) * 1_000
    if (at >= ends) return
    sleepUntil(at)
    parentPort?.postMessage(at)
  }
}
if (!isMainThread) {
  parentPort?.on("message", tell)
  parentPort?.postMessage(0)
}
