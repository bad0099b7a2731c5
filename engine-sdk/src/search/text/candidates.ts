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
 * Documents that contain each of the first `words` words in some field, ascending; undefined if there are none. Cost:
 * an eighth of a byte a document for each word, or a lookup per candidate if the rarest word has few documents. The
 * list is in `space`, or in the index.
 */
export const matchingDocs = (
  lists: ReadonlyArray<PostingList>,
  words: number,
  allowed: ReadonlyBits | undefined,
  docsOfSegment: number,
  space: DocLists
): Uint32Array | undefined => {
  const sizes = new Array<number>(words).fill(0)
  for (const { column, term, word } of lists) if (word < words) sizes[word] += column.frequency(term)
  let lead = 0
  for (let word = 1; word < words; word++) if (sizes[word] < sizes[lead]) lead = word
  const alone = onlyListOf(lists, lead)
  let docs: Uint32Array
  if (sizes[lead] * SPARSE_FACTOR < docsOfSegment) {
    docs = sortedUnion(lists, lead, space)
    if (allowed !== undefined) docs = docsIn(docs, allowed, space)
    for (let word = 0; word < words; word++) if (word !== lead) docs = docsWith(docs, lists, word, space)
  } else {
    const [bits, other] = spareSets(docsOfSegment)
    // Nothing matches outside this range; it may be short, because similar documents are stored together.
    const [from, end] = spanOf(lists, lead)
    let within: ReadonlyBits | undefined
    const narrow = (by: ReadonlyBits): void => {
      within = within === undefined ? by : andOf(bits, within, by, from, end)
    }
    for (let word = 0; word < words; word++)
      if (word !== lead) narrow(setOfWord(within === undefined ? bits : other, lists, word, from, end))
    if (allowed !== undefined) narrow(allowed)
    if (alone !== undefined) {
      // The rarest word has one list, in order: its documents are looked up in the sets, which need not be decoded.
      const {
        column: { docs: postings, starts },
        term
      } = alone
      docs = postings.subarray(starts[term], starts[term + 1])
      if (within !== undefined) docs = docsIn(docs, within, space)
    } else {
      narrow(setOfWord(within === undefined ? bits : other, lists, lead, from, end))
      const taken = space.take(Math.min(docsOfSegment, sizes[lead]))
      docs = space.keep(taken, listOf(within!, from, end, taken))
    }
  }
  return docs.length === 0 ? undefined : docs
}
const onlyListOf = (lists: ReadonlyArray<PostingList>, word: number): PostingList | undefined => {
  let only: PostingList | undefined
  for (const list of lists) {
    if (list.word !== word) continue
    if (only !== undefined) return undefined
    only = list
  }
  return only
}
/** The range of set words, from first to last (exclusive), that contains the documents of a word. */
export const spanOf = (lists: ReadonlyArray<PostingList>, word: number): readonly [number, number] => {
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
const docsInEither = (docs: Uint32Array, a: ReadonlyBits, b: ReadonlyBits, space: DocLists): Uint32Array => {
  const kept = space.take(docs.length)
  let n = 0
  for (let i = 0; i < docs.length; i++) {
    const doc = docs[i]
    kept[n] = doc
    n += ((a[doc >>> 5] | b[doc >>> 5]) >>> (doc & 31)) & 1
  }
  return space.keep(kept, n)
}
/** Reused by every search: searches do not overlap. */
let spare: [Bits, Bits] = [bitsOf(0), bitsOf(0)]
/** Two sets for a segment of this size, with arbitrary content, valid until the next call. */
export const spareSets = (docsOfSegment: number): [Bits, Bits] => {
  if (spare[0].length * 32 < docsOfSegment) spare = [bitsOf(docsOfSegment), bitsOf(docsOfSegment)]
  const size = (docsOfSegment + 31) >>> 5
  return [spare[0].subarray(0, size), spare[1].subarray(0, size)]
}
/**
 * The set of a word's documents: that of its only list, else `room`, filled with the documents of all its lists.
 * Read-only, and valid only between the set words `from` and `end`.
 */
export const setOfWord = (
  room: Bits,
  lists: ReadonlyArray<PostingList>,
  word: number,
  from: number,
  end: number
): ReadonlyBits => {
  const sets: Bits[] = [],
    rest: PostingList[] = []
  for (const list of lists) {
    if (list.word !== word) continue
    const set = list.column.setOf(list.term)
    if (set === undefined) rest.push(list)
    else sets.push(set.bits)
  }
  if (sets.length === 1 && rest.length === 0) return sets[0]
  orOf(room, sets, from, end)
  for (const { column, term } of rest) addList(room, column, term)
  return room
}
export const addList = (bits: Bits, { docs, starts }: TextColumn, term: number): void => {
  for (let p = starts[term], end = starts[term + 1]; p < end; p++) {
    const doc = docs[p]
    bits[doc >>> 5] |= 1 << (doc & 31)
  }
}
export const andOf = (into: Bits, a: ReadonlyBits, b: ReadonlyBits, from: number, end: number): Bits => {
  for (let w = from; w < end; w++) into[w] = a[w] & b[w]
  return into
}
/** Joins four sets at a time, because a pass per set would read and write the target each time. */
const orOf = (into: Bits, sets: ReadonlyArray<Bits>, from: number, end: number): void => {
  const none = sets.length < 4 ? noBits(into.length) : into
  const a = sets[0] ?? none,
    b = sets[1] ?? none
  if (sets.length < 3) for (let w = from; w < end; w++) into[w] = a[w] | b[w]
  else orFour(into, a, b, sets[2], sets[3] ?? none, from, end)
  for (let at = 4; at < sets.length; at += 3)
    orFour(into, into, sets[at], sets[at + 1] ?? into, sets[at + 2] ?? into, from, end)
}
const orFour = (into: Bits, a: Bits, b: Bits, c: Bits, d: Bits, from: number, end: number): void => {
  for (let w = from; w < end; w++) into[w] = a[w] | b[w] | c[w] | d[w]
}
/** Never written to. */
let emptySet = bitsOf(0)
const noBits = (words: number): Bits => (emptySet.length < words ? (emptySet = new Uint32Array(words)) : emptySet)
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
const docsWith = (docs: Uint32Array, lists: ReadonlyArray<PostingList>, word: number, space: DocLists): Uint32Array => {
  const own = lists.filter((list) => list.word === word)
  const sets = own.map(({ column, term }) => column.setOf(term, docs.length < SET_DOCS_MIN)?.bits)
  const [a, b] = sets
  if (a !== undefined && own.length === 1) return docsIn(docs, a, space)
  if (a !== undefined && b !== undefined && own.length === 2) return docsInEither(docs, a, b, space)
  const kept = space.take(docs.length)
  const at = own.map(({ column, term }) => column.starts[term]),
    ends = own.map(({ column, term }) => column.starts[term + 1])
  let n = 0
  for (let i = 0; i < docs.length; i++) {
    const doc = docs[i]
    let isHere = false
    for (let l = 0; l < own.length && !isHere; l++) {
      const bits = sets[l]
      if (bits !== undefined) {
        isHere = (bits[doc >>> 5] & (1 << (doc & 31))) !== 0
        continue
      }
      const from = own[l].column.docs
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
