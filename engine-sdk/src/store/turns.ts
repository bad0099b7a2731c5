/** Giving way: long work runs in slices, and between slices whatever waits (a single upsert, a message) gets its turn. */

/** Resolves in a later turn of the event loop, where there is `setImmediate` without the milliseconds of a timer. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => {
  if (typeof setImmediate === "function") setImmediate(resolve)
  else setTimeout(resolve, 0)
})

/** Drives a generator in slices of at most about `slice_ms`; a function is asked before each. */
export const inSlices = async <A>(work: Generator<void, A>, slice_ms: number | (() => number)): Promise<A> => {
  for (;;) {
    const until = performance.now() + (typeof slice_ms === "number" ? slice_ms : slice_ms())
    do {
      const step = work.next()
      if (step.done === true) return step.value
    } while (performance.now() < until)
    await nextTurn()
  }
}
