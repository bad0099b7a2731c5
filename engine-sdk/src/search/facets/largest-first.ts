/**
 * Numbers of values by how many documents have them, most first, as far as somebody looks: a facet reads the head of an
 * order of which a sort of a million values would make all. Equals come in the order of their numbers, and together.
 */
import { spend } from "../../budget/cutoff.ts"

/** Values added at a time, at least: all that equal the last of them too. */
const STEP_VALUES = 2_048
/** Counts are told apart one by one below it; few values reach it. */
const LEVELS = 65_536
/** Values between two looks at the time, less one. */
const SPEND_MASK = 16_383

export class LargestFirst {
  /** Documents per value. */ readonly totals: Uint32Array
  /** Of counts below `LEVELS`, and of all above: how many values have it. */
  private readonly levels = new Uint32Array(LEVELS + 1)
  private order = new Uint32Array(0)
  /** Values of this count and above are in the order. */ private floor = LEVELS + 1
  /** All were counted: the time sufficed. */ readonly isWhole: boolean
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
  /** The value at this place; undefined behind the last one that a document has. O(values) at every doubling. */
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
    // Those that have more are not told apart by level.
    if (above > LEVELS) longer.subarray(topFrom, ends[LEVELS]).sort((a, b) => totals[b] - totals[a] || a - b)
    this.order = longer
    this.floor = floor
  }
}
