/**
 * Neighbouring words of the query that are neighbours in a document too: once for following each other, once for
 * standing near each other in any order (sequential dependence, Metzler and Croft 2005). Only the best documents gain;
 * how rare a pair is gets counted over all documents that have both words, or over an even sample of them.
 */
import { isOver } from "../../budget/cutoff.ts"
import { adjacent, countPairs, near, type Lexicon } from "./lexicon.ts"
import type { QueryTerm } from "./query-terms.ts"
import { idfOf, saturated } from "./weighting.ts"

/** A document and its score while the best are reordered. */
export interface Candidate {
  readonly s: number
  readonly doc: number
  score: number
  /** Bits of the query's terms that the document has. */ readonly terms: number
}
/** Documents with a term in one segment, and their weighted counts. */
export interface TermDocs {
  readonly docs: Uint32Array
  readonly tfs: Float32Array
}

const PAIR_SHARE = 0.1
/** Pairs of one query at most: longer texts are prose, where further pairs add little. */
const PAIRS_MAX = 24
/** Documents whose words are read to learn how rare a pair is. */
const SAMPLE_DOCS = 512

/** Marks of documents of one segment: 1 = has the first word. Cleared after use. */
let marks = new Uint8Array(0)

export const addPairs = (
  lexicon: Lexicon,
  terms: ReadonlyArray<QueryTerm>,
  order: ReadonlyArray<number>,
  found: ReadonlyArray<{ readonly segments: ReadonlyArray<TermDocs> }>,
  best: ReadonlyArray<Candidate>
): void => {
  const seen = new Set<number>()
  for (let i = 1; i < order.length && seen.size < PAIRS_MAX; i++) {
    const a = order[i - 1],
      b = order[i]
    if (a === b || seen.has(a * 4096 + b)) continue
    seen.add(a * 4096 + b)
    const both = best.filter(({ terms: bits }) => a > 31 || b > 31 || ((bits >>> a) & (bits >>> b) & 1) === 1)
    if (both.length === 0) continue
    const counted = both.map((candidate) => ({
      candidate,
      ...weightedPairs(lexicon, terms[a], terms[b], candidate.s, candidate.doc)
    }))
    if (!counted.some(({ nearby }) => nearby > 0)) continue
    const { adjacentDocs, nearDocs } = pairFrequency(lexicon, terms[a], terms[b], found[a].segments, found[b].segments)
    const follows = PAIR_SHARE * idfOf(Math.max(1, adjacentDocs), lexicon.docs),
      stands = PAIR_SHARE * idfOf(Math.max(1, nearDocs), lexicon.docs)
    for (const { candidate, following, nearby } of counted)
      candidate.score += follows * saturated(following) + stands * saturated(nearby)
  }
}

interface Weighted {
  readonly following: number
  readonly nearby: number
}
const NONE: Weighted = { following: 0, nearby: 0 }
/** Counts by the weight of the names they stand in. */
const weightedPairs = (lexicon: Lexicon, a: QueryTerm, b: QueryTerm, s: number, doc: number): Weighted => {
  if (isOver()) return NONE
  const width = lexicon.units.length
  let following = 0,
    nearby = 0
  for (let u = 0; u < width; u++) {
    const unit = lexicon.segments[s][u]
    for (const x of a.places)
      for (const y of b.places) {
        const first = x[s * width + u],
          second = y[s * width + u]
        if (first < 0 || second < 0) continue
        countPairs(unit, doc, first, second)
        following += lexicon.units[u].weight * adjacent
        nearby += lexicon.units[u].weight * near
      }
  }
  return following === 0 && nearby === 0 ? NONE : { following, nearby }
}

/** Documents that have the pair, estimated from a sample when many have both words. */
const pairFrequency = (
  lexicon: Lexicon,
  a: QueryTerm,
  b: QueryTerm,
  docsOfA: ReadonlyArray<TermDocs>,
  docsOfB: ReadonlyArray<TermDocs>
): { adjacentDocs: number; nearDocs: number } => {
  const joint: Array<{ s: number; doc: number }> = []
  for (let s = 0; s < docsOfA.length; s++) {
    const x = docsOfA[s].docs,
      y = docsOfB[s].docs
    if (x.length === 0 || y.length === 0) continue
    const size = lexicon.segments[s][0].docs
    if (marks.length < size) marks = new Uint8Array(size * 2)
    for (let i = 0; i < x.length; i++) marks[x[i]] = 1
    for (let i = 0; i < y.length; i++) if (marks[y[i]] === 1) joint.push({ s, doc: y[i] })
    for (let i = 0; i < x.length; i++) marks[x[i]] = 0
  }
  const step = Math.max(1, Math.ceil(joint.length / SAMPLE_DOCS))
  let adjacentDocs = 0,
    nearDocs = 0
  for (let i = 0; i < joint.length; i += step) {
    const { following, nearby } = weightedPairs(lexicon, a, b, joint[i].s, joint[i].doc)
    if (following > 0) adjacentDocs++
    if (nearby > 0) nearDocs++
  }
  return { adjacentDocs: adjacentDocs * step, nearDocs: nearDocs * step }
}
