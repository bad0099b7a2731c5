/**
 * Structures that are derived from a segment and shared like it. Each is a set of typed arrays in one contiguous memory
 * range, built once by the writing thread, read by every searching thread, and stored with the segment's snapshot. A
 * name identifies the structure, its version and its settings, so a reader that does not know the name ignores it and
 * builds its own.
 */
import { SectionReader, SectionWriter, type Allocate, type Region, type SegmentMeta } from "./sections.ts"
import type { Segment } from "./segment.ts"
import { graphsOf } from "./vector-graph.ts"

export interface DerivedSection {
  readonly name: string
  /** Its number among the collection's segments and sections, under which it is stored. */ readonly id: number
  readonly meta: SegmentMeta
  readonly region: Region
}
/** All sections derived from one segment; they replace those published before. */
export interface PublishedSections {
  readonly segment: number
  readonly sections: ReadonlyArray<DerivedSection>
}

/** Sets of common words (`making-sets.ts`). The number must be raised with every change to their layout. */
export const COMMON_WORDS = "common words 1"
/** Documents in the order of their insertion numbers, and which facet fields repeat a value within a document. */
export const ORDER = "order 1"
interface OrderArrays {
  readonly order: Uint32Array
  /** By index of the field: 1 = no repeats, 2 = repeats, 0 = not checked. */ readonly repeats: Uint8Array
}
export const putOrder = ({ order, repeats }: OrderArrays, allocate: Allocate): ReturnType<SectionToPut["put"]> => {
  const out = new SectionWriter()
  out.put("order", order)
  out.put("repeats", repeats)
  return out.finishing(order.length, [], allocate)
}
/** A section that is to be laid out; a caller that starts this must run it to the end. */
export interface SectionToPut {
  readonly name: string
  readonly put: (allocate: Allocate) => Generator<void, Omit<DerivedSection, "id" | "name">>
}
const KEY = "sections"
/** The sections attached to a segment; their memory counts as derived from it. */
class AttachedSections {
  readonly byName: ReadonlyMap<string, DerivedSection>
  readonly bytes: number
  constructor(sections: ReadonlyArray<DerivedSection>) {
    this.byName = new Map(sections.map((section) => [section.name, section]))
    this.bytes = sections.reduce((sum, { meta }) => sum + meta.bytes, 0)
  }
}
export const NO_SECTIONS: ReadonlyMap<string, DerivedSection> = new Map()

/** The sections of a segment; a different map whenever they have changed. */
export const sectionsOf = (segment: Segment): ReadonlyMap<string, DerivedSection> =>
  (segment.derived.get(KEY) as AttachedSections | undefined)?.byName ?? NO_SECTIONS
export const attachSections = (segment: Segment, sections: ReadonlyArray<DerivedSection>): void => {
  const before = sectionsOf(segment)
  // Unchanged sections remain the same object, because they may have been read.
  const kept = sections.map((section) => {
    const known = before.get(section.name)
    return known?.id === section.id ? known : section
  })
  if (kept.length === 0) segment.derived.delete(KEY)
  else segment.derived.set(KEY, new AttachedSections(kept))
  segment.useCommonWords(kept.find(({ name }) => name === COMMON_WORDS))
  const order = kept.find(({ name }) => name === ORDER)
  if (order !== undefined) segment.useOrder(arraysOf(order).u32("order"), arraysOf(order).u8("repeats"))
}
export const arraysOf = ({ meta, region }: DerivedSection): SectionReader => new SectionReader(meta, region)

/** Memory regions of a segment and of the data derived from it. */
export const regionsOf = (segment: Segment): ReadonlyArray<Region> => [
  segment.region,
  ...graphsOf(segment).flatMap(({ region }) => region ?? []),
  ...[...sectionsOf(segment).values()].map(({ region }) => region)
]
