/**
 * Documents per value over all segments, by number: the ordinals of a segment are counted in one tight loop and mapped
 * once to the numbers of the field's dictionary, so nothing is decoded or hashed per search. The arrays are reused by
 * the next facet.
 */
import { andNotInto, bitsOf, countBits, fillBits, type Bits } from "../../index/bits.ts"
import type { ValueColumn } from "../../index/columns.ts"
import type { FieldDictionary } from "../../index/field-dictionary.ts"
import type { CollectionReader } from "../../index/reader.ts"
import type { Ordinals } from "../../index/sections.ts"
import { isOver, spend } from "../../budget/cutoff.ts"
import { SpareNumbers } from "../../spare.ts"
import { listOf, spareSet } from "../text/candidates.ts"
import type { FacetedSet } from "./facet-rows.ts"
import { LargestFirst } from "./largest-first.ts"
import { REPEATS_LOOKED_FOR_MAX, segmentTotals } from "./segment-totals.ts"

/** Used by one facet at a time. The first array holds a segment's own counts until the next segment is counted. */
const spareCounts = new SpareNumbers(),
  spareSeen = new SpareNumbers(),
  spareOwn = new SpareNumbers()
const spareZeros = (size: number): Uint32Array => spareCounts.zeros(size)
/** Matches as document numbers, for all sets of one search in sequence; the facets of the search share them. */
const spareDocs = new SpareNumbers()
let listRoom: Uint32Array | undefined
/** Starts the facets of another search and releases the lists of the previous one. */
export const beginCounting = (): void => {
  listRoom = undefined
}
const listed = (sets: ReadonlyArray<FacetedSet>, bits: Bits): Uint32Array => {
  // The complement of a set is listed only if it is smaller than the set, so this space suffices.
  listRoom ??= spareDocs.take(
    sets.reduce((sum, { bits, count, docs }) => (docs === undefined ? sum + (count ?? countBits(bits)) : sum), 0)
  )
  const n = listOf(bits, 0, bits.length, listRoom)
  const docs = listRoom.subarray(0, n)
  listRoom = listRoom.subarray(n)
  return docs
}
/** Smaller segments are counted just as fast directly. */
const OTHERS_DOCS_MIN = 4_096
/** The live documents outside the set, if they are fewer than those inside. */
const othersOf = (sets: ReadonlyArray<FacetedSet>, set: FacetedSet): Uint32Array | undefined => {
  if (set.others !== undefined) return set.others
  const { bits, count, view } = set
  const { docs } = view.segment
  if (set.docs !== undefined || docs < OTHERS_DOCS_MIN || count === undefined || count * 2 <= docs - view.deletedCount)
    return undefined
  const others = spareSet(docs)
  fillBits(others, docs)
  andNotInto(others, bits)
  if (view.deleted !== undefined) andNotInto(others, view.deleted)
  return (set.others = listed(sets, others))
}
export interface DictionaryCounts {
  readonly dictionary: FieldDictionary
  readonly counts: Uint32Array
  /** The set and document in which each value was first seen. */ readonly seen: Uint32Array | undefined
}
/**
 * Documents per value over all segments, by number: each segment's ordinals map into one growing dictionary of the
 * reader, so nothing is decoded or hashed per search. Ordinals are counted in one tight loop per segment and mapped
 * once. With `numbersOnly`, where a value was first seen is not recorded.
 */
export const countByDictionary = (
  reader: CollectionReader,
  field: string,
  sets: ReadonlyArray<FacetedSet>,
  numbersOnly = false,
  zeros = spareZeros
): DictionaryCounts => {
  const dictionary = reader.dictionary(field)
  const maps = sets.map(({ view }) => dictionary.ordinalsOf(view.segment))
  // `seen` is read for counted values only.
  const counts = zeros(dictionary.size),
    seen = numbersOnly ? undefined : spareSeen.take(dictionary.size * 2)
  for (let s = 0; s < sets.length; s++) {
    const map = maps[s]
    const column = sets[s].view.segment.values(field)
    if (map === undefined || column === undefined) continue
    const { bits, isAll, view } = sets[s]
    if (numbersOnly && isAll === true) {
      const totals = segmentTotals(view, field, column)
      spend(totals.length)
      addTotals(counts, map, totals)
    } else if (seen !== undefined) countSeen(column, bits, view.segment.seqs, map, counts, seen, s)
    else {
      // Cell 0 counts the documents without a value.
      const own = spareOwn.zeros(column.table.size + 1)
      const others = othersOf(sets, sets[s])
      const isComplete = countDocs(
        column,
        others === undefined ? (sets[s].docs ??= [listed(sets, bits)]) : [others],
        own
      )
      if (others === undefined) addOwn(counts, map, own)
      else if (isComplete) addRest(counts, map, segmentTotals(view, field, column), own)
    }
  }
  return { dictionary, counts, seen }
}
// A function per loop: within the one above, V8 compiled a loop and discarded it every twenty searches over HTTP.
const addTotals = (counts: Uint32Array, map: Uint32Array, totals: ArrayLike<number>): void => {
  for (let ordinal = 0; ordinal < totals.length; ordinal++) counts[map[ordinal]] += totals[ordinal]
}
const addOwn = (counts: Uint32Array, map: Uint32Array, own: Uint32Array): void => {
  for (let ordinal = 0; ordinal < map.length; ordinal++) counts[map[ordinal]] += own[ordinal + 1]
}
/** `others`: the documents that are not to be counted, like `own`. */
const addRest = (counts: Uint32Array, map: Uint32Array, totals: ArrayLike<number>, others: Uint32Array): void => {
  for (let ordinal = 0; ordinal < map.length; ordinal++) counts[map[ordinal]] += totals[ordinal] - others[ordinal + 1]
}
/** Returns false if time ran out before all documents were counted. */
const countDocs = (column: ValueColumn, lists: ReadonlyArray<Uint32Array>, into: Uint32Array): boolean => {
  for (const docs of lists) {
    if (spend(docs.length)) return false
    if (column.single !== undefined) countSingles(column.single, docs, into)
    else countLists(column, docs, into)
  }
  return !isOver()
}
/** One loop per array type, because a shared loop would check the type at every document. */
const countSingles = (single: Ordinals, docs: Uint32Array, into: Uint32Array): void => {
  if (single instanceof Uint8Array) countBytes(single, docs, into)
  else if (single instanceof Uint16Array) countShorts(single, docs, into)
  else countLongs(single, docs, into)
}
const countBytes = (single: Uint8Array, docs: Uint32Array, into: Uint32Array): void => {
  for (let i = 0; i < docs.length; i++) into[single[docs[i]]]++
}
const countShorts = (single: Uint16Array, docs: Uint32Array, into: Uint32Array): void => {
  for (let i = 0; i < docs.length; i++) into[single[docs[i]]]++
}
const countLongs = (single: Uint32Array, docs: Uint32Array, into: Uint32Array): void => {
  for (let i = 0; i < docs.length; i++) into[single[docs[i]]]++
}
const countLists = (column: ValueColumn, docs: Uint32Array, into: Uint32Array): void => {
  const starts = column.starts!,
    ordinals = column.ordinals!,
    { hasRepeats } = column
  for (let d = 0; d < docs.length; d++) {
    const start = starts[docs[d]],
      count = starts[docs[d] + 1] - start
    if (spend(count)) return
    if (hasRepeats && count > REPEATS_LOOKED_FOR_MAX) {
      for (const ordinal of new Set(ordinals.subarray(start, start + count))) into[ordinal + 1]++
      continue
    }
    for (let i = start, end = starts[docs[d] + 1]; i < end; i++) {
      // A value repeated within a document counts once.
      let isRepeated = false
      if (hasRepeats) for (let j = start; j < i && !isRepeated; j++) isRepeated = ordinals[j] === ordinals[i]
      if (!isRepeated) into[ordinals[i] + 1]++
    }
  }
}
/** Records where a value was first seen: of several documents, the one inserted first, wherever it is stored. */
const countSeen = (
  column: ValueColumn,
  bits: Bits,
  seqs: Uint32Array,
  map: Uint32Array,
  counts: Uint32Array,
  seen: Uint32Array,
  s: number
): void => {
  const { single, starts, ordinals, hasRepeats } = column
  const meet = (value: number, doc: number): void => {
    if (counts[value]++ > 0 && (seen[value * 2] !== s || seqs[seen[value * 2 + 1]] < seqs[doc])) return
    seen[value * 2] = s
    seen[value * 2 + 1] = doc
  }
  for (let w = 0; w < bits.length; w++) {
    for (let word = bits[w] | 0; word !== 0; word &= word - 1) {
      const doc = (w << 5) + 31 - Math.clz32(word & -word)
      if (spend(4)) return
      if (single !== undefined) {
        const ordinal = single[doc]
        if (ordinal !== 0) meet(map[ordinal - 1], doc)
        continue
      }
      const start = starts![doc],
        count = starts![doc + 1] - start
      spend(count)
      if (hasRepeats && count > REPEATS_LOOKED_FOR_MAX) {
        for (const ordinal of new Set(ordinals!.subarray(start, start + count))) meet(map[ordinal], doc)
        continue
      }
      for (let i = start, end = starts![doc + 1]; i < end; i++) {
        const ordinal = ordinals![i]
        let isRepeated = false
        if (hasRepeats) for (let j = start; j < i && !isRepeated; j++) isRepeated = ordinals![j] === ordinal
        if (!isRepeated) meet(map[ordinal], doc)
      }
    }
  }
}
const liveSets = (reader: CollectionReader): FacetedSet[] =>
  reader.views.map((view) => {
    const bits = fillBits(bitsOf(view.segment.docs), view.segment.docs)
    return { view, bits: view.deleted === undefined ? bits : andNotInto(bits, view.deleted), isAll: true }
  })
interface Largest {
  readonly version: number
  readonly values: LargestFirst
}
const orders = new WeakMap<FieldDictionary, Largest>()
/** The dictionary's values by their counts in the entire collection; cached until the next publication. */
export const largestFirst = (reader: CollectionReader, field: string): LargestFirst => {
  const known = orders.get(reader.dictionary(field))
  if (known !== undefined && known.version === reader.version) return known.values
  // The result is cached, and may be requested while the counts of a facet are in use, so it gets its own array.
  const { counts } = countByDictionary(reader, field, liveSets(reader), true, (size) => new Uint32Array(size))
  const values = new LargestFirst(counts)
  // An incomplete order must not be cached.
  if (!isOver() && values.isWhole) orders.set(reader.dictionary(field), { version: reader.version, values })
  return values
}
