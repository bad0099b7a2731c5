/**
 * Scores the documents that match in one segment: only their postings are weighed, and each document is scored once,
 * when it is first encountered.
 */
import type { Bits } from "../../index/bits.ts"
import { spend } from "../../budget/cutoff.ts"
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

/** Empties `matched`. The order (by terms, their units, documents) decides between equal scores. */
export const scoreMatches = (
  scored: ScoredTerms,
  s: number,
  matched: Bits,
  count: number,
  best: BestDocuments
): void => {
  const { lexicon, norms, terms } = scored
  const { segments, units } = lexicon
  const tfs = cellsOf(terms.length, segments[s][0].docs)
  areDirty = true
  const lists = terms.map(({ places }) =>
    units.flatMap((_unit, u) =>
      places.flatMap((own) => {
        const at = own[s * units.length + u]
        return at < 0 ? [] : [{ u, unit: segments[s][u], at }]
      })
    )
  )
  lists.forEach((own, t) => {
    for (const { at, u, unit } of own) addCounts(unit, at, u, matched, tfs[t], norms)
  })
  let left = count
  for (const own of lists)
    for (const { at, unit } of own) if (left > 0) left -= scoreList(scored, unit, at, matched, tfs, best)
  areDirty = false
}
const addCounts = (
  { counts, lengths, postingDocs, starts }: UnitIndex,
  at: number,
  u: number,
  matched: Bits,
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
      tfs[doc] += counts[p] * norms.of(u, lengths[doc])
    }
  }
}
/** Postings that are looked at together. */
const BLOCK = 1_024
/** Those of a block whose documents match. */
const matchedPostings = new Uint32Array(BLOCK)
/** Fills `matchedPostings`; returns how many there are. Branch-free, because which documents match is unpredictable. */
const matchedOf = (postingDocs: Uint32Array, from: number, end: number, matched: Bits): number => {
  let n = 0
  for (let p = from; p < end; p++) {
    const doc = postingDocs[p]
    matchedPostings[n] = p
    n += (matched[doc >>> 5] >>> (doc & 31)) & 1
  }
  return n
}
/** Returns how many documents were encountered for the first time. */
const scoreList = (
  { coordination, factors }: ScoredTerms,
  { postingDocs, starts }: UnitIndex,
  at: number,
  matched: Bits,
  tfs: ReadonlyArray<Float32Array>,
  best: BestDocuments
): number => {
  const end = starts[at + 1]
  spend(end - starts[at])
  let scored = 0
  for (let from = starts[at]; from < end; from += BLOCK) {
    const kept = matchedOf(postingDocs, from, Math.min(end, from + BLOCK), matched)
    scored += kept
    for (let i = 0; i < kept; i++) {
      const doc = postingDocs[matchedPostings[i]]
      matched[doc >>> 5] ^= 1 << (doc & 31)
      let score = 0,
        has = 0
      for (let t = 0; t < factors.length; t++) {
        const tf = tfs[t][doc]
        if (tf === 0) continue
        tfs[t][doc] = 0
        score += factors[t] * saturated(tf)
        has |= 1 << t
      }
      best.offer(doc, coordination === undefined ? score : score * coordination[has], has)
    }
  }
  return scored
}
