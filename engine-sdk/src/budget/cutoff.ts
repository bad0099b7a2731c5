/**
 * The time that a search may take on its thread. Searches are synchronous, so one runs at a time: every loop reports
 * its steps (`spend`), and the clock is read every few thousand steps. Two limits end a search. After
 * `search_cutoff_ms`, loops stop and the answer is marked incomplete; an incomplete filter would be wrong (under a
 * negation it lets too much through), so it is abandoned and matches nothing. When the quantum that a shared thread
 * grants one search is used up, the search is interrupted and run again where it delays nobody.
 */
import { threadTime_ms } from "./thread-time.ts"

/** Thrown inside a filter, and caught where the filter began. */
const FILTER_GIVEN_UP = Symbol("time ran out inside of a filter")
/** May be thrown anywhere; all intermediate results are discarded. */
export const GIVE_WAY = Symbol("the quantum of the thread is used")

/** Steps between two reads of the clock; a step takes a few to a few dozen nanoseconds, so under a millisecond. */
const LOOK_STEPS = 16_384
/** Work that is known to take more steps than this without a check is not started on a thread that has a quantum. */
const PIECE_STEPS_MAX = 400_000
/** Quantum on the main thread for parts of an answer that are made after the search. */
const LATE_MS = 10
/** From here on the thread's own time is also read; until then, all wall-clock time counts as the thread's. */
const MEASURED_MS = 2

/**
 * Time that the thread has spent on this work since it began: processor time if the system reports it, else wall-clock
 * time.
 */
class Used {
  private readonly begun: number
  private first: { readonly wall: number; readonly thread: number } | undefined
  constructor(begun: number) {
    this.begun = begun
  }
  /** Reads no thread time as long as the wall-clock time is below `limit`. */
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
/** The time that the searches of one request share, and the quantum of the thread. */
export class Allowance {
  private readonly used: Used
  private readonly quantum_ms: number
  private readonly isGivenUp: (() => boolean) | undefined
  /** `isGivenUp`: whether the caller has disconnected; called whenever the clock is read. */
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
  /** Set once the time is over or the caller has disconnected. */ isPast = false
  /** `limit_ms`: limit of the time that the allowance counts. */
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
   * For a later part of the search, which gets this much time in any case, because hits found in time should still be
   * ordered and counted.
   */
  atLeast(ms: number): Cutoff {
    return new Cutoff(this.allowance, Math.max(this.limit_ms, this.allowance.used_ms() + ms))
  }
}

/**
 * For parts of an answer that are made after the search itself, such as the highlights of a window's hits. If the
 * search had a quantum, all of these parts together have one, too. Throws `GIVE_WAY` beyond it.
 */
export class LateQuantum {
  private left_ms: number
  private isRunning = false
  /** It has given way, so later parts give way, too. */ isOver = false
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
/** Counts steps. True if the time is over; loops then stop. Outside `within`, the time is never over. */
export const spend = (steps: number): boolean => ((left -= steps) > 0 ? isPast : look(steps))
/** Like `spend`, inside a filter: throws if the time is over. */
export const spendInFilter = (steps: number): void => {
  if (spend(steps)) throw FILTER_GIVEN_UP
}
/** Whether the time is over, without reading the clock. */
export const isOver = (): boolean => isPast

/** Runs synchronous work under a limit; work inside it may have another limit. */
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
/** The filter's result, or `givenUp` if there was not enough time for it. */
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
 * Sorts in place, stably like the runtime's sort. The latter cannot report steps, so more than a few thousand items are
 * sorted in runs that are then merged. If the time is over, the first `most` items may not be the best ones.
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
