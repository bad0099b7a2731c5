/**
 * Decides which segments to merge. Pure: sizes in, a choice out. Segments of one size class become one of the next, so
 * the number of times a document is merged grows only logarithmically with the collection.
 */
import type { SegmentView } from "../index/reader.ts"

/** Number of segments of one size class that are merged into one of the next. */
const FAN_OUT = 8
/** Large segments are merged earlier, because every search visits each of them. */
const LARGE_DOCS = 3_500
const LARGE_CLASS = 100
const FAN_OUT_LARGE = 3
/**
 * Fan-out during an import, until there have been no writes for long enough to merge everything into one segment. Each
 * level of merging costs a third of indexing; meanwhile searches visit some ten more segments.
 */
const FAN_OUT_IMPORTING = 8
const SEGMENT_DOCS_MAX = 1_000_000
const COMPACT_DOCS_MAX = 2_000_000

const liveDocs = ({ deletedCount, segment }: SegmentView): number => segment.docs - deletedCount
const isMostlyDeleted = ({ deletedCount, segment }: SegmentView): boolean => deletedCount * 2 > segment.docs

/** Segments of the smallest size class that has enough of them; otherwise segments that are mostly deleted. */
export const mergeableOf = (
  views: ReadonlyArray<SegmentView>,
  isImporting: boolean
): ReadonlyArray<SegmentView> | undefined => {
  const fanOutLarge = isImporting ? FAN_OUT_IMPORTING : FAN_OUT_LARGE
  const classes = new Map<number, SegmentView[]>()
  for (const view of views) {
    const live = liveDocs(view)
    if (live >= SEGMENT_DOCS_MAX) continue
    const size =
      live < LARGE_DOCS
        ? Math.floor(Math.log(Math.max(1, live)) / Math.log(FAN_OUT))
        : LARGE_CLASS + Math.floor(Math.log(live / LARGE_DOCS) / Math.log(fanOutLarge))
    const list = classes.get(size)
    if (list === undefined) classes.set(size, [view])
    else list.push(view)
  }
  for (const [size, list] of [...classes].sort(([a], [b]) => a - b))
    if (list.length >= (size < LARGE_CLASS ? FAN_OUT : fanOutLarge)) return list.slice(0, FAN_OUT * 2)
  const wasteful = views.filter(isMostlyDeleted)
  return wasteful.length === 0 ? undefined : wasteful.slice(0, FAN_OUT)
}

/** Enough documents are new to merge all segments into one, or one is an interim result to be merged again. */
export const isWorthCompacting = (
  views: ReadonlyArray<SegmentView>,
  isPassing: (view: SegmentView) => boolean = () => false
): boolean => {
  let total = 0,
    largest = 0
  for (const { segment } of views) {
    total += segment.docs
    largest = Math.max(largest, segment.docs)
  }
  return views.length > 1 && total <= COMPACT_DOCS_MAX && ((total - largest) * 10 >= largest || views.some(isPassing))
}
