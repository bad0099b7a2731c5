/**
 * Continues with a value that may already be available: what is synchronous stays so, without a turn of the event loop.
 */
import type { Awaitable } from "../engine.ts"
import { givingWay } from "../turns.ts"

export const after = <A, B>(value: Awaitable<A>, next: (value: A) => Awaitable<B>): Awaitable<B> =>
  value instanceof Promise ? value.then(next) : next(value)

/** Runs `first` before a pending value is awaited; does nothing if the value is already available. */
export const beforeWaiting = <A>(value: Awaitable<A>, first: () => void): Awaitable<A> => {
  if (value instanceof Promise) first()
  return value
}

export const all = <A>(values: ReadonlyArray<Awaitable<A>>): Awaitable<ReadonlyArray<A>> =>
  values.some((value) => value instanceof Promise) ? Promise.all(values) : (values as ReadonlyArray<A>)

/**
 * Runs items one after another, synchronously if each of them is and all together take negligible time. Otherwise other
 * work runs in between, after a call of `first`. An item whose result is pending does not hold up the next one.
 */
export const oneByOne = <A, B>(
  items: ReadonlyArray<A>,
  run: (item: A) => Awaitable<B>,
  first: () => void
): Awaitable<ReadonlyArray<B>> => {
  if (items.length === 1) return all([run(items[0])])
  const begun: Array<Awaitable<B>> = [],
    give = givingWay()
  const from = (at: number): Awaitable<ReadonlyArray<B>> => {
    for (let i = at; i < items.length; i++) {
      begun.push(run(items[i]))
      const turn = i + 1 < items.length ? give() : undefined
      if (turn !== undefined) {
        first()
        return turn.then(() => from(i + 1))
      }
    }
    return all(begun)
  }
  return from(0)
}
