/**
 * Scores for queries whose combinations of terms cannot be computed as sets: queries with words that documents may
 * write as one (`head set`, `headset`), whose score depends on what a document has of both, and queries of many words.
 * Every document with any term is scored first; then the matches are chosen. O(postings).
 */
import { hasBit } from "../../index/bits.ts"
import { spend } from "../../budget/cutoff.ts"
import type { SegmentMatches } from "../text/segment-matches.ts"
import type { BestDocuments } from "./best-documents.ts"
import type { Lexicon } from "./lexicon.ts"
import { BINS, binOf, leastOf, wholeOf } from "./matched-sets.ts"
import type { QueryTerm, QueryTerms } from "./query-terms.ts"
import { saturated, type LengthNorms } from "./weighting.ts"

/** Documents with a term in one segment, and their weighted counts. */
interface TermDocs {
  readonly docs: Uint32Array
  readonly tfs: Float32Array
}
interface Scored {
  readonly scores: Float64Array
  /** Sum of the rarities of the terms that each document has. */ readonly shares: Float64Array
  readonly bits: Uint32Array
  readonly touched: Uint32Array
  count: number
}

export class EveryDocument {
  private readonly lexicon: Lexicon
  private readonly norms: LengthNorms
  private readonly matches: ReadonlyArray<SegmentMatches>
  constructor(lexicon: Lexicon, norms: LengthNorms, matches: ReadonlyArray<SegmentMatches>) {
    this.lexicon = lexicon
    this.norms = norms
    this.matches = matches
  }

  /**
   * `needs.share`: having any one of the terms is not enough; `needs.whole`: only having all is. `needs.coordinates`:
   * documents that miss terms also score lower.
   */
  score(
    { compounds, terms }: QueryTerms,
    idfs: ReadonlyArray<number>,
    total: number,
    needs: { readonly share: boolean; readonly whole: boolean; readonly coordinates: boolean },
    best: BestDocuments
  ): void {
    const scored = this.matches.map(({ view }, s) => {
      const cells = borrow(view.segment.docs)
      spend(view.segment.docs >>> 3)
      const found = terms.map((term) => this.docsIn(term, s))
      terms.forEach((term, t) => add(cells, found[t], idfs[t] * term.count, term.factor, t))
      for (const { a, b, joined } of compounds)
        addCompound(
          cells,
          [found[a], found[b]],
          this.docsIn(joined, s),
          [idfs[a], idfs[b]],
          joined.factor,
          (1 << a) | (1 << b)
        )
      return cells
    })
    const least = !needs.share ? 0 : needs.whole ? wholeOf(total) : this.leastShare(scored, total)
    scored.forEach((cells, s) => {
      const { allowed } = this.matches[s]
      const { bits, scores, shares, touched } = cells
      best.beginSegment()
      for (let i = 0; i < cells.count; i++) {
        const doc = touched[i]
        const matches = (allowed === undefined || hasBit(allowed, doc)) && shares[doc] >= least
        if (matches) {
          const coordination = needs.coordinates ? Math.sqrt(Math.min(1, shares[doc] / total)) : 1
          best.offer(doc, scores[doc] * coordination, bits[doc])
        }
        shares[doc] = 0
      }
      giveBack(cells)
    })
  }

  private docsIn(term: QueryTerm, s: number): TermDocs {
    const { lexicon, norms } = this
    const width = lexicon.units.length,
      own = lexicon.segments[s]
    const size = this.matches[s].view.segment.docs
    if (tfCells.length < size) {
      tfCells = new Float32Array(size * 2)
      touchedCells = new Uint32Array(size * 2)
    }
    const tfs = tfCells,
      touched = touchedCells
    let n = 0
    for (let u = 0; u < width; u++) {
      const { lengths, occurrences, postingDocs, starts } = own[u]
      for (const places of term.places) {
        const at = places[s * width + u]
        if (at < 0) continue
        for (let p = starts[at], end = starts[at + 1]; p < end; p++) {
          const doc = postingDocs[p]
          if (tfs[doc] === 0) touched[n++] = doc
          tfs[doc] += norms.ofPosting(u, occurrences[p], lengths, doc)
        }
      }
    }
    // The time budget is only checked here, where the reused arrays are clean, because any check may abort the search.
    const docs = touched.slice(0, n),
      kept = new Float32Array(n)
    for (let i = 0; i < n; i++) {
      kept[i] = tfs[docs[i]]
      tfs[docs[i]] = 0
    }
    spend(n * 4)
    return { docs, tfs: kept }
  }

  /**
   * The share of the query that a document must have to match: all of it, or less if too few documents have all.
   * Deleted documents do not count.
   */
  private leastShare(scored: ReadonlyArray<Scored>, total: number): number {
    const bins = new Uint32Array(BINS)
    scored.forEach(({ count, shares, touched }, s) => {
      const { deleted } = this.matches[s].view
      for (let i = 0; i < count; i++)
        if (deleted === undefined || !hasBit(deleted, touched[i])) bins[binOf(shares[touched[i]], total)]++
    })
    return leastOf((bin) => bins[bin], total)
  }
}

let tfCells = new Float32Array(0)
let touchedCells = new Uint32Array(0)

const add = (cells: Scored, { docs, tfs }: TermDocs, weight: number, factor: number, t: number): void => {
  const { bits, scores, shares, touched } = cells
  const bit = t < 32 ? 1 << t : 0
  for (let i = 0; i < docs.length; i++) {
    const doc = docs[i]
    if (shares[doc] === 0) {
      touched[cells.count++] = doc
      scores[doc] = 0
      bits[doc] = 0
    }
    scores[doc] += factor * weight * saturated(tfs[i])
    shares[doc] += weight
    bits[doc] |= bit
  }
}

/**
 * Documents that write two words of the query as one count as if they had both, unless the two separate words give them
 * a higher score.
 */
const addCompound = (
  cells: Scored,
  parts: readonly [TermDocs, TermDocs],
  joined: TermDocs,
  idfs: readonly [number, number],
  factor: number,
  bit: number
): void => {
  const { docs, tfs } = joined
  if (docs.length === 0) return
  // First collects what the two words contributed to each document, then adds only the difference.
  const { bits, scores, shares, touched } = cells
  const given = new Map<number, { score: number; share: number }>(
    Array.from(docs, (doc) => [doc, { score: 0, share: 0 }])
  )
  parts.forEach((part, i) =>
    part.docs.forEach((doc, at) => {
      const known = given.get(doc)
      if (known !== undefined) {
        known.score += idfs[i] * saturated(part.tfs[at])
        known.share += idfs[i]
      }
    })
  )
  docs.forEach((doc, at) => {
    const { score, share } = given.get(doc)!
    const credit = factor * (idfs[0] + idfs[1]) * saturated(tfs[at])
    if (credit <= score) return
    if (shares[doc] === 0) {
      touched[cells.count++] = doc
      scores[doc] = 0
      bits[doc] = 0
    }
    scores[doc] += credit - score
    shares[doc] += idfs[0] + idfs[1] - share
    bits[doc] |= bit
  })
}

/** Cells are reused between searches; while unused, `shares` is all zero. */
const waiting: Scored[] = []
const WAITING_MAX = 16
const borrow = (docs: number): Scored => {
  const cells = waiting.pop()
  if (cells !== undefined && cells.scores.length >= docs) return cells
  return {
    scores: new Float64Array(docs),
    shares: new Float64Array(docs),
    bits: new Uint32Array(docs),
    touched: new Uint32Array(docs),
    count: 0
  }
}
const giveBack = (cells: Scored): void => {
  cells.count = 0
  if (waiting.length < WAITING_MAX) waiting.push(cells)
  waiting.sort((a, b) => a.scores.length - b.scores.length)
}
