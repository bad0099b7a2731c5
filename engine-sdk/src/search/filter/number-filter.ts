/** Filters on numbers (`docs/contract/filters.md#numbers`) and on booleans, which are stored as numbers. */
import type { NumberFilter } from "../../filter.ts"
import { bitsOf, hasBit, setBit, type Bits } from "../../index/bits.ts"
import type { NumberColumn } from "../../index/columns.ts"
import type { Segment } from "../../index/segment.ts"
import { spendInFilter } from "../../budget/cutoff.ts"
import { steppedRange, stepsOf } from "./number-steps.ts"

/** Cost of evaluating one range, in steps. */
const RANGE_STEPS = 16
/** Documents of a column compared between two checks of the time budget. */
const BLOCK_DOCS = 8_192

/** A fresh set of the documents with a value in one of the ranges. It may contain deleted documents. */
export const numberBits = (filter: NumberFilter, segment: Segment): Bits => {
  const bits = bitsOf(segment.docs)
  const column = segment.numbers(filter.field)
  if (column === undefined) return bits
  for (const range of filter.ranges) {
    spendInFilter(RANGE_STEPS)
    if (column.big !== undefined || typeof range.min === "bigint" || typeof range.max === "bigint")
      bigRange(column, range, segment.docs, bits)
    else {
      const isFloat = filter.type === "float"
      const min = isFloat ? Math.fround(range.min) : range.min,
        max = isFloat ? Math.fround(range.max) : range.max
      const steps = stepsOf(segment, filter.field, column)
      if (steps === undefined)
        plainRange(column, min, max, range.minOpen === true, range.maxOpen === true, segment.docs, bits)
      else steppedRange(steps, column.values, min, max, range.minOpen === true, range.maxOpen === true, bits)
    }
  }
  return bits
}
export const boolBits = (field: string, wanted: ReadonlyArray<boolean>, segment: Segment): Bits => {
  const bits = bitsOf(segment.docs),
    column = segment.numbers(field)
  if (column !== undefined)
    for (const value of wanted) plainRange(column, Number(value), Number(value), false, false, segment.docs, bits)
  return bits
}
const plainRange = (
  column: NumberColumn,
  min: number,
  max: number,
  minOpen: boolean,
  maxOpen: boolean,
  docs: number,
  into: Bits
): void => {
  const { values, has, starts } = column
  if (starts === undefined) {
    // Processes one word of 32 documents at a time; documents without a value are masked afterwards.
    for (let w = 0, doc = 0; w < into.length; w++) {
      if ((doc & (BLOCK_DOCS - 1)) === 0) spendInFilter(BLOCK_DOCS)
      let word = 0
      for (let bit = 0, end = Math.min(32, docs - (w << 5)); bit < end; bit++, doc++) {
        const v = values[doc]
        if (v >= min && v <= max) word |= 1 << bit
      }
      if (word === 0) continue
      word &= has![w]
      if (minOpen || maxOpen)
        for (let bit = 0; bit < 32; bit++) {
          const v = values[(w << 5) + bit]
          if ((minOpen && v === min) || (maxOpen && v === max)) word &= ~(1 << bit)
        }
      into[w] |= word
    }
    return
  }
  for (let doc = 0; doc < docs; doc++)
    for (let i = starts[doc]; i < starts[doc + 1]; i++) {
      spendInFilter(1)
      const v = values[i]
      if (v >= min && v <= max && !(minOpen && v === min) && !(maxOpen && v === max)) {
        setBit(into, doc)
        break
      }
    }
}
const bigRange = (column: NumberColumn, range: NumberFilter["ranges"][number], docs: number, into: Bits): void => {
  // bigint and number compare exactly with each other, and infinities stay infinite.
  const inside = (v: bigint | number): boolean =>
    (range.minOpen === true ? v > range.min : v >= range.min) &&
    (range.maxOpen === true ? v < range.max : v <= range.max)
  const valueAt = (i: number): bigint | number => (column.big === undefined ? column.values[i] : column.big[i])
  for (let doc = 0; doc < docs; doc++) {
    spendInFilter(column.starts === undefined ? 4 : 4 + (column.starts[doc + 1] - column.starts[doc]) * 4)
    if (column.starts === undefined) {
      if (hasBit(column.has!, doc) && inside(valueAt(doc))) setBit(into, doc)
    } else
      for (let i = column.starts[doc]; i < column.starts[doc + 1]; i++)
        if (inside(valueAt(i))) {
          setBit(into, doc)
          break
        }
  }
}
