/**
 * What searches would otherwise find undone in a segment and do at once: numbers of facet values, the ages that ties
 * are broken by, counts, classes of sort columns. A merged segment gets it before it replaces others, a reopened one as
 * soon as it is there; both in steps, between searches.
 */
import { ORDER, sectionsOf } from "../index/derived-sections.ts"
import { PREPARED_DOCS_MIN, type CollectionReader, type PublishedSegment, type SegmentView } from "../index/reader.ts"
import type { SearchPlan } from "../plan.ts"
import { preparingCounts } from "./facets/segment-totals.ts"
import { preparingClasses } from "./rank/sort-keys.ts"
import { preparingAges } from "../compat/value-age.ts"

/**
 * The segment that is about to be published instead of `replaced`. Cost: O(documents) a facet field, no text is read.
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

/** Segments of a collection that was just opened: what needs no knowledge of earlier searches. */
export function* prepareOpened(reader: CollectionReader): Generator<void, void> {
  for (const view of [...reader.views]) {
    if (view.segment.docs < PREPARED_DOCS_MIN) continue
    const work = preparingOpened(reader, view)
    // What a merge has taken away may be other memory by now.
    while (reader.views.includes(view) && work.next().done !== true) yield
  }
}
/** Values that a search maps by itself, in a few milliseconds at most. */
const UNMAPPED_MAX = 8_192
/**
 * Numbers for the values of every facet of many, of the collection as it is: what its first facet search would wait
 * for. Of the others a search maps what is new by itself.
 */
export function* prepareFacets(reader: CollectionReader): Generator<void, void> {
  for (const { facet, name } of [...reader.schema.fields])
    if (facet && reader.unmapped(name) > UNMAPPED_MAX) yield* reader.mappingField(name)
}
/** What these facets must wait for, in steps; undefined: nothing that is worth it. */
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
