/**
 * Signed sums by subject and instant: how most processors keep the facts of one flush. A retraction is a negative sum;
 * sums that cancel out are not emitted. The arrays are flat, because an array per subject would create more garbage
 * than counting costs, and so would a map, with a number object per key.
 */
import { freeSlot, slotOf } from "@dowser/engine-sdk/host"
import type { FlushSubjects, Key, Subject } from "./subjects.ts"

const CAPACITY = 1_024
/**
 * The memory of a flush is reused for the next one if that filled at least this share of it: touching new memory costs
 * more than counting in it.
 */
const KEPT_FROM = 16
/** Slots of the look-up table per instant of capacity, so that it is at most half full. */
const SLOTS_PER_INSTANT = 2
const NONE = -1

/** Instants of a flush are mostly consecutive milliseconds, and the numbers of subjects are consecutive too. */
const hashOf = (subject: number, instant: number): number => {
  const mixed = Math.imul((instant | 0) ^ Math.imul(subject, 0x9e3779b1), 0x85ebca6b)
  return mixed ^ (mixed >>> 15)
}

/** Instants of subjects, by index, in order of arrival. */
interface Places {
  readonly capacity: number
  readonly instants: Float64Array
  /** Subject numbers of the instants. */
  readonly subjects: Int32Array
  /** Index of the subject's previous instant. */
  readonly before: Int32Array
  /** `slots` numbers for each instant. */
  readonly sums: Float64Array
  /** Open addressing by subject and instant: an index plus one, 0 for none. */
  readonly table: Int32Array
}
const placesFor = (capacity: number, slots: number): Places => ({
  capacity,
  instants: new Float64Array(capacity),
  subjects: new Int32Array(capacity),
  before: new Int32Array(capacity),
  sums: new Float64Array(capacity * slots),
  table: new Int32Array(SLOTS_PER_INSTANT * capacity)
})

export class Deltas {
  readonly slots: number
  readonly subjects: FlushSubjects
  #size = 0
  /** By number of the subject: the index of the instant that was added to last. */
  readonly #last: Array<number> = []
  /** By number of the subject: the index of its newest instant; `before` links to the previous one. */
  readonly #newest: Array<number> = []
  #places: Places

  /**
   * `columns` sums, the last `amounts` of which are money and take two slots each. `spent` are sums with the same
   * columns that are no longer needed and whose memory is reused.
   */
  constructor(columns: number, amounts: number, subjects: FlushSubjects, spent?: Deltas) {
    this.slots = columns + amounts
    this.subjects = subjects
    this.#places =
      spent === undefined || spent.#size < spent.#places.capacity / KEPT_FROM
        ? placesFor(CAPACITY, this.slots)
        : spent.#emptied()
  }
  #emptied(): Places {
    this.#places.sums.fill(0, 0, this.#size * this.slots)
    this.#places.table.fill(0)
    return this.#places
  }

  /** Number of instants touched. */
  get size(): number {
    return this.#size
  }

  /** Adds to one sum at one instant; `subject` belongs to this flush. O(1); allocates only to grow. */
  add(subject: Subject, instant: number, slot: number, amount: number): void {
    const { number } = subject
    if (number >= this.#last.length) this.#reach(number)
    let place = this.#last[number]!
    if (place === NONE || this.#places.instants[place] !== instant)
      place = this.#last[number] = this.#placeOf(number, instant)
    const { sums } = this.#places,
      at = place * this.slots + slot
    sums[at] = sums[at]! + amount
  }
  #reach(number: number): void {
    while (this.#last.length <= number) {
      this.#last.push(NONE)
      this.#newest.push(NONE)
    }
  }

  #placeOf(subject: number, instant: number): number {
    if (this.#size === this.#places.capacity) this.#grow()
    const { before, instants, subjects, table } = this.#places
    const slot = slotOf(
      table,
      hashOf(subject, instant),
      (value) => instants[value - 1] === instant && subjects[value - 1] === subject
    )
    if (table[slot] !== 0) return table[slot]! - 1
    const place = this.#size++
    table[slot] = place + 1
    instants[place] = instant
    subjects[place] = subject
    before[place] = this.#newest[subject]!
    this.#newest[subject] = place
    return place
  }
  #grow(): void {
    const { before, capacity, instants, subjects, sums } = this.#places
    const larger = (this.#places = placesFor(2 * capacity, this.slots)),
      { table } = larger
    larger.instants.set(instants)
    larger.subjects.set(subjects)
    larger.before.set(before)
    larger.sums.set(sums)
    for (let place = 0; place < this.#size; place++)
      table[freeSlot(table, hashOf(subjects[place]!, instants[place]!))] = place + 1
  }

  /** Visits every instant that did not cancel out, grouped by subject; its sums begin at `sums[from]`. */
  eachInstant(each: (key: Key, instant: number, sums: Float64Array, from: number) => void): void {
    const { slots } = this,
      { before, instants, sums } = this.#places
    for (let number = 0; number < this.#newest.length; number++) {
      const key = this.subjects.keyAt(number)
      for (let place = this.#newest[number]!; place !== NONE; place = before[place]!) {
        const from = place * slots
        for (let slot = from; slot < from + slots; slot++) {
          if (sums[slot] === 0) continue
          each(key, instants[place]!, sums, from)
          break
        }
      }
    }
  }
}
