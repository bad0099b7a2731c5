/**
 * The sections of a segment that facet counting reads, made once for all threads, in steps and without reading a text.
 * Small segments are counted by the search itself, in less than a millisecond per field.
 */
import { makingAges } from "../../compat/value-age.ts"
import { ORDER, putOrder, sectionsOf, type SectionToPut } from "../../index/derived-sections.ts"
import { facetSectionOf, putFacet } from "../../index/facet-section.ts"
import { PREPARED_DOCS_MIN, type SegmentView } from "../../index/reader.ts"
import type { CollectionSchema } from "../../schema.ts"
import { countingDocs } from "./segment-totals.ts"

const facetFields = ({ segment }: SegmentView, { fields }: CollectionSchema): string[] =>
  segment.docs < PREPARED_DOCS_MIN
    ? []
    : fields.filter(({ facet, name }) => facet && segment.values(name) !== undefined).map(({ name }) => name)
/** Sections that a segment lacks. */
export const missingCounts = (view: SegmentView, schema: CollectionSchema): ReadonlyArray<string> => {
  const known = sectionsOf(view.segment)
  return facetFields(view, schema).filter((field) => !known.has(facetSectionOf(field)))
}
/** Counts these fields. Cost: one pass over the documents and their values per field, and sorting insertion numbers. */
export function* makingCounts(view: SegmentView, fields: ReadonlyArray<string>): Generator<void, SectionToPut[]> {
  if (fields.length === 0) return []
  const { segment } = view,
    made: SectionToPut[] = []
  const repeats = new Uint8Array(segment.meta.fields.length)
  for (const field of fields) {
    // Small segments are counted in one step each.
    yield
    const column = segment.values(field)!
    repeats[segment.meta.fields.indexOf(field)] = (yield* column.lookingForRepeats()) ? 2 : 1
    const totals = yield* countingDocs(segment, column)
    const { born, changed } = yield* makingAges(view, field, column)
    made.push({
      name: facetSectionOf(field),
      put: (allocate) => putFacet(segment.docs, { totals, born, changed }, allocate)
    })
  }
  if (!sectionsOf(segment).has(ORDER)) {
    const order = yield* segment.ordering()
    made.push({ name: ORDER, put: (allocate) => putOrder({ order, repeats }, allocate) })
  }
  return made
}
