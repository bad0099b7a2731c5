/**
 * The time a search may take on its thread. Searches are synchronous, so one runs at a time: every loop reports its
 * steps (`spend`), and the clock is read every few thousand of them. Two limits end a search. When `search_cutoff_ms`
 * is over, loops stop, and the answer says that it is incomplete; an incomplete filter would be wrong (under a negation
 * it lets too much through), so it is given up as a whole and matches nothing. When the quantum that a shared thread
 * has for one search is used up, the search is interrupted and run again where it holds nobody up.
 */
import { threadTime_ms } from "./thread-time.ts"

/** Thrown inside of a filter, and caught where it was begun. */
const FILTER_GIVEN_UP = Symbol("time ran out inside of a filter")
/** Thrown anywhere: nothing of what was found is kept. */
export const GIVE_WAY = Symbol("the quantum of the thread is used")

/** Steps between two looks at the clock: one is a few nanoseconds to a few tens, so under a millisecond. */
const LOOK_STEPS = 16_384
/** Work known to take this many more steps in one piece is not started on a thread that has a quantum. */
const PIECE_STEPS_MAX = 400_000
/** Quantum on the main thread for parts of an answer that are made late. */
const LATE_MS = 10
/** From here on the thread's own time is asked too: until then all of the wall's time is taken for its. */
const MEASURED_MS = 2

/**
 * Time the thread has spent on this work since it began: processor time where the system reports it, else wall-clock
 * time.
 */
class Used {
  private readonly begun: number
  private first: { readonly wall: number; readonly thread: number } | undefined
  constructor(begun: number) {
    this.begun = begun
  }
  /** Costs nothing as long as the wall's time is below `limit`. */
  isOver(limit_ms: number, now: number): boolean {
    const wall_ms = now - this.begun
    if (this.first === undefined && wall_ms >= MEASURED_MS) this.first = { wall: wall_ms, thread: threadTime_ms() }
    if (wall_ms <= limit_ms) return false
    const { first } = this
    return first === undefined || first.wall + (threadTime_ms() - first.thread) > limit_ms
  }
  used_ms(now: number): number {
    const { first } = this
    return first === undefined ? now - this.begun : first.wall + (threadTime_ms() - first.thread)
  }
}
/** The time that searches of one request share, and the quantum of the thread. */
export class Allowance {
  private readonly used: Used
  private readonly quantum_ms: number
  private readonly isGivenUp: (() => boolean) | undefined
  /** `isGivenUp`: whether the caller has gone; asked whenever the clock is read. */
  constructor(quantum_ms = Infinity, isGivenUp?: () => boolean) {
    this.used = new Used(performance.now())
    this.quantum_ms = quantum_ms
    this.isGivenUp = isGivenUp
  }
  get hasQuantum(): boolean {
    return this.quantum_ms < Infinity
  }
  isOver(limit_ms: number): boolean {
    const now = performance.now()
    if (this.used.isOver(Math.min(limit_ms, this.quantum_ms), now) && this.used.isOver(this.quantum_ms, now))
      throw GIVE_WAY
    return this.isGivenUp?.() === true || this.used.isOver(limit_ms, now)
  }
  used_ms(): number {
    return this.used.used_ms(performance.now())
  }
}

export class Cutoff {
  private readonly allowance: Allowance
  private readonly limit_ms: number
  /** Somebody has stopped. */ isPast = false
  /** `limit_ms` of what the allowance counts. */
  constructor(allowance: Allowance, limit_ms: number) {
    this.allowance = allowance
    this.limit_ms = limit_ms
  }
  check(): boolean {
    return (this.isPast ||= this.allowance.isOver(this.limit_ms))
  }
  get hasQuantum(): boolean {
    return this.allowance.hasQuantum
  }
  /**
   * For a later part of the search, which gets this much time in any case: hits found in time are worth ordering and
   * counting.
   */
  atLeast(ms: number): Cutoff {
    return new Cutoff(this.allowance, Math.max(this.limit_ms, this.allowance.used_ms() + ms))
  }
}

/**
 * For parts of an answer that are made when the search itself is over, as highlights of a window's hits: all of them
 * together have a quantum of the thread, where the search had one. Throws `GIVE_WAY` beyond it.
 */
export class LateQuantum {
  private left_ms: number
  private isRunning = false
  /** It gave way: nothing more is made here. */ isOver = false
  constructor(search: Cutoff) {
    this.left_ms = search.hasQuantum ? LATE_MS : Infinity
  }
  run<A>(make: () => A): A {
    if (this.left_ms === Infinity || this.isRunning) return make()
    if (this.isOver) throw GIVE_WAY
    const allowance = new Allowance(this.left_ms)
    this.isRunning = true
    try {
      return within(new Cutoff(allowance, Infinity), make)
    } catch (error) {
      this.isOver = error === GIVE_WAY
      throw error
    } finally {
      this.isRunning = false
      this.left_ms = Math.max(0, this.left_ms - allowance.used_ms())
    }
  }
}

let current: Cutoff | undefined
let left = LOOK_STEPS
let isPast = false
const look = (steps: number): boolean => {
  left = LOOK_STEPS
  if (current === undefined) return false
  if (steps > PIECE_STEPS_MAX && current.hasQuantum) throw GIVE_WAY
  return (isPast = current.check())
}
/** True when the time is over: loops then stop. Outside of `within`, time is never over. */
export const spend = (steps: number): boolean => ((left -= steps) > 0 ? isPast : look(steps))
/** Inside of a filter. */
export const spendInFilter = (steps: number): void => {
  if (spend(steps)) throw FILTER_GIVEN_UP
}
/** Whether the time is over, without a look at the clock. */
export const isOver = (): boolean => isPast

/** Runs synchronous work under a limit; work inside of it may have another one. */
export const within = <A>(cutoff: Cutoff, run: () => A): A => {
  const before = current,
    wasPast = isPast
  try {
    current = cutoff
    isPast = cutoff.check()
    return run()
  } finally {
    current = before
    isPast = wasPast
  }
}
/** The filter's result, or `givenUp` where the time was too short for it. */
export const unlessGivenUp = <A>(run: () => A, givenUp: A): A => {
  try {
    return run()
  } catch (error) {
    if (error !== FILTER_GIVEN_UP) throw error
    return givenUp
  }
}

const RUN_ITEMS = 4_096
/**
 * Sorts in place, equals in their order, as the runtime does, which says nothing while it does: beyond a few thousand
 * items in runs that are merged. When the time is over the first `most` places may hold less than the best.
 */
export const sortSpending = <A>(items: A[], compare: (a: A, b: A) => number): A[] => {
  if (items.length <= RUN_ITEMS) {
    spend(items.length * 4)
    return items.sort(compare)
  }
  let from = items
  for (let start = 0; start < from.length; start += RUN_ITEMS) {
    if (spend(RUN_ITEMS * 4)) return items
    const run = from.slice(start, start + RUN_ITEMS).sort(compare)
    for (let i = 0; i < run.length; i++) from[start + i] = run[i]
  }
  let to = new Array<A>(from.length)
  for (let size = RUN_ITEMS; size < from.length; size *= 2) {
    for (let start = 0; start < from.length; start += size * 2) {
      const middle = Math.min(start + size, from.length),
        end = Math.min(start + size * 2, from.length)
      for (let a = start, b = middle, at = start; at < end; at++) {
        if ((at & 1_023) === 0) spend(4_096)
        to[at] = a < middle && (b >= end || compare(from[a], from[b]) <= 0) ? from[a++] : from[b++]
      }
    }
    const done = to
    to = from
    from = done
  }
  if (from !== items) for (let i = 0; i < from.length; i++) items[i] = from[i]
  return items
}
