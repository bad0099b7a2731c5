/** Scores the documents that match in one segment: only their postings are weighed. */
import { countBits, type ReadonlyBits } from "../../index/bits.ts"
import { spend } from "../../budget/cutoff.ts"
import { SpareNumbers } from "../../spare.ts"
import { firstFrom, listOf } from "../text/candidates.ts"
import type { BestDocuments } from "./best-documents.ts"
import type { Lexicon } from "./lexicon.ts"
import type { QueryTerm } from "./query-terms.ts"
import type { UnitIndex } from "./unit-index.ts"
import { saturated, type LengthNorms } from "./weighting.ts"

/**
 * Numbers of documents that are scored together: the cells of a term take 256 kB, so those of a few terms stay in
 * the processor's cache while one posting list after another is added to them.
 */
const RANGE_DOCS = 65_536
/** Weighted counts of each term by document of the range; all zero between searches, unless a search was aborted. */
const cells: Float32Array[] = []
let areDirty = false
const cellsOf = (terms: number, docs: number): ReadonlyArray<Float32Array> => {
  if (areDirty) for (const own of cells) own.fill(0)
  for (let t = 0; t < terms; t++) if (t >= cells.length || cells[t].length < docs) cells[t] = new Float32Array(docs)
  return cells
}

interface ScoredTerms {
  readonly lexicon: Lexicon
  readonly norms: LengthNorms
  readonly terms: ReadonlyArray<QueryTerm>
  /** The factor of each term. */ readonly factors: ReadonlyArray<number>
  /** Factor of a document's score, by which terms the document has; undefined: none. */
  readonly coordination: ReadonlyArray<number> | undefined
}

/** The postings of a root in a unit, from one range to the next. */
interface Reading {
  readonly t: number
  readonly u: number
  readonly unit: UnitIndex
  readonly end: number
  /** Whether the matches are looked up in it. */ readonly isLong: boolean
  /** The first posting that is not read yet. */ at: number
}
const readingsOf = ({ lexicon, terms }: ScoredTerms, s: number, count: number): ReadonlyArray<Reading> => {
  const { segments, units } = lexicon
  return terms.flatMap(({ places }, t) =>
    units.flatMap((_unit, u) =>
      places.flatMap((own) => {
        const term = own[s * units.length + u],
          unit = segments[s][u]
        if (term < 0) return []
        const isLong = unit.frequency(term) > count * LONG_LIST_FACTOR
        return [{ t, u, unit, at: unit.starts[term], end: unit.starts[term + 1], isLong }]
      })
    )
  )
}

/**
 * Offers the matches in order, which decides between equal scores, and returns how many there are; `most`: not fewer
 * than that.
 */
export const scoreMatches = (
  scored: ScoredTerms,
  s: number,
  matched: ReadonlyBits,
  most: number,
  best: BestDocuments
): number => {
  const { lexicon, norms, terms } = scored,
    size = lexicon.segments[s][0].docs,
    tfs = cellsOf(terms.length, Math.min(RANGE_DOCS, size)),
    all = spareDocs.take(most > COUNTED_FROM ? countBits(matched) : most),
    count = Math.min(all.length, listOf(matched, 0, matched.length, all))
  if (count === 0) return 0
  const readings = readingsOf(scored, s, count)
  areDirty = true
  for (let at = 0; at < count;) {
    // A range begins with a match, so that ranges without any are skipped.
    const first = all[at],
      last = first + RANGE_DOCS,
      docs = all.subarray(at, (at = firstFrom(all, at, count, last)))
    for (const reading of readings) {
      const own = tfs[reading.t]
      if (reading.isLong) addLookedUp(reading, docs, first, own, norms)
      else addCounts(reading, matched, first, last, own, norms)
    }
    scoreDocs(scored, docs, first, tfs, best)
  }
  areDirty = false
  return count
}
const spareDocs = new SpareNumbers()
/** If more may match, they are counted first: a filter may leave few of a common word's documents. */
const COUNTED_FROM = 262_144
/** A list that is this many times longer than the matches is searched for them. */
const LONG_LIST_FACTOR = 8
/** Cost, in steps, of searching a document in a list. */
const LOOK_UP_STEPS = 8
const addLookedUp = (
  reading: Reading,
  docs: Uint32Array,
  first: number,
  tfs: Float32Array,
  norms: LengthNorms
): void => {
  const { end, u, unit } = reading,
    { lengths, occurrences, postingDocs } = unit
  spend(docs.length * LOOK_UP_STEPS)
  let p = reading.at
  for (let i = 0; i < docs.length && p < end; i++) {
    const doc = docs[i]
    p = firstFrom(postingDocs, p, end, doc)
    if (p < end && postingDocs[p] === doc) tfs[doc - first] += norms.ofPosting(u, occurrences[p], lengths, doc)
  }
  reading.at = p
}
const addCounts = (
  reading: Reading,
  matched: ReadonlyBits,
  first: number,
  last: number,
  tfs: Float32Array,
  norms: LengthNorms
): void => {
  const { u, unit } = reading,
    { lengths, occurrences, postingDocs } = unit,
    start = firstFrom(postingDocs, reading.at, reading.end, first),
    end = firstFrom(postingDocs, start, reading.end, last)
  spend(end - start)
  for (let from = start; from < end; from += BLOCK) {
    const kept = matchedOf(postingDocs, from, Math.min(end, from + BLOCK), matched)
    for (let i = 0; i < kept; i++) {
      const p = matchedPostings[i],
        doc = postingDocs[p]
      tfs[doc - first] += norms.ofPosting(u, occurrences[p], lengths, doc)
    }
  }
  reading.at = end
}
/** Postings that are looked at together. */
const BLOCK = 1_024
/** Those of a block whose documents match. */
const matchedPostings = new Uint32Array(BLOCK)
/** Fills `matchedPostings`; returns how many there are. Branch-free, because which documents match is unpredictable. */
const matchedOf = (postingDocs: Uint32Array, from: number, end: number, matched: ReadonlyBits): number => {
  let n = 0
  for (let p = from; p < end; p++) {
    const doc = postingDocs[p]
    matchedPostings[n] = p
    n += (matched[doc >>> 5] >>> (doc & 31)) & 1
  }
  return n
}
/** Matches that are scored together. */
const BLOCK_DOCS = 8_192
/** Their scores, and which terms each has, as bits. */
const scores = new Float64Array(BLOCK_DOCS),
  had = new Uint32Array(BLOCK_DOCS)
const scoreDocs = (
  { coordination, factors }: ScoredTerms,
  docs: Uint32Array,
  first: number,
  tfs: ReadonlyArray<Float32Array>,
  best: BestDocuments
): void => {
  for (let from = 0; from < docs.length; from += BLOCK_DOCS) {
    const block = docs.subarray(from, from + BLOCK_DOCS)
    spend(block.length * factors.length)
    // Term by term, so that each loop reads one array.
    setFirst(block, first, tfs[0], factors[0])
    for (let t = 1; t < factors.length; t++) addTerm(block, first, tfs[t], factors[t], 1 << t)
    if (coordination !== undefined) for (let i = 0; i < block.length; i++) scores[i] *= coordination[had[i]]
    best.offerAll(block, scores, had)
  }
}
/** Sets the scores to the first term's part, and empties its cells. */
const setFirst = (docs: Uint32Array, first: number, tfs: Float32Array, factor: number): void => {
  for (let i = 0; i < docs.length; i++) {
    const cell = docs[i] - first,
      tf = tfs[cell]
    tfs[cell] = 0
    scores[i] = factor * saturated(tf)
    had[i] = tf === 0 ? 0 : 1
  }
}
/** Adds another term's part of the scores, and empties its cells. */
const addTerm = (docs: Uint32Array, first: number, tfs: Float32Array, factor: number, bit: number): void => {
  for (let i = 0; i < docs.length; i++) {
    const cell = docs[i] - first,
      tf = tfs[cell]
    if (tf === 0) continue
    tfs[cell] = 0
    scores[i] += factor * saturated(tf)
    had[i] |= bit
  }
}
