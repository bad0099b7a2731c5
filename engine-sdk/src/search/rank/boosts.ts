/**
 * Sums of boosts per document. They depend only on the rules and the segment, so a segment caches them as long as the
 * rules are in use; cases that refer to other collections are summed for each search.
 */
import type { Bits } from "../../index/bits.ts"
import type { SegmentView } from "../../index/reader.ts"
import type { Segment } from "../../index/segment.ts"
import type { SortKey } from "../../plan.ts"
import type { Filter } from "../../filter.ts"
import { spendInFilter } from "../../budget/cutoff.ts"
import type { FilterEvaluation } from "../filter/filters.ts"

type Cases = Extract<SortKey, { readonly kind: "boosts" }>["cases"]
const known = new WeakMap<Cases, WeakMap<Segment, Float64Array>>()

/** Sums are compared for equality: tenths added in a different order must tie. */
const PRECISION = 1e9

/** One sum per document. O(cases · documents / 32 + passing documents) once per segment and set of rules. */
export const boostSums = (cases: Cases, evaluation: FilterEvaluation, view: SegmentView): Float64Array => {
  if (cases.some(({ filter }) => joins(filter))) return sumsOf(cases, evaluation, view)
  let bySegment = known.get(cases)
  if (bySegment === undefined) known.set(cases, (bySegment = new WeakMap()))
  let sums = bySegment.get(view.segment)
  if (sums === undefined) bySegment.set(view.segment, (sums = sumsOf(cases, evaluation, view)))
  return sums
}
const sumsOf = (cases: Cases, evaluation: FilterEvaluation, view: SegmentView): Float64Array => {
  const sums = new Float64Array(view.segment.docs)
  for (const { filter, score } of cases) addWhere(sums, evaluation.bits(filter, view), score)
  for (let doc = 0; doc < sums.length; doc++)
    if (sums[doc] !== 0) sums[doc] = Math.round(sums[doc] * PRECISION) / PRECISION
  return sums
}
const addWhere = (sums: Float64Array, bits: Bits, score: number): void => {
  for (let w = 0; w < bits.length; w++) {
    spendInFilter(8)
    for (let word = bits[w] | 0; word !== 0; word &= word - 1) sums[(w << 5) + 31 - Math.clz32(word & -word)] += score
  }
}
const joins = (filter: Filter): boolean => {
  switch (filter.kind) {
    case "join":
      return true
    case "and":
    case "or":
      return joins(filter.left) || joins(filter.right)
    case "not":
    case "element":
      return joins(filter.filter)
    default:
      return false
  }
}
