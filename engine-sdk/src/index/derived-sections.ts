/**
 * Structures that are derived from a segment and shared like it: typed arrays in one run of memory each, made once by
 * the thread that writes, read by every thread that searches, stored with the segment's snapshot. A name says what it
 * is, of which version and of which settings, so that whoever does not know it leaves it alone and makes its own.
 */
import { SectionReader, SectionWriter, type Allocate, type Region, type SegmentMeta } from "./sections.ts"
import type { Segment } from "./segment.ts"
import { graphsOf } from "./vector-graph.ts"

export interface DerivedSection {
  readonly name: string
  /** Its number among the segments and sections of the collection, under which it is stored. */ readonly id: number
  readonly meta: SegmentMeta
  readonly region: Region
}
/** All that is derived from one segment: it takes the place of what was told before. */
export interface PublishedSections {
  readonly segment: number
  readonly sections: ReadonlyArray<DerivedSection>
}

/** Documents by their insertion numbers, and which facet fields hold a value twice in a document. */
export const ORDER = "order 1"
interface OrderArrays {
  readonly order: Uint32Array
  /** By place of the field: 1 = none does, 2 = some, 0 = nobody has looked. */ readonly repeats: Uint8Array
}
export const putOrder = ({ order, repeats }: OrderArrays, allocate: Allocate): ReturnType<SectionToPut["put"]> => {
  const out = new SectionWriter()
  out.put("order", order)
  out.put("repeats", repeats)
  return out.finishing(order.length, [], allocate)
}
/** What was made, to be laid out; whoever begins that must end it. */
export interface SectionToPut {
  readonly name: string
  readonly put: (allocate: Allocate) => Generator<void, Omit<DerivedSection, "id" | "name">>
}
const KEY = "sections"
/** What is attached to a segment; counted with what is derived from it. */
class AttachedSections {
  readonly byName: ReadonlyMap<string, DerivedSection>
  readonly bytes: number
  constructor(sections: ReadonlyArray<DerivedSection>) {
    this.byName = new Map(sections.map((section) => [section.name, section]))
    this.bytes = sections.reduce((sum, { meta }) => sum + meta.bytes, 0)
  }
}
export const NO_SECTIONS: ReadonlyMap<string, DerivedSection> = new Map()

/** The map is another one whenever they changed. */
export const sectionsOf = (segment: Segment): ReadonlyMap<string, DerivedSection> =>
  (segment.derived.get(KEY) as AttachedSections | undefined)?.byName ?? NO_SECTIONS
export const attachSections = (segment: Segment, sections: ReadonlyArray<DerivedSection>): void => {
  const before = sectionsOf(segment)
  // What stays is the same object: it may have been read.
  const kept = sections.map((section) => {
    const known = before.get(section.name)
    return known?.id === section.id ? known : section
  })
  if (kept.length === 0) segment.derived.delete(KEY)
  else segment.derived.set(KEY, new AttachedSections(kept))
  const order = kept.find(({ name }) => name === ORDER)
  if (order !== undefined) segment.useOrder(arraysOf(order).u32("order"), arraysOf(order).u8("repeats"))
}
export const arraysOf = ({ meta, region }: DerivedSection): SectionReader => new SectionReader(meta, region)

/** Memory of a segment and of what is derived from it. */
export const regionsOf = (segment: Segment): ReadonlyArray<Region> => [
  segment.region,
  ...graphsOf(segment).flatMap(({ region }) => region ?? []),
  ...[...sectionsOf(segment).values()].map(({ region }) => region)
]
