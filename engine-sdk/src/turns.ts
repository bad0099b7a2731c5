/** Yielding: long work runs in slices, and between slices whatever waits (a single upsert, a message) gets its turn. */

let isAwaited = (): boolean => false
/** Tasks that yielded to a message that has not arrived yet. */
const givenWay: Array<() => void> = []
const goOn = (): void => {
  for (const resolve of givenWay.splice(0)) resolve()
}
/**
 * Sets how a worker knows that a message is on its way. One runtime (Deno 2.9) receives none while one `setImmediate`
 * follows another: a message waited 14 to 40 ms that way, and 1 ms behind a timer. Call the returned function when a
 * message has arrived, so that work continues immediately: with the timer alone, a writer idled a quarter of an import.
 */
export const giveWayTo = (isMessageUnderWay: () => boolean): (() => void) => {
  isAwaited = isMessageUnderWay
  return goOn
}

/**
 * Resolves in a later turn of the event loop, by `setImmediate` if available, which avoids the milliseconds of a timer;
 * if a message is on its way, once it has arrived.
 */
export const nextTurn = (): Promise<void> =>
  new Promise((resolve) => {
    if (typeof setImmediate === "function" && !isAwaited()) {
      setImmediate(resolve)
      return
    }
    givenWay.push(resolve)
    setTimeout(goOn, 0)
  })

/** A turn of at least a millisecond, for the searching thread: all messages and searches that wait come first. */
export const pause = (): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, 0)
  })

/** Total time of this thread that sliced work takes in one turn of the event loop. */
const PIECES_MS = 2
const waiting: Array<() => void> = []
let turnBegan = -Infinity
let isTurnComing = false
const nextPiece = (): void => {
  isTurnComing = false
  turnBegan = performance.now()
  resume()
}
/** Resumes as many as the turn has time for; the clock is read again after the resumed task's microtask. */
const resume = (): void => {
  if (performance.now() - turnBegan >= PIECES_MS) return comeBack()
  waiting.shift()?.()
  if (waiting.length > 0) queueMicrotask(resume)
}
const comeBack = (): void => {
  if (isTurnComing) return
  isTurnComing = true
  setTimeout(nextPiece, 0)
}
/**
 * For sliced work: resolves in a later turn once such work has taken long in this one, and immediately until then.
 * Waiting tasks resume one after another, as many per turn as fit into that time.
 */
export const givingWay = (): (() => Promise<void> | undefined) => {
  const now = performance.now()
  // Several callers in one turn share the next one.
  if (!isTurnComing && waiting.length === 0) {
    turnBegan = now
    comeBack()
  }
  let since = now
  return () => {
    const now = performance.now()
    if (now - since < PIECES_MS && now - turnBegan < PIECES_MS) return undefined
    comeBack()
    return new Promise<void>((resolve) => {
      waiting.push(() => {
        since = performance.now()
        resolve()
      })
    })
  }
}

/** Drives a generator in slices of at most about `slice_ms`; a function is called before each slice. */
export const inSlices = async <A>(
  work: Generator<void, A>,
  slice_ms: number | (() => number),
  turn: () => Promise<void> = nextTurn
): Promise<A> => {
  for (;;) {
    const until = performance.now() + (typeof slice_ms === "number" ? slice_ms : slice_ms())
    do {
      const step = work.next()
      if (step.done === true) return step.value
    } while (performance.now() < until)
    await turn()
  }
}
