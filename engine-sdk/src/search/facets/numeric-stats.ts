/** Minimum, maximum, sum and mean of the numbers of a facet. */
import { hasBit } from "../../index/bits.ts"
import { ORDERED_DOCS_MIN } from "../../index/document-order.ts"
import { spend } from "../../budget/cutoff.ts"
import type { FacetedSet } from "./facet-rows.ts"

/** The sum of the examined values, weighted by their counts. */
export const sumOf = (
  values: Iterable<{ readonly value: string; readonly count: number }>
): { sum: number; avg: number } => {
  let sum = 0,
    n = 0
  for (const { value, count } of values) {
    sum += (value.includes(".") ? Math.fround(Number(value)) : Number(value)) * count
    n += count
  }
  return { sum, avg: n === 0 ? 0 : sum / n }
}
interface NumericStats {
  readonly min: number
  readonly max: number
  readonly sum: number
  readonly avg: number
}
/** Statistics over every element of every matching document. */
export const numericStats = (field: string, sets: ReadonlyArray<FacetedSet>): NumericStats | undefined => {
  let min = Infinity,
    max = -Infinity,
    sum = 0,
    n = 0
  // Rounding error of the additions. It is compensated, so that the sum does not depend on the order of documents in a
  // large segment (`index/document-order.ts`).
  let rest = 0
  for (const { view, bits } of sets) {
    const isOrdered = view.segment.docs >= ORDERED_DOCS_MIN
    const column = view.segment.numbers(field)
    if (column === undefined) continue
    const { values, starts, has } = column
    for (let w = 0; w < bits.length; w++) {
      if (bits[w] !== 0 && spend(32)) break
      for (let word = bits[w] | 0; word !== 0; word &= word - 1) {
        const doc = (w << 5) + 31 - Math.clz32(word & -word)
        if (starts === undefined && !hasBit(has!, doc)) continue
        if (starts !== undefined) spend(starts[doc + 1] - starts[doc])
        for (
          let i = starts === undefined ? doc : starts[doc], end = starts === undefined ? doc + 1 : starts[doc + 1];
          i < end;
          i++
        ) {
          const value = values[i]
          if (value < min) min = value
          if (value > max) max = value
          const before = sum
          sum += value
          if (isOrdered) {
            const taken = sum - before
            rest += before - (sum - taken) + (value - taken)
          }
          n++
        }
      }
    }
  }
  return n === 0 ? undefined : { min, max, sum: sum + rest, avg: (sum + rest) / n }
}
