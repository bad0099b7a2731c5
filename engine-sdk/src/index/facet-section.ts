/**
 * What counting a facet field reads of a segment beside its column, as a derived section: documents per value, and the
 * first and the last of them by insertion, which ties are broken by. Made as of a moment; what is deleted later is
 * taken off by whoever reads it.
 */
import { arraysOf, sectionsOf, type DerivedSection } from "./derived-sections.ts"
import { SectionWriter, type Allocate } from "./sections.ts"
import type { Segment } from "./segment.ts"

/** To be raised with every change of what the arrays mean. */
const PREFIX = "facet 1 "
export const facetSectionOf = (field: string): string => PREFIX + JSON.stringify(field)

interface FacetArrays {
  /** Documents per ordinal, deleted ones too. */ readonly totals: Uint32Array
  /** By ordinal: place in the order of insertion, -1 where no document was left. */ readonly born: Int32Array
  readonly changed: Int32Array
}
export const putFacet = (
  docs: number,
  { born, changed, totals }: FacetArrays,
  allocate: Allocate
): Generator<void, Omit<DerivedSection, "id" | "name">> => {
  const out = new SectionWriter()
  out.put("totals", totals)
  out.put("born", born)
  out.put("changed", changed)
  return out.finishing(docs, [], allocate)
}
const read = new WeakMap<DerivedSection, FacetArrays>()
export const attachedFacet = (segment: Segment, field: string): FacetArrays | undefined => {
  const sections = sectionsOf(segment)
  if (sections.size === 0) return undefined
  const section = sections.get(facetSectionOf(field))
  if (section === undefined) return undefined
  let arrays = read.get(section)
  if (arrays === undefined) {
    const from = arraysOf(section)
    arrays = { totals: from.u32("totals"), born: from.i32("born"), changed: from.i32("changed") }
    read.set(section, arrays)
  }
  return arrays
}
