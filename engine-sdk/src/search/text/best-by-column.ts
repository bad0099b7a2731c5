/**
 * If the order starts with a column, text scores only decide between equal values and appear in the answer, so only
 * documents that may be among the k best by the column are scored. Blocks of 32 documents whose best value is too low
 * are skipped.
 */
import { bitsOf, setBit, type Bits } from "../../index/bits.ts"
import { spend } from "../../budget/cutoff.ts"
import type { SegmentMatches } from "./segment-matches.ts"
import type { TieColumn } from "./top-k-scorer.ts"

/** Shorter sets are scanned just as fast without skipping. */
const WORDS_MIN = 128
/** Set words between two checks of the time budget, less one. */
const BLOCK_MASK = 1_023

/** The documents of each segment that do not rank below k others by the first column of the order. */
export const bestByColumn = (
  matches: ReadonlyArray<SegmentMatches>,
  columns: ReadonlyArray<TieColumn>,
  k: number
): Bits[] => {
  const best = new HighestValues(k)
  matches.forEach((match, s) =>
    eachAbove(match.found, columns[s], best, (_doc, value) => {
      best.offer(value)
    })
  )
  const last: Threshold = { isReached: (value) => value >= best.least }
  return matches.map((match, s) => {
    const chosen = bitsOf(match.view.segment.docs)
    eachAbove(match.found, columns[s], last, (doc) => setBit(chosen, doc))
    return chosen
  })
}

interface Threshold {
  /** Also called with the highest value of 32 documents. */ isReached(value: number): boolean
}
const eachAbove = (
  found: Bits,
  { absent, first, has, maxima, sign }: TieColumn,
  threshold: Threshold,
  visit: (doc: number, value: number) => void
): void => {
  const highest = found.length < WORDS_MIN ? undefined : maxima?.()
  for (let w = 0; w < found.length; w++) {
    if ((w & BLOCK_MASK) === 0 && spend(BLOCK_MASK)) return
    let word = found[w] | 0
    if (word === 0 || (highest !== undefined && !threshold.isReached(highest[w]))) continue
    for (; word !== 0; word &= word - 1) {
      const low = word & -word,
        doc = (w << 5) + 31 - Math.clz32(low)
      const value = has !== undefined && (has[w] & low) === 0 ? absent : sign * first[doc]
      if (threshold.isReached(value)) visit(doc, value)
    }
  }
}

/** The k highest values so far; the root is the lowest of them. */
class HighestValues implements Threshold {
  private readonly values: Float64Array
  constructor(k: number) {
    this.values = new Float64Array(k).fill(-Infinity)
  }
  get least(): number {
    return this.values[0]
  }
  isReached(value: number): boolean {
    return value > this.values[0]
  }
  offer(value: number): void {
    const { values } = this
    let at = 0
    for (;;) {
      let child = at * 2 + 1
      if (child >= values.length) break
      if (child + 1 < values.length && values[child + 1] < values[child]) child++
      if (values[child] >= value) break
      values[at] = values[child]
      at = child
    }
    values[at] = value
  }
}
