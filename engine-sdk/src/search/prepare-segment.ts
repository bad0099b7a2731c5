/**
 * What searches would otherwise find undone in a segment and do at once: numbers of facet values, the ages that ties are
 * broken by, counts, classes of sort columns. A merged segment gets it before it replaces others, a reopened one as soon
 * as it is there; both in steps, between searches.
 */
import { PREPARED_DOCS_MIN, type CollectionReader, type PublishedSegment, type SegmentView } from "../index/reader.ts"
import { preparingCounts } from "./facets.ts"
import { preparingClasses } from "./sort-keys.ts"
import { preparingAges } from "./value-age.ts"

/** The segment that is about to be published instead of `replaced`. Cost: O(documents) a facet field, no text is read. */
export function* prepareSuccessor(reader: CollectionReader, upcoming: PublishedSegment, replaced: ReadonlyArray<number>): Generator<void, void> {
  const view = reader.expect(upcoming)
  const sources = reader.views.filter(({ segment }) => replaced.includes(segment.id))
  yield* view.segment.ordering()
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
    const work = preparingTies(reader, view)
    // What a merge has taken away may be other memory by now.
    while (reader.views.includes(view) && work.next().done !== true) yield
  }
}
function* preparingTies(reader: CollectionReader, view: SegmentView): Generator<void, void> {
  for (const { facet, name } of reader.schema.fields) {
    if (!facet) continue
    yield* preparingCounts(view, name, [])
    yield* preparingAges(view, name)
  }
}
