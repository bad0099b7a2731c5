/** Scores the documents that match in one segment: only their postings are weighed. */
import type { ReadonlyBits } from "../../index/bits.ts"
import { spend } from "../../budget/cutoff.ts"
import { SpareNumbers } from "../../spare.ts"
import { firstFrom, listOf } from "../text/candidates.ts"
import type { BestDocuments } from "./best-documents.ts"
import type { Lexicon } from "./lexicon.ts"
import type { QueryTerm } from "./query-terms.ts"
import type { UnitIndex } from "./unit-index.ts"
import { saturated, type LengthNorms } from "./weighting.ts"

/** Weighted counts of each term by document; all zero between searches, unless a search was aborted. */
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

/** `count`: number of matches. Offers them in order, which decides between equal scores. */
export const scoreMatches = (
  scored: ScoredTerms,
  s: number,
  matched: ReadonlyBits,
  count: number,
  best: BestDocuments
): void => {
  const { lexicon, norms, terms } = scored
  const { segments, units } = lexicon
  const tfs = cellsOf(terms.length, segments[s][0].docs),
    docs = spareDocs.take(count)
  listOf(matched, 0, matched.length, docs)
  areDirty = true
  for (let t = 0; t < terms.length; t++)
    for (let u = 0; u < units.length; u++)
      for (const places of terms[t].places) {
        const at = places[s * units.length + u],
          unit = segments[s][u]
        if (at < 0) continue
        const isLong = unit.frequency(at) > count * LONG_LIST_FACTOR
        if (isLong) addLookedUp(unit, at, u, docs, tfs[t], norms)
        else addCounts(unit, at, u, matched, tfs[t], norms)
      }
  scoreDocs(scored, docs, tfs, best)
  areDirty = false
}
const spareDocs = new SpareNumbers()
/** A list that is this many times longer than the matches is searched for them. */
const LONG_LIST_FACTOR = 8
/** Cost, in steps, of searching a document in a list. */
const LOOK_UP_STEPS = 8
const addLookedUp = (
  { lengths, occurrences, postingDocs, starts }: UnitIndex,
  at: number,
  u: number,
  docs: Uint32Array,
  tfs: Float32Array,
  norms: LengthNorms
): void => {
  const end = starts[at + 1]
  spend(docs.length * LOOK_UP_STEPS)
  for (let i = 0, p = starts[at]; i < docs.length && p < end; i++) {
    const doc = docs[i]
    p = firstFrom(postingDocs, p, end, doc)
    if (p < end && postingDocs[p] === doc) tfs[doc] += norms.ofPosting(u, occurrences[p], lengths, doc)
  }
}
const addCounts = (
  { lengths, occurrences, postingDocs, starts }: UnitIndex,
  at: number,
  u: number,
  matched: ReadonlyBits,
  tfs: Float32Array,
  norms: LengthNorms
): void => {
  const end = starts[at + 1]
  spend(end - starts[at])
  for (let from = starts[at]; from < end; from += BLOCK) {
    const kept = matchedOf(postingDocs, from, Math.min(end, from + BLOCK), matched)
    for (let i = 0; i < kept; i++) {
      const p = matchedPostings[i],
        doc = postingDocs[p]
      tfs[doc] += norms.ofPosting(u, occurrences[p], lengths, doc)
    }
  }
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
  tfs: ReadonlyArray<Float32Array>,
  best: BestDocuments
): void => {
  for (let from = 0; from < docs.length; from += BLOCK_DOCS) {
    const block = docs.subarray(from, from + BLOCK_DOCS)
    spend(block.length * factors.length)
    // Term by term, so that each loop reads one array.
    setFirst(block, tfs[0], factors[0])
    for (let t = 1; t < factors.length; t++) addTerm(block, tfs[t], factors[t], 1 << t)
    if (coordination !== undefined) for (let i = 0; i < block.length; i++) scores[i] *= coordination[had[i]]
    best.offerAll(block, scores, had)
  }
}
/** Sets the scores to the first term's part, and empties its cells. */
const setFirst = (docs: Uint32Array, tfs: Float32Array, factor: number): void => {
  for (let i = 0; i < docs.length; i++) {
    const tf = tfs[docs[i]]
    tfs[docs[i]] = 0
    scores[i] = factor * saturated(tf)
    had[i] = tf === 0 ? 0 : 1
  }
}
/** Adds another term's part of the scores, and empties its cells. */
const addTerm = (docs: Uint32Array, tfs: Float32Array, factor: number, bit: number): void => {
  for (let i = 0; i < docs.length; i++) {
    const tf = tfs[docs[i]]
    if (tf === 0) continue
    tfs[docs[i]] = 0
    scores[i] += factor * saturated(tf)
    had[i] |= bit
  }
}
