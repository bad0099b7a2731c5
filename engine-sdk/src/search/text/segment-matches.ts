/**
 * What a search found in one segment: the set of documents, and a score per document in two halves. The score cells and
 * sets are as long as the segment, so they are reused from one search to the next, also from one that failed or gave
 * way to others.
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
  /** Space for lists of its documents. */ readonly lists: DocLists
  count: number
  /** The found documents as numbers, each once, if available in that form. */ docs?: Uint32Array[] | undefined
}

/** Matches of a segment, initially none. Return them with `releaseMatches`. */
export const newMatches = (view: SegmentView, allowed: ReadonlyBits | undefined): SegmentMatches => {
  const n = view.segment.docs
  const found = emptyBits(n)
  return { view, allowed, found, scored: found, count: 0, ...cellsFor(n) }
}
/** For orders that need no matches; nothing is added to them. */
export const noMatches = (view: SegmentView): SegmentMatches => {
  const none = bitsOf(0),
    cells = new Float64Array(0)
  return {
    view,
    allowed: undefined,
    found: none,
    scored: none,
    high: cells,
    low: cells,
    lists: new DocLists(),
    count: 0
  }
}
interface Cells {
  readonly high: Float64Array
  readonly low: Float64Array
  readonly lists: DocLists
}
/**
 * Score cells are reused without clearing: only cells of scored documents are ever read. Sets of documents are reused,
 * too.
 */
const spareCells: Cells[] = []
const spareBits = new Map<number, Bits[]>()
const SPARE_MAX = 16
/** Score cells of all spares together: eight million documents, 128 MB, or as many as the last search used. */
const SPARE_CELLS_MAX = 8 * 1024 * 1024
/** The smallest spare that is large enough. */
const cellsFor = (docs: number): Cells => {
  const at = spareCells.findIndex(({ high }) => high.length >= docs)
  return at < 0
    ? { high: new Float64Array(docs), low: new Float64Array(docs), lists: new DocLists() }
    : spareCells.splice(at, 1)[0]
}
const lengthOf = (cells: ReadonlyArray<Cells>): number => cells.reduce((sum, { high }) => sum + high.length, 0)
/** Keeps spares by ascending length; the smallest go first. */
const keepCells = (used: ReadonlyArray<Cells>): void => {
  for (const { high, lists, low } of used) {
    lists.clear()
    const at = spareCells.findIndex((spare) => spare.high.length >= high.length)
    spareCells.splice(at < 0 ? spareCells.length : at, 0, { high, low, lists })
  }
  const cellsMax = Math.max(SPARE_CELLS_MAX, lengthOf(used))
  while (spareCells.length > Math.max(SPARE_MAX, used.length) || lengthOf(spareCells) > cellsMax) spareCells.shift()
}
const emptyBits = (docs: number): Bits => {
  const bits = spareBits.get((docs + 31) >>> 5)?.pop()
  return bits === undefined ? bitsOf(docs) : bits.fill(0)
}
const keepBits = (bits: Bits): void => {
  const list = spareBits.get(bits.length)
  if (list !== undefined) {
    if (list.length < SPARE_MAX) list.push(bits)
  }
  // Arrays sized for removed segments must not accumulate.
  else {
    if (spareBits.size >= SPARE_MAX) spareBits.delete(spareBits.keys().next().value!)
    spareBits.set(bits.length, [bits])
  }
}
/** Call this when the matches are no longer read. */
export const releaseMatches = (matches: ReadonlyArray<SegmentMatches>): void => {
  keepCells(matches)
  for (const { found, scored } of matches) {
    keepBits(found)
    if (scored !== found) keepBits(scored)
  }
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
