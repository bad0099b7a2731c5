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
/** Whether an import is running, and whether its collection is searched meanwhile. */
export type Importing = "no" | "searched" | "unsearched"
/**
 * Fan-out of large segments. Until there have been no writes for long enough to merge everything into one segment, an
 * import merges less: each level of merging costs a third of indexing, while searches visit some ten more segments.
 * Where nobody searches, even less: an import of 100,000 products is a sixth faster, and the first searches after it
 * take half as long again, until everything is one segment (`docs/performance-log.md`).
 */
const FAN_OUT_LARGE: ReadonlyMap<Importing, number> = new Map([
  ["no", 3],
  ["searched", 8],
  ["unsearched", 32]
])
const SEGMENT_DOCS_MAX = 1_000_000
const COMPACT_DOCS_MAX = 2_000_000

const liveDocs = ({ deletedCount, segment }: SegmentView): number => segment.docs - deletedCount
const isMostlyDeleted = ({ deletedCount, segment }: SegmentView): boolean => deletedCount * 2 > segment.docs

/** Segments of the smallest size class that has enough of them; otherwise segments that are mostly deleted. */
export const mergeableOf = (
  views: ReadonlyArray<SegmentView>,
  importing: Importing
): ReadonlyArray<SegmentView> | undefined => {
  const fanOutLarge = FAN_OUT_LARGE.get(importing)!
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
    if (list.length >= (size < LARGE_CLASS ? FAN_OUT : fanOutLarge))
      return list.slice(0, Math.max(FAN_OUT * 2, fanOutLarge))
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
