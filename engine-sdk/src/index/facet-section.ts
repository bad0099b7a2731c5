/**
 * What facet counting reads from a segment in addition to the field's column, as a derived section: documents per
 * value, and the first and the last of them by insertion, which break ties. It reflects the moment at which it was
 * built; readers subtract later deletions.
 */
import { arraysOf, sectionsOf, type DerivedSection } from "./derived-sections.ts"
import { SectionWriter, type Allocate } from "./sections.ts"
import type { Segment } from "./segment.ts"

/** Must be raised with every change to the meaning of the arrays. */
const PREFIX = "facet 1 "
export const facetSectionOf = (field: string): string => PREFIX + JSON.stringify(field)

interface FacetArrays {
  /** Number of documents per ordinal, including deleted ones. */ readonly totals: Uint32Array
  /** By ordinal: index in insertion order, -1 if no document was left. */ readonly born: Int32Array
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
