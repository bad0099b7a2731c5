/**
 * Live documents per value of a segment, cached with the segment: a facet over everything reads them instead of
 * counting, and deletions are subtracted as they occur.
 */
import { bitsOf, type Bits } from "../../index/bits.ts"
import type { ValueColumn } from "../../index/columns.ts"
import { attachedFacet } from "../../index/facet-section.ts"
import type { SegmentView } from "../../index/reader.ts"
import type { Segment } from "../../index/segment.ts"
import { spend } from "../../budget/cutoff.ts"

/** If a document has at most this many values, repetitions are found by comparing each value with those before it. */
export const REPEATS_LOOKED_FOR_MAX = 64
/** Documents between two chances to yield. */
const TOTALS_STEP_DOCS = 8_192
/** Live documents per ordinal of a segment, and which deletions are already subtracted. */
interface Totals {
  /** Shared by all threads until one of them must subtract a document. */ live: Uint32Array
  isShared: boolean
  gone: Bits | undefined
  goneCount: number
}
const totalsName = (field: string): string => `totals:${field}`
/**
 * Counted once; afterwards only new deletions are subtracted, at the cost of one pass over the words of the deleted
 * set. Callers must not write to the result.
 */
export const segmentTotals = (view: SegmentView, field: string, column: ValueColumn): Uint32Array => {
  const work = totalling(view, field, column)
  let step = work.next()
  while (step.done !== true) {
    spend(TOTALS_STEP_DOCS)
    step = work.next()
  }
  const totals = step.value
  if (view.deleted !== undefined && totals.goneCount !== view.deletedCount) {
    const gone = (totals.gone ??= bitsOf(view.segment.docs))
    if (totals.isShared) {
      totals.live = totals.live.slice()
      totals.isShared = false
    }
    for (let w = 0; w < gone.length; w++) {
      for (let word = view.deleted[w] & ~gone[w]; word !== 0; word &= word - 1)
        addDocument(column, (w << 5) + 31 - Math.clz32(word & -word), totals.live, -1)
      gone[w] = view.deleted[w]
    }
    totals.goneCount = view.deletedCount
  }
  return totals.live
}
function* totalling({ segment }: SegmentView, field: string, column: ValueColumn): Generator<void, Totals> {
  const known = segment.derived.get(totalsName(field)) as Totals | undefined
  if (known !== undefined) return known
  const shared = attachedFacet(segment, field)?.totals
  const live = shared ?? (yield* countingDocs(segment, column))
  const totals: Totals = { live, isShared: shared !== undefined, gone: undefined, goneCount: 0 }
  segment.derived.set(totalsName(field), totals)
  return totals
}
/** Documents per value, including deleted ones. */
export function* countingDocs({ docs }: Segment, column: ValueColumn): Generator<void, Uint32Array> {
  const live = new Uint32Array(column.table.size)
  for (let doc = 0; doc < docs; doc++) {
    addDocument(column, doc, live, 1)
    if ((doc & (TOTALS_STEP_DOCS - 1)) === TOTALS_STEP_DOCS - 1) yield
  }
  return live
}
/** Makes the counts that a field of a segment needs, in steps: those requested of the segments it replaces. */
export function* preparingCounts(
  view: SegmentView,
  field: string,
  replaced?: ReadonlyArray<SegmentView>
): Generator<void, void> {
  const column = view.segment.values(field)
  if (column === undefined || attachedFacet(view.segment, field) !== undefined) return
  yield* column.lookingForRepeats()
  if (replaced === undefined || replaced.some(({ segment }) => segment.derived.has(totalsName(field))))
    yield* totalling(view, field, column)
}
const addDocument = (column: ValueColumn, doc: number, counts: Uint32Array, step: number): void => {
  if (column.single !== undefined) {
    if (column.single[doc] !== 0) counts[column.single[doc] - 1] += step
    return
  }
  const { starts, ordinals } = column
  if (starts![doc + 1] - starts![doc] > REPEATS_LOOKED_FOR_MAX) {
    for (const ordinal of new Set(ordinals!.subarray(starts![doc], starts![doc + 1]))) counts[ordinal] += step
    return
  }
  for (let i = starts![doc]; i < starts![doc + 1]; i++) {
    let isRepeated = false
    for (let j = starts![doc]; j < i && !isRepeated; j++) isRepeated = ordinals![j] === ordinals![i]
    if (!isRepeated) counts[ordinals![i]] += step
  }
}
