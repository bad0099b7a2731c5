/** Facets over ranges of numbers: counted per document, or derived from the values found. */
import { hasBit } from "../../index/bits.ts"
import type { FacetRequest } from "../../plan.ts"
import { spend } from "../../budget/cutoff.ts"
import { rowsOf, type Counted, type FacetedSet, type Row } from "./facet-rows.ts"
import { firstNotBefore } from "../../sorted.ts"

/** Turns rows of values into rows of ranges. */
export const inRanges = (request: FacetRequest, rows: ReadonlyArray<Row>): Row[] => {
  const merged = new Map<string, Counted>()
  for (const { value, counted } of rows) {
    spend(8)
    const range = rangeAround(request.ranges, Number(value))
    if (range === undefined) continue
    const known = merged.get(range.label)
    if (known === undefined) merged.set(range.label, { ...counted })
    else known.count += counted.count
  }
  return rowsOf(merged)
}

/** Ranges are contiguous, so only the last one that starts at or below the value can contain it. */
const rangeAround = (ranges: FacetRequest["ranges"], value: number): FacetRequest["ranges"][number] | undefined => {
  const range = ranges[firstNotBefore(0, ranges.length, (at) => ranges[at].from <= value) - 1]
  return range !== undefined && value >= range.from && value < range.to
    ? range
    : ranges.find(({ from, to }) => value >= from && value < to)
}
/** Number of documents, or groups, with a number in each range. */
export const countRanges = (request: FacetRequest, sets: ReadonlyArray<FacetedSet>): Map<string, Counted> => {
  const merged = new Map<string, Counted>()
  const groups = new Map<string, Set<number>>()
  for (const { view, bits, groupOf } of sets) {
    const column = view.segment.numbers(request.field)
    if (column === undefined) continue
    for (let doc = 0; doc < view.segment.docs; doc++) {
      if (!hasBit(bits, doc)) continue
      if (spend(8)) return merged
      const from = column.starts === undefined ? doc : column.starts[doc]
      const end = column.starts === undefined ? (hasBit(column.has!, doc) ? doc + 1 : doc) : column.starts[doc + 1]
      const seen = new Set<string>()
      for (let i = from; i < end; i++) {
        spend(8)
        const range = rangeAround(request.ranges, column.values[i])
        if (range === undefined || seen.has(range.label)) continue
        seen.add(range.label)
        const known = merged.get(range.label)
        if (groupOf !== undefined) {
          let members = groups.get(range.label)
          if (members === undefined) groups.set(range.label, (members = new Set()))
          members.add(groupOf(doc))
          if (known === undefined) merged.set(range.label, { count: 1, view, doc })
          else known.count = members.size
        } else if (known === undefined) merged.set(range.label, { count: 1, view, doc })
        else known.count++
      }
    }
  }
  return merged
}
