/**
 * When the values of a facet field first appeared and when they were last added to; the reference engine breaks ties by
 * this. There, a value gets its number when a batch of documents first contains it, and moves behind values with the
 * same count in the list of counts with every batch that adds to it. Both follow from the batch and from the position
 * within it.
 *
 * Here a batch is a thousand consecutive insertion numbers, and everything is derived from the live documents, so
 * replicas, replays, merges and reopening agree. This equals the reference for imports of whole thousands, and for one
 * import into an empty collection. It differs if a value outlives the document that introduced it (its age is then that
 * of the next one; the reference keeps the number until the last such document is removed) and for documents written
 * one by one (a batch each there).
 *
 * Stored are 8 bytes per value and segment, computed by the thread that writes for all others
 * (`index/facet-section.ts`) or, for newer segments, at the first tie at a cut; and the positions of a few batches.
 */
import { hasBit } from "../index/bits.ts"
import type { ValueColumn } from "../index/columns.ts"
import { attachedFacet } from "../index/facet-section.ts"
import type { FieldDictionary } from "../index/field-dictionary.ts"
import type { CollectionReader, SegmentView } from "../index/reader.ts"
import { BATCH_DOCS, batchOrder } from "./batch-order.ts"
import { sortSpending, spend } from "../budget/cutoff.ts"
import { SpareNumbers } from "../spare.ts"
import { firstNotBefore } from "../sorted.ts"

/** `born`: the batch that introduced a value; `changed`: the last batch that added to it. */
export type Age = "born" | "changed"

/** Documents and values between two chances to yield. */
const STEP = 16_384

/** The first and the last live document, by insertion number, for every value of a segment. */
class SegmentAges {
  private readonly positions: Record<Age, Int32Array>
  /** Entries changed by deletions, kept separately because others share the arrays. */ private readonly moved: Record<
    Age,
    Map<number, number>
  > | null
  private readonly view: SegmentView
  private readonly column: ValueColumn
  /** Position in the insertion order up to which it has been scanned. */ private next = 0
  /** For the memory accounting of the index. */ readonly bytes: number
  constructor(view: SegmentView, field: string, column: ValueColumn) {
    this.view = view
    this.column = column
    const shared = attachedFacet(view.segment, field)
    if (shared !== undefined) {
      this.positions = shared
      this.moved = { born: new Map(), changed: new Map() }
      this.next = view.segment.docs
      this.bytes = 0
      return
    }
    const born = new Int32Array(column.table.size).fill(-1),
      changed = new Int32Array(column.table.size).fill(-1)
    this.positions = { born, changed }
    this.moved = null
    this.bytes = born.byteLength + changed.byteLength
  }
  get isShared(): boolean {
    return this.moved !== null
  }
  /** The arrays in a form that another thread can read; valid once everything has been scanned. */
  get arrays(): Readonly<Record<Age, Int32Array>> {
    return this.positions
  }
  /** Scans documents. O(documents of the segment and their values) in total; true when all have been scanned. */
  look(most = Infinity): boolean {
    const {
      column,
      positions: { born, changed },
      view: { deleted, segment }
    } = this
    const order = segment.insertionOrder
    let position = this.next
    for (let left = most; position < order.length && left > 0; position++, left--) {
      const doc = order[position]
      if (deleted !== undefined && hasBit(deleted, doc)) continue
      const [start, end] = rangeOf(column, doc)
      left -= end - start
      for (let i = start; i < end; i++) {
        const ordinal = ordinalAt(column, i)
        if (born[ordinal] < 0) born[ordinal] = position
        changed[ordinal] = position
      }
    }
    this.next = position
    return position === order.length
  }
  /** Batch of that document, or -1 if no live one is left. After a deletion, the next live document is searched. */
  batchOf(ordinal: number, age: Age): number {
    const { segment, deleted } = this.view
    const order = segment.insertionOrder,
      positions = this.positions[age],
      step = age === "born" ? 1 : -1
    const moved = this.moved?.[age]
    let position = moved?.get(ordinal) ?? positions[ordinal]
    if (position < 0) return -1
    if (deleted !== undefined) {
      const from = position
      while (
        position >= 0 &&
        position < order.length &&
        (hasBit(deleted, order[position]) || !this.holds(order[position], ordinal))
      )
        position += step
      if (position === order.length) position = -1
      // Deletions are never undone, so documents that were skipped stay skipped.
      if (moved === undefined) positions[ordinal] = position
      else if (position !== from) moved.set(ordinal, position)
      if (position < 0) return -1
    }
    return Math.floor(segment.seqs[order[position]] / BATCH_DOCS)
  }
  private holds(doc: number, ordinal: number): boolean {
    const [start, end] = rangeOf(this.column, doc)
    for (let i = start; i < end; i++) if (ordinalAt(this.column, i) === ordinal) return true
    return false
  }
}
/** Range of a document's slots; a plain field has one or none. */
const rangeOf = ({ single, starts }: ValueColumn, doc: number): readonly [number, number] =>
  single !== undefined ? [doc, single[doc] === 0 ? doc : doc + 1] : [starts![doc], starts![doc + 1]]
const ordinalAt = ({ single, ordinals }: ValueColumn, slot: number): number =>
  single !== undefined ? single[slot] - 1 : ordinals![slot]

const nameOf = (field: string): string => `ages:${field}`
const begunAges = (view: SegmentView, field: string, column: ValueColumn): SegmentAges => {
  const known = view.segment.derived.get(nameOf(field)) as SegmentAges | undefined
  // A shared copy replaces what this thread has computed itself.
  if (known !== undefined && (known.isShared || attachedFacet(view.segment, field) === undefined)) return known
  const ages = new SegmentAges(view, field, column)
  view.segment.derived.set(nameOf(field), ages)
  return ages
}
const agesOf = (view: SegmentView, field: string, column: ValueColumn): SegmentAges => {
  const ages = begunAges(view, field, column)
  // The scanned part is kept if the search is interrupted.
  while (!ages.look(STEP)) spend(STEP * 4)
  return ages
}
/** Runs, in steps, the scan that the first tie at a cut needs. A search that arrives meanwhile continues it. */
export function* preparingAges(view: SegmentView, field: string): Generator<void, void> {
  const column = view.segment.values(field)
  if (column === undefined || attachedFacet(view.segment, field) !== undefined) return
  yield* view.segment.ordering()
  const ages = begunAges(view, field, column)
  while (!ages.look(STEP)) yield
}

/** Computes the arrays for all threads, in steps. Documents that are already deleted are left out. */
export function* makingAges(
  view: SegmentView,
  field: string,
  column: ValueColumn
): Generator<void, Readonly<Record<Age, Int32Array>>> {
  yield* view.segment.ordering()
  const ages = new SegmentAges(view, field, column)
  while (!ages.look(STEP)) yield
  return ages.arrays
}

/**
 * Which `wanted` of the tied values (numbers of the field's dictionary, more than wanted) are kept, as indexes into
 * `tied`: those that appeared last, or those that have been unchanged for longest. Cost: a lookup per distinct and per
 * tied value, and the positions of the batch in which the cut falls.
 */
export const pickByAge = (
  reader: CollectionReader,
  field: string,
  tied: ArrayLike<number>,
  wanted: number,
  age: Age
): number[] => {
  const { atEdge, edge, picked, room } = pickByBatch(batchesOf(reader, field, tied, age), wanted, age)
  if (room === 0) return [...picked]
  const places = placesIn(reader, field, edge)
  return [...picked, ...byPlace(atEdge, (i) => places.get(tied[i])!, age).slice(0, room)]
}
/** Latest birth first, or oldest change first. */
const stepOf = (age: Age): number => (age === "born" ? -1 : 1)
/** Values of one batch, in the order in which they are kept. */
export const byPlace = (items: number[], placeOf: (item: number) => number, age: Age): number[] => {
  const step = stepOf(age)
  return sortSpending(items, (a, b) => step * (placeOf(a) - placeOf(b)))
}
interface PickedByBatch {
  /** Indexes into the tied values that are kept because of their batch alone. */ readonly picked: ReadonlyArray<number>
  /** Values of the batch `edge`, of which `room` are kept. */ readonly atEdge: number[]
  readonly edge: number
  readonly room: number
}
/** `batches`: those of the tied values, of which there are more than wanted. O(n + batches). */
export const pickByBatch = (batches: ArrayLike<number>, wanted: number, age: Age): PickedByBatch => {
  let last = 0
  for (let i = 0; i < batches.length; i++) if (batches[i] > last) last = batches[i]
  const sizes = new Uint32Array(last + 1)
  for (let i = 0; i < batches.length; i++) sizes[batches[i]]++
  const step = stepOf(age)
  let edge = age === "born" ? last : 0,
    room = wanted
  while (sizes[edge] <= room) {
    room -= sizes[edge]
    edge += step
  }
  const picked: number[] = [],
    atEdge: number[] = []
  for (let i = 0; i < batches.length; i++) {
    if (batches[i] === edge) atEdge.push(i)
    else if ((batches[i] - edge) * step < 0) picked.push(i)
  }
  return { picked, atEdge, edge, room }
}
const spareIndexes = new SpareNumbers()
const batchesOf = (reader: CollectionReader, field: string, tied: ArrayLike<number>, age: Age): Int32Array => {
  const dictionary = reader.dictionary(field)
  const batches = new Int32Array(tied.length).fill(-1),
    indexOf = spareIndexes.zeros(dictionary.size)
  for (let i = 0; i < tied.length; i++) indexOf[tied[i]] = i + 1
  for (const view of reader.views) {
    const map = dictionary.ordinalsOf(view.segment),
      column = view.segment.values(field)
    if (map === undefined || column === undefined) continue
    const ages = agesOf(view, field, column)
    for (let ordinal = 0; ordinal < map.length; ordinal++) {
      spend(4)
      const i = indexOf[map[ordinal]] - 1
      if (i < 0) continue
      const batch = ages.batchOf(ordinal, age)
      if (batch >= 0 && (batches[i] < 0 || (age === "born" ? batch < batches[i] : batch > batches[i])))
        batches[i] = batch
    }
  }
  return batches
}

interface Places {
  readonly version: number
  readonly byBatch: Map<number, ReadonlyMap<number, number>>
}
const known = new WeakMap<FieldDictionary, Places>()
/** Batches whose positions are cached per field; each has at most the values of a thousand documents. */
const PLACES_MAX = 16
/** Position at which each value first occurs among documents of one batch; `seqs` ascending. */
export const placesAmong = <V>(seqs: ReadonlyArray<number>, valuesOf: (at: number) => Iterable<V>): Map<V, number> => {
  const places = new Map<V, number>()
  for (const at of batchOrder(seqs))
    for (const value of valuesOf(at)) if (!places.has(value)) places.set(value, places.size)
  return places
}
/** Position at which each value of a batch first occurs, in the order of the reference engine's table. */
const placesIn = (reader: CollectionReader, field: string, batch: number): ReadonlyMap<number, number> => {
  const dictionary = reader.dictionary(field)
  let kept = known.get(dictionary)
  if (kept === undefined || kept.version !== reader.version)
    known.set(dictionary, (kept = { version: reader.version, byBatch: new Map() }))
  const found = kept.byBatch.get(batch)
  if (found !== undefined) return found
  const docs: Array<{ seq: number; doc: number; column: ValueColumn; map: Uint32Array }> = []
  for (const { segment, deleted } of reader.views) {
    const map = dictionary.ordinalsOf(segment),
      column = segment.values(field)
    if (map === undefined || column === undefined) continue
    const order = segment.insertionOrder,
      { seqs } = segment
    for (
      let position = firstFrom(order, seqs, batch * BATCH_DOCS);
      position < order.length && seqs[order[position]] < (batch + 1) * BATCH_DOCS;
      position++
    ) {
      const doc = order[position]
      const [start, end] = rangeOf(column, doc)
      if (start < end && (deleted === undefined || !hasBit(deleted, doc)))
        docs.push({ seq: seqs[doc], doc, column, map })
    }
  }
  docs.sort((a, b) => a.seq - b.seq)
  const places = placesAmong(
    docs.map(({ seq }) => seq),
    function* (at) {
      const { doc, column, map } = docs[at]
      const [start, end] = rangeOf(column, doc)
      for (let i = start; i < end; i++) yield map[ordinalAt(column, i)]
    }
  )
  if (kept.byBatch.size >= PLACES_MAX) kept.byBatch.clear()
  kept.byBatch.set(batch, places)
  return places
}
const firstFrom = (order: Uint32Array, seqs: Uint32Array, least: number): number =>
  firstNotBefore(0, order.length, (at) => seqs[order[at]] < least)
