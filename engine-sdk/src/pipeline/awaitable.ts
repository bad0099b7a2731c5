/** Continuing after a value that may be there already: what is synchronous stays so, without a turn of the event loop. */
import type { Awaitable } from "../engine.ts"

export const after = <A, B>(value: Awaitable<A>, next: (value: A) => Awaitable<B>): Awaitable<B> => value instanceof Promise ? value.then(next) : next(value)

/** Runs `first` before anybody waits for the value; not at all where it is there already. */
export const beforeWaiting = <A>(value: Awaitable<A>, first: () => void): Awaitable<A> => {
  if (value instanceof Promise) first()
  return value
}

export const all = <A>(values: ReadonlyArray<Awaitable<A>>): Awaitable<ReadonlyArray<A>> =>
  values.some((value) => value instanceof Promise) ? Promise.all(values) : values as ReadonlyArray<A>
