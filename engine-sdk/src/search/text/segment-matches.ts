/**
 * What a search found in one segment: the set of documents, and a score per document in two halves. The space for them
 * is as long as the segment, so it is reused from one search to the next, also from one that failed or gave way.
 */
import { bitsOf, type Bits, type ReadonlyBits } from "../../index/bits.ts"
import type { SegmentView } from "../../index/reader.ts"
import { DocLists } from "./doc-lists.ts"

/** Result of the text search in one segment. */
export interface SegmentMatches {
  readonly view: SegmentView
  /** Documents that may match; undefined = all. */ readonly allowed: ReadonlyBits | undefined
  readonly found: Bits
  /**
   * Which score cells are valid: all of `found`, unless only the best were requested; then those of every document that
   * may be among the best.
   */
  scored: Bits
  /** The documents of `scored`, in no order; set if only the best were requested. */ scoredDocs?: number[] | undefined
  readonly high: Float64Array
  readonly low: Float64Array
  readonly space: SegmentSpace
  count: number
  /** The found documents as numbers, each once, if available in that form. */ docs?: Uint32Array[] | undefined
}
/**
 * What a search needs per document of a segment, at least as long as the segment. Nothing is cleared in between: score
 * cells are read only of scored documents, and sets are cleared when they are taken.
 */
interface SegmentSpace {
  readonly high: Float64Array
  readonly low: Float64Array
  readonly found: Bits
  readonly scored: Bits
  readonly lists: DocLists
}
const newSpace = (docs: number): SegmentSpace => ({
  high: new Float64Array(docs),
  low: new Float64Array(docs),
  found: bitsOf(docs),
  scored: bitsOf(docs),
  lists: new DocLists()
})
const cleared = (set: Bits, docs: number): Bits => set.subarray(0, (docs + 31) >>> 5).fill(0)

/** Matches of a segment, initially none. Return them with `releaseMatches`. */
export const newMatches = (view: SegmentView, allowed: ReadonlyBits | undefined): SegmentMatches => {
  const { docs } = view.segment
  const space = spareFor(docs) ?? newSpace(docs)
  const found = cleared(space.found, docs)
  return { view, allowed, found, scored: found, high: space.high, low: space.low, space, count: 0 }
}
const none = newSpace(0)
/** For orders that need no matches; nothing is added to them. */
export const noMatches = (view: SegmentView): SegmentMatches => ({
  view,
  allowed: undefined,
  found: none.found,
  scored: none.found,
  high: none.high,
  low: none.low,
  space: none,
  count: 0
})

/** By ascending length. */
const spares: SegmentSpace[] = []
const SPARES_MAX = 16
/**
 * Most documents of all spares together: eight million, 130 MB, or as many as one search has used. Otherwise a larger
 * collection would need fresh memory for each search.
 */
let docsMax = 8 * 1024 * 1024
/** The smallest spare that is large enough. */
const spareFor = (docs: number): SegmentSpace | undefined => {
  const at = spares.findIndex(({ high }) => high.length >= docs)
  return at < 0 ? undefined : spares.splice(at, 1)[0]
}
const lengthOf = (spaces: ReadonlyArray<SegmentSpace>): number => spaces.reduce((sum, { high }) => sum + high.length, 0)
/** Call this when the matches are no longer read. The smallest spares go first, as they are cheap to make anew. */
export const releaseMatches = (matches: ReadonlyArray<SegmentMatches>): void => {
  const used = matches.map(({ space }) => space)
  for (const space of used) {
    space.lists.clear()
    const at = spares.findIndex(({ high }) => high.length >= space.high.length)
    spares.splice(at < 0 ? spares.length : at, 0, space)
  }
  docsMax = Math.max(docsMax, lengthOf(used))
  while (spares.length > Math.max(SPARES_MAX, used.length) || lengthOf(spares) > docsMax) spares.shift()
}

/** Restricts scoring to documents that may be among the best: `scored` becomes a separate set. */
export const scoreOnlyBest = (matches: ReadonlyArray<SegmentMatches>): void => {
  for (const match of matches) {
    match.scored = cleared(match.space.scored, match.view.segment.docs)
    match.scoredDocs = []
  }
}

/** Adds a document with its score; of several scores of a document the highest is kept. */
export const record = (match: SegmentMatches, doc: number, high: number, low: number): void => {
  const word = doc >>> 5,
    bit = 1 << (doc & 31)
  // Both sets may be the same object.
  const isScored = (match.scored[word] & bit) !== 0
  if ((match.found[word] & bit) === 0) {
    match.found[word] |= bit
    match.count++
    match.docs = undefined
  }
  if (isScored && (high < match.high[doc] || (high === match.high[doc] && low <= match.low[doc]))) return
  if (!isScored) match.scoredDocs?.push(doc)
  match.scored[word] |= bit
  match.high[doc] = high
  match.low[doc] = low
}

/** Documents found in all segments. */
export const countMatches = (matches: ReadonlyArray<SegmentMatches>): number => {
  let total = 0
  for (const match of matches) total += match.count
  return total
}
