/**
 * A thread that signals when each request is due. Timers on the loading thread fire at whole milliseconds and up to
 * one millisecond late, so at a fixed rate half of a fast response's apparent latency would come from the load's own
 * clock. A thread that sleeps on shared memory until the due instant signals 0.1 ms late at the median, including the
 * message, and uses no processor time while it sleeps.
 */
import { isMainThread, parentPort, Worker } from "node:worker_threads"

interface Pace {
  /** Milliseconds since the epoch, with fractions, because each thread's own clock has a different origin. */
  readonly started: number
  readonly ends: number
  readonly rate: number
}
export const instant = (): number => performance.timeOrigin + performance.now()

/** Resolves once the thread runs; anything due earlier would be late. */
export const startPacer = async (): Promise<Worker> => {
  const worker = new Worker(new URL(import.meta.url))
  await new Promise<void>((resolve, reject) => {
    worker.once("message", () => resolve())
    worker.once("error", reject)
  })
  return worker
}
/** Calls `due` at each due instant, on the clock of `instant()`, `rate` times a second until `ends`. */
export const pace = (worker: Worker, options: Pace, due: (at: number) => void): void => {
  worker.on("message", due)
  worker.postMessage(options)
}

const sleeping = new Int32Array(new SharedArrayBuffer(4))
const sleepUntil = (at: number): void => {
  for (let left = at - instant(); left > 0; left = at - instant()) Atomics.wait(sleeping, 0, 0, left)
}
const postTicks = ({ ends, rate, started }: Pace): void => {
  for (let nth = 1; ; nth++) {
    const at = started + (nth / rate) * 1_000
    if (at >= ends) return
    sleepUntil(at)
    parentPort?.postMessage(at)
  }
}
if (!isMainThread) {
  parentPort?.on("message", postTicks)
  parentPort?.postMessage(0)
}
