/** Counts values when groups are counted, sibling values are requested, or every value becomes a row. */
import { hasBit, type Bits } from "../../index/bits.ts"
import { eachOrdinal, type ValueColumn } from "../../index/columns.ts"
import type { CollectionReader, SegmentView } from "../../index/reader.ts"
import type { FacetRequest } from "../../plan.ts"
import { spend } from "../../budget/cutoff.ts"
import { countByDictionary } from "./dictionary-counts.ts"
import type { Counted, FacetedSet } from "./facet-rows.ts"

/** `sibling`: a number field; its value in a document that has the facet's value is returned with it. */
export const countValues = (
  reader: CollectionReader,
  request: FacetRequest,
  sets: ReadonlyArray<FacetedSet>,
  sibling: string | undefined
): Map<string, Counted> => {
  const merged = new Map<string, Counted>()
  if (sets.some(({ groupOf }) => groupOf !== undefined)) {
    const groups = new Map<string, Set<number>>()
    for (const { view, bits, groupOf } of sets) {
      const column = view.segment.values(request.field)
      if (column !== undefined && groupOf !== undefined) countGroups(column, bits, groupOf, groups, merged, view)
    }
  } else {
    const { dictionary, counts, seen } = countByDictionary(reader, request.field, sets)
    for (let value = 0; value < counts.length; value++) {
      if (counts[value] === 0) continue
      if (spend(16)) break
      const from = sets[seen![value * 2]]
      merged.set(dictionary.text(value), { count: counts[value], value, view: from.view, doc: seen![value * 2 + 1] })
    }
  }
  if (sibling !== undefined) addSiblings(request.field, sibling, sets, merged)
  return merged
}
const countGroups = (
  column: ValueColumn,
  bits: Bits,
  groupOf: (doc: number) => number,
  groups: Map<string, Set<number>>,
  merged: Map<string, Counted>,
  view: SegmentView
): void => {
  for (let doc = 0; doc < view.segment.docs; doc++) {
    if (!hasBit(bits, doc)) continue
    if (spend(16)) return
    const group = groupOf(doc)
    eachOrdinal(column, doc, (ordinal) => {
      spend(16)
      const value = column.table.text(ordinal)
      let seen = groups.get(value)
      if (seen === undefined) {
        groups.set(value, (seen = new Set()))
        merged.set(value, { count: 0, view, doc })
      }
      seen.add(group)
      merged.get(value)!.count = seen.size
    })
  }
}
const addSiblings = (
  field: string,
  sibling: string,
  sets: ReadonlyArray<FacetedSet>,
  merged: Map<string, Counted>
): void => {
  for (const { view, bits } of sets) {
    const column = view.segment.values(field),
      numbers = view.segment.numbers(sibling)
    if (column === undefined || numbers === undefined) continue
    for (let doc = 0; doc < view.segment.docs; doc++) {
      if (!hasBit(bits, doc)) continue
      if (spend(16)) return
      const value = numbers.first(doc)
      if (value !== undefined)
        eachOrdinal(column, doc, (ordinal) => {
          spend(16)
          const entry = merged.get(column.table.text(ordinal))
          if (entry !== undefined) entry.sibling = value
        })
    }
  }
}
