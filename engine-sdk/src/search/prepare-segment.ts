/**
 * Work that searches would otherwise do on the first use of a segment: numbering facet values, computing the insertion
 * ages that break ties, counting, and classifying sort columns. It is done for a merged segment before it replaces
 * others, and for a reopened one as soon as it is open; in both cases in steps, between searches.
 */
import { ORDER, sectionsOf } from "../index/derived-sections.ts"
import { PREPARED_DOCS_MIN, type CollectionReader, type PublishedSegment, type SegmentView } from "../index/reader.ts"
import type { SearchPlan } from "../plan.ts"
import { preparingCounts } from "./facets/segment-totals.ts"
import { preparingClasses } from "./rank/sort-keys.ts"
import { preparingAges } from "../compat/value-age.ts"

/**
 * Prepares the segment that is about to be published in place of `replaced`. Cost: O(documents) per facet field; no
 * text is read.
 */
export function* prepareSuccessor(
  reader: CollectionReader,
  upcoming: PublishedSegment,
  replaced: ReadonlyArray<number>
): Generator<void, void> {
  const view = reader.expect(upcoming)
  const sources = reader.views.filter(({ segment }) => replaced.includes(segment.id))
  if (!sectionsOf(view.segment).has(ORDER)) yield* view.segment.ordering()
  for (const { facet, name } of reader.schema.fields) {
    if (facet) {
      yield* preparingCounts(view, name, sources)
      yield* preparingAges(view, name)
    }
    yield* preparingClasses(view, name, sources)
  }
  yield* reader.preparingDictionaries(view, sources)
}

/** Prepares the segments of a collection that was just opened, as far as that does not depend on earlier searches. */
export function* prepareOpened(reader: CollectionReader): Generator<void, void> {
  for (const view of [...reader.views]) {
    if (view.segment.docs < PREPARED_DOCS_MIN) continue
    const work = preparingOpened(reader, view)
    // A merge may have released the segment's memory.
    while (reader.views.includes(view) && work.next().done !== true) yield
  }
}
/** Number of values that a search may map itself, in a few milliseconds at most. */
const UNMAPPED_MAX = 8_192
/**
 * Numbers the values of every facet that has many of them in the collection's current state; the first facet search
 * would otherwise have to wait for this. For the other facets, a search maps new values itself.
 */
export function* prepareFacets(reader: CollectionReader): Generator<void, void> {
  for (const { facet, name } of [...reader.schema.fields])
    if (facet && reader.unmapped(name) > UNMAPPED_MAX) yield* reader.mappingField(name)
}
/** The work, in steps, that these facets must wait for; undefined if nothing is worth preparing. */
export const facetsToPrepare = (
  reader: CollectionReader,
  facets: SearchPlan["facets"]
): Generator<void, void> | undefined => {
  let values = 0
  for (const { collection, field } of facets) if (collection === undefined) values += reader.unmapped(field)
  return values <= UNMAPPED_MAX
    ? undefined
    : (function* () {
        for (const { collection, field } of facets) if (collection === undefined) yield* reader.mappingField(field)
      })()
}
function* preparingOpened(reader: CollectionReader, view: SegmentView): Generator<void, void> {
  for (const { facet, name } of reader.schema.fields) {
    if (!facet) continue
    yield* preparingCounts(view, name)
    yield* preparingAges(view, name)
  }
}
