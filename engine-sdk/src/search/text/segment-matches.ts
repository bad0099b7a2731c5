/**
 * What a search found in one segment: the set of documents, and a score per document in two halves. The score cells and
 * sets are as long as the segment, so they are reused from one search to the next.
 */
import { bitsOf, type Bits, type ReadonlyBits } from "../../index/bits.ts"
import type { SegmentView } from "../../index/reader.ts"

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
  high: Float64Array
  low: Float64Array
  count: number
  /** The found documents as numbers, each once, if available in that form. */ docs?: Uint32Array[] | undefined
}

/** Matches of a segment, initially none. Return them with `releaseMatches`. */
export const newMatches = (view: SegmentView, allowed: ReadonlyBits | undefined): SegmentMatches => {
  const n = view.segment.docs
  const cells = scratch.pop()
  const fits = cells !== undefined && cells.high.length >= n
  const found = emptyBits(n)
  return {
    view,
    allowed,
    found,
    scored: found,
    count: 0,
    high: fits ? cells.high : new Float64Array(n),
    low: fits ? cells.low : new Float64Array(n)
  }
}
/**
 * Score cells are reused without clearing: only cells of scored documents are ever read. Sets of documents are reused,
 * too.
 */
const scratch: Array<{ high: Float64Array; low: Float64Array }> = []
const spareBits = new Map<number, Bits[]>()
const SCRATCH_MAX = 16
const emptyBits = (docs: number): Bits => {
  const bits = spareBits.get((docs + 31) >>> 5)?.pop()
  return bits === undefined ? bitsOf(docs) : bits.fill(0)
}
const keepBits = (bits: Bits): void => {
  const list = spareBits.get(bits.length)
  if (list !== undefined) {
    if (list.length < SCRATCH_MAX) list.push(bits)
  }
  // Arrays sized for removed segments must not accumulate.
  else {
    if (spareBits.size >= SCRATCH_MAX) spareBits.delete(spareBits.keys().next().value!)
    spareBits.set(bits.length, [bits])
  }
}
/** Call this when the matches are no longer read. */
export const releaseMatches = (matches: ReadonlyArray<SegmentMatches>): void => {
  for (const { high, low, found, scored } of matches) {
    if (scratch.length < SCRATCH_MAX) scratch.push({ high, low })
    keepBits(found)
    if (scored !== found) keepBits(scored)
  }
  scratch.sort((a, b) => a.high.length - b.high.length)
}

/** Restricts scoring to documents that may be among the best: `scored` becomes a separate set. */
export const scoreOnlyBest = (matches: ReadonlyArray<SegmentMatches>): void => {
  for (const match of matches) {
    match.scored = emptyBits(match.view.segment.docs)
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
