/**
 * Which documents contain every word of a combination. Lists are read in order; those of common words are sets
 * (`index/list-sets.ts`) that are joined 32 documents at a time. This avoids random access to memory.
 */
import { bitsOf, type Bits, type ReadonlyBits } from "../../index/bits.ts"
import type { TextColumn } from "../../index/columns.ts"
import { gallop } from "../../sorted.ts"
import type { DocLists } from "./doc-lists.ts"

/** One word in one field of one segment. */
export interface PostingList {
  readonly word: number
  readonly field: number
  readonly column: TextColumn
  readonly term: number
}
/** Up to this share of a segment, candidates are kept as numbers instead of bits. */
export const SPARSE_FACTOR = 64
/** From this many candidates on, building a set of them pays off. */
export const SET_DOCS_MIN = 1_024

/**
 * Documents that contain each of the first `words` words in some field, ascending; undefined if there are none. The
 * list is in `space`, or in the index. Cost: that of `jointSet`, or a lookup per candidate and word if the rarest word
 * has one list or few documents.
 */
export const matchingDocs = (
  lists: ReadonlyArray<PostingList>,
  words: number,
  allowed: ReadonlyBits | undefined,
  docsOfSegment: number,
  space: DocLists
): Uint32Array | undefined => {
  const { lead, size } = rarestWord(lists, words)
  const alone = onlyListOf(lists, lead)
  let docs: Uint32Array
  if (alone !== undefined || size * SPARSE_FACTOR < docsOfSegment) {
    docs = alone === undefined ? sortedUnion(lists, lead, space) : postingsOf(alone)
    if (allowed !== undefined) docs = docsIn(docs, allowed, space)
    for (let word = 0; word < words; word++) if (word !== lead) docs = docsWith(docs, lists, word, docsOfSegment, space)
  } else {
    docs = listOfSet(jointSet(lists, words, lead, allowed, docsOfSegment), Math.min(docsOfSegment, size), space)
  }
  return docs.length === 0 ? undefined : docs
}
/** The word with the fewest postings, and their number. */
export const rarestWord = (
  lists: ReadonlyArray<PostingList>,
  words: number
): { readonly lead: number; readonly size: number } => {
  const sizes = new Array<number>(words).fill(0)
  for (const { column, term, word } of lists) if (word < words) sizes[word] += column.frequency(term)
  let lead = 0
  for (let word = 1; word < words; word++) if (sizes[word] < sizes[lead]) lead = word
  return { lead, size: sizes[lead] }
}
/**
 * Documents by block of 32: the numbers of the blocks that have any, ascending, and which ones they have, as bits.
 * Valid until sets are joined again.
 */
export interface DocumentSet {
  readonly blocks: Uint32Array
  readonly masks: Int32Array
  /** Number of blocks. */ size: number
}
/** Reused by every search: searches do not overlap. */
let joint: DocumentSet = { blocks: new Uint32Array(0), masks: new Int32Array(0), size: 0 }
/**
 * Documents that contain each word. Cost: an eighth of a byte a document for the lists of `lead`, then only the blocks
 * that remain; they are few, because similar documents are stored together.
 */
export const jointSet = (
  lists: ReadonlyArray<PostingList>,
  words: number,
  lead: number,
  allowed: ReadonlyBits | undefined,
  docsOfSegment: number
): DocumentSet => {
  const room = spareSet(docsOfSegment),
    [from, end] = spanOf(lists, lead)
  if (joint.blocks.length < room.length)
    joint = { blocks: new Uint32Array(room.length), masks: new Int32Array(room.length), size: 0 }
  takeUnion(joint, setsOfWord(room, lists, lead, from, end), from, end)
  if (allowed !== undefined) keepIn(joint, [allowed])
  for (let word = 0; word < words; word++)
    if (word !== lead && joint.size > 0) keepIn(joint, setsOfWord(room, lists, word, from, end))
  return joint
}
/** The blocks between `from` and `end`. Four sets at once; with fewer, one of them is read again. */
const takeUnion = (to: DocumentSet, sets: ReadonlyArray<ReadonlyBits>, from: number, end: number): void => {
  const { blocks, masks } = to
  const a = sets[0],
    b = sets[1] ?? a,
    c = sets[2] ?? b,
    d = sets[3] ?? c
  let n = 0
  for (let w = from; w < end; w++) {
    let any = a[w] | b[w] | c[w] | d[w]
    for (let at = 4; at < sets.length; at++) any |= sets[at][w]
    blocks[n] = w
    masks[n] = any
    n += (any | -any) >>> 31
  }
  to.size = n
}
/** Keeps documents that are in one of the sets. */
const keepIn = (to: DocumentSet, sets: ReadonlyArray<ReadonlyBits>): void => {
  const { blocks, masks, size } = to
  const a = sets[0],
    b = sets[1] ?? a,
    c = sets[2] ?? b,
    d = sets[3] ?? c
  let n = 0
  for (let i = 0; i < size; i++) {
    const w = blocks[i]
    let any = a[w] | b[w] | c[w] | d[w]
    for (let at = 4; at < sets.length; at++) any |= sets[at][w]
    any &= masks[i]
    blocks[n] = w
    masks[n] = any
    n += (any | -any) >>> 31
  }
  to.size = n
}
/** `most`: at least the number of documents. */
export const listOfSet = ({ blocks, masks, size }: DocumentSet, most: number, space: DocLists): Uint32Array => {
  const docs = space.take(most)
  let n = 0
  for (let i = 0; i < size; i++) {
    const first = blocks[i] << 5
    for (let mask = masks[i]; mask !== 0; mask &= mask - 1) docs[n++] = first + 31 - Math.clz32(mask & -mask)
  }
  return space.keep(docs, n)
}
const postingsOf = ({ column: { docs, starts }, term }: PostingList): Uint32Array =>
  docs.subarray(starts[term], starts[term + 1])
const onlyListOf = (lists: ReadonlyArray<PostingList>, word: number): PostingList | undefined => {
  let only: PostingList | undefined
  for (const list of lists) {
    if (list.word !== word) continue
    if (only !== undefined) return undefined
    only = list
  }
  return only
}
/** The range of blocks, from first to last (exclusive), that contains the documents of a word. */
const spanOf = (lists: ReadonlyArray<PostingList>, word: number): readonly [number, number] => {
  let first = Infinity,
    last = 0
  for (const {
    column: { docs, starts },
    term,
    word: own
  } of lists)
    if (own === word) {
      first = Math.min(first, docs[starts[term]])
      last = Math.max(last, docs[starts[term + 1] - 1])
    }
  return [first >>> 5, (last >>> 5) + 1]
}
/** Those of `docs` that are in the set. Branch-free, because membership is unpredictable. */
const docsIn = (docs: Uint32Array, bits: ReadonlyBits, space: DocLists): Uint32Array => {
  const kept = space.take(docs.length)
  let n = 0
  for (let i = 0; i < docs.length; i++) {
    const doc = docs[i]
    kept[n] = doc
    n += (bits[doc >>> 5] >>> (doc & 31)) & 1
  }
  return space.keep(kept, n)
}
/** Those of `docs` that are in one of the sets. Neighbours share a block of 32 documents, which is joined once. */
const docsInAny = (docs: Uint32Array, sets: ReadonlyArray<ReadonlyBits>, space: DocLists): Uint32Array => {
  if (sets.length === 1) return docsIn(docs, sets[0], space)
  const kept = space.take(docs.length)
  const [a, b] = sets,
    c = sets[2] ?? a,
    d = sets[3] ?? a
  let n = 0
  for (let i = 0, block = -1, any = 0; i < docs.length; i++) {
    const doc = docs[i],
      w = doc >>> 5
    if (w !== block) {
      block = w
      any = a[w] | b[w] | c[w] | d[w]
      for (let at = 4; at < sets.length; at++) any |= sets[at][w]
    }
    kept[n] = doc
    n += (any >>> (doc & 31)) & 1
  }
  return space.keep(kept, n)
}
/** Reused by every search: searches do not overlap. */
let spare = bitsOf(0)
/** A set for a segment of this size, with arbitrary content, valid until the next call. */
export const spareSet = (docsOfSegment: number): Bits => {
  if (spare.length * 32 < docsOfSegment) spare = bitsOf(docsOfSegment)
  return spare.subarray(0, (docsOfSegment + 31) >>> 5)
}
/** Sets that together hold a word's documents. Lists without a set of their own are added to `room`. */
const setsOfWord = (
  room: Bits,
  lists: ReadonlyArray<PostingList>,
  word: number,
  from: number,
  end: number
): ReadonlyArray<ReadonlyBits> => {
  const sets: Bits[] = []
  let hasRoom = false
  for (const list of lists) {
    if (list.word !== word) continue
    const set = list.column.setOf(list.term)
    if (set !== undefined) {
      sets.push(set.bits)
      continue
    }
    if (!hasRoom) sets.push(room.fill(0, from, end))
    hasRoom = true
    addList(room, list)
  }
  return sets
}
export const addList = (bits: Bits, { column: { docs, starts }, term }: PostingList): void => {
  for (let p = starts[term], end = starts[term + 1]; p < end; p++) {
    const doc = docs[p]
    bits[doc >>> 5] |= 1 << (doc & 31)
  }
}
/** Writes the numbers of the bits set between the words `from` and `end`, ascending, to `docs`; returns their count. */
export const listOf = (bits: ReadonlyBits, from: number, end: number, docs: Uint32Array): number => {
  let n = 0
  for (let w = from; w < end; w++) {
    for (let word = bits[w] | 0; word !== 0; word &= word - 1) docs[n++] = (w << 5) + 31 - Math.clz32(word & -word)
  }
  return n
}
const sortedUnion = (lists: ReadonlyArray<PostingList>, word: number, space: DocLists): Uint32Array => {
  let all: Uint32Array | undefined
  for (const list of lists) {
    if (list.word !== word) continue
    const { docs, starts } = list.column
    const own = docs.subarray(starts[list.term], starts[list.term + 1])
    all = all === undefined ? own : mergeSorted(all, own, space)
  }
  return all ?? new Uint32Array(0)
}
const mergeSorted = (a: Uint32Array, b: Uint32Array, space: DocLists): Uint32Array => {
  const merged = space.take(a.length + b.length)
  let n = 0,
    i = 0,
    j = 0
  while (i < a.length && j < b.length) {
    const x = a[i],
      y = b[j]
    merged[n++] = x < y ? x : y
    if (x <= y) i++
    if (y <= x) j++
  }
  while (i < a.length) merged[n++] = a[i++]
  while (j < b.length) merged[n++] = b[j++]
  return space.keep(merged, n)
}
/** Those of `docs` that are in one of the word's lists. */
const docsWith = (
  docs: Uint32Array,
  lists: ReadonlyArray<PostingList>,
  word: number,
  docsOfSegment: number,
  space: DocLists
): Uint32Array => {
  if (docs.length * SPARSE_FACTOR >= docsOfSegment) {
    const room = spareSet(docsOfSegment)
    return docsInAny(docs, setsOfWord(room, lists, word, docs[0] >>> 5, (docs[docs.length - 1] >>> 5) + 1), space)
  }
  const sets: ReadonlyBits[] = [],
    searched: PostingList[] = []
  for (const list of lists) {
    if (list.word !== word) continue
    const set = list.column.setOf(list.term, docs.length < SET_DOCS_MIN)
    if (set === undefined) searched.push(list)
    else sets.push(set.bits)
  }
  return searched.length === 0 ? docsInAny(docs, sets, space) : docsSearched(docs, sets, searched, space)
}
const docsSearched = (
  docs: Uint32Array,
  sets: ReadonlyArray<ReadonlyBits>,
  lists: ReadonlyArray<PostingList>,
  space: DocLists
): Uint32Array => {
  const kept = space.take(docs.length)
  const at = lists.map(({ column, term }) => column.starts[term]),
    ends = lists.map(({ column, term }) => column.starts[term + 1])
  let n = 0
  for (let i = 0; i < docs.length; i++) {
    const doc = docs[i]
    let isHere = false
    for (let s = 0; s < sets.length && !isHere; s++) isHere = (sets[s][doc >>> 5] & (1 << (doc & 31))) !== 0
    for (let l = 0; l < lists.length && !isHere; l++) {
      const { docs: from } = lists[l].column
      at[l] = firstFrom(from, at[l], ends[l], doc)
      isHere = at[l] < ends[l] && from[at[l]] === doc
    }
    if (isHere) kept[n++] = doc
  }
  return space.keep(kept, n)
}
/** Index of the first posting at or after `doc`, searched by galloping from `at`. */
export const firstFrom = (docs: Uint32Array, at: number, end: number, doc: number): number =>
  gallop(at, end, (index) => docs[index] < doc)
/** Sets the documents' bits; returns those that were not set before. */
export const addDocs = (docs: Uint32Array, found: Bits, space: DocLists): Uint32Array => {
  const fresh = space.take(docs.length)
  let n = 0
  for (let i = 0; i < docs.length; i++) {
    const doc = docs[i],
      w = doc >>> 5,
      before = found[w]
    fresh[n] = doc
    n += ((before >>> (doc & 31)) & 1) ^ 1
    found[w] = before | (1 << (doc & 31))
  }
  return space.keep(fresh, n)
}
/** Like `addDocs`, but no bit is set yet. */
export const addFirstDocs = (docs: Uint32Array, found: Bits): void => {
  for (let i = 0; i < docs.length; i++) {
    const doc = docs[i]
    found[doc >>> 5] |= 1 << (doc & 31)
  }
}
