/**
 * Numbers of values, ordered by how many documents have them, most first. They are sorted only as far as they are read:
 * a facet reads the start of the order, and sorting a million values would be wasted. Values with equal counts are in
 * the order of their numbers.
 */
import { spend } from "../../budget/cutoff.ts"

/** Minimum number of values added at a time; all values with the same count as the last of them are added too. */
const STEP_VALUES = 2_048
/** Counts below this are distinguished exactly; few values reach it. */
const LEVELS = 65_536
/** Values between two checks of the time budget, less one. */
const SPEND_MASK = 16_383

export class LargestFirst {
  /** Documents per value. */ readonly totals: Uint32Array
  /** Number of values with each count below `LEVELS`; the last entry is the number of values above. */
  private readonly levels = new Uint32Array(LEVELS + 1)
  private order = new Uint32Array(0)
  /** Values with this count or more are in the order. */ private floor = LEVELS + 1
  /** Whether all values were counted before time ran out. */ readonly isWhole: boolean
  /** O(values). */
  constructor(totals: Uint32Array) {
    this.totals = totals
    let isOver = false
    for (let value = 0; value < totals.length && !isOver; value++) {
      if ((value & SPEND_MASK) === SPEND_MASK) isOver = spend(SPEND_MASK)
      this.levels[Math.min(totals[value], LEVELS)]++
    }
    this.isWhole = !isOver
  }
  /** The value at this position; undefined after the last value that a document has. O(values) at every doubling. */
  at(place: number): number | undefined {
    while (place >= this.order.length && this.floor > 1) this.extend()
    return place < this.order.length ? this.order[place] : undefined
  }
  private extend(): void {
    const { levels, order, totals } = this
    const above = this.floor,
      ends = new Uint32Array(LEVELS + 1),
      wanted = Math.max(STEP_VALUES, order.length)
    let floor = above,
      size = order.length
    while (floor > 1 && size - order.length < wanted) {
      floor--
      ends[floor] = size
      size += levels[floor]
    }
    const longer = new Uint32Array(size)
    longer.set(order)
    const topFrom = ends[LEVELS]
    for (let value = 0; value < totals.length; value++) {
      const level = Math.min(totals[value], LEVELS)
      if (level >= floor && level < above) longer[ends[level]++] = value
      if ((value & SPEND_MASK) === SPEND_MASK) spend(SPEND_MASK)
    }
    // Levels do not distinguish higher counts, so these values are sorted.
    if (above > LEVELS) longer.subarray(topFrom, ends[LEVELS]).sort((a, b) => totals[b] - totals[a] || a - b)
    this.order = longer
    this.floor = floor
  }
}
