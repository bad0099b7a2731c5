/** Work in slices: generators that yield where they may be interrupted, and drivers that run them between requests. */
import { nextTurn } from "@dowser/log/process/next-turn"
import { Clock, Effect } from "effect"

const CHUNK = 128
const COMPARISONS_PER_SLICE = 256

/** Merge sort with a yield after every few hundred comparisons. O(n log n), with extra memory of the input's size. */
export function* sortSliced<A>(
  items: ReadonlyArray<A>,
  compare: (a: A, b: A) => number
): Generator<void, ReadonlyArray<A>> {
  let from: Array<A> = []
  for (let at = 0; at < items.length; at += CHUNK) {
    for (const item of items.slice(at, at + CHUNK).sort(compare)) from.push(item)
    yield
  }
  let compared = 0
  for (let size = CHUNK; size < from.length; size *= 2) {
    const into: Array<A> = []
    for (let start = 0; start < from.length; start += 2 * size) {
      const middle = Math.min(start + size, from.length),
        end = Math.min(start + 2 * size, from.length)
      let a = start,
        b = middle
      while (a < middle || b < end) {
        into.push(b >= end || (a < middle && compare(from[a]!, from[b]!) <= 0) ? from[a++]! : from[b++]!)
        if (++compared % COMPARISONS_PER_SLICE === 0) yield
      }
    }
    from = into
  }
  return from
}

/** Maximum time that requests wait for a slice, plus one step of the generator. */
const SLICE_NS = 1_000_000n

/** Runs a generator to its end, yielding to requests between slices. */
export const inSlices = <A>(steps: Generator<void, A>): Effect.Effect<A> =>
  Effect.gen(function* () {
    const clock = yield* Clock.Clock
    for (;;) {
      for (const until = clock.currentTimeNanosUnsafe() + SLICE_NS; clock.currentTimeNanosUnsafe() < until;) {
        const step = steps.next()
        if (step.done === true) return step.value
      }
      yield* nextTurn
    }
  })

/** Runs a generator to its end without interruption, if nobody is waiting. */
export const atOnce = <A>(steps: Generator<void, A>): A => {
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}
