/**
 * Which documents match, as one set per segment: those that have every term and, if they are too few, those that miss
 * the least. Documents are grouped by which terms they have; each such combination is joined and counted as a set, the
 * richest first.
 */
import { andInto, andNotInto, orInto, popcount32, type Bits, type ReadonlyBits } from "../../index/bits.ts"
import { SpareNumbers } from "../../spare.ts"
import { spend } from "../../budget/cutoff.ts"
import type { TermSets } from "./term-sets.ts"

/**
 * Decision: documents with every word of the query match. If fewer than this many have them all, those that miss the
 * least (by rarity of the words) match too, until this number is reached. A shop's filter counts then reflect the
 * query, while a question in prose still finds articles that answer half of it. Documents are counted without filters,
 * so that a filter only ever removes documents. Measured: with 100 instead, recall@100 on two sets of abstracts falls
 * from .79 to .70 and from .69 to .59; with 500, nDCG@10 and recall@100 equal those of matching any word.
 */
const FOUND_MIN = 500
const SHARE_BINS = 512
/** With more terms there would be too many combinations. */
export const COMBINED_TERMS_MAX = 6

/** The smallest share that counts as the whole query, allowing for rounding in sums of rarities. */
export const wholeOf = (total: number): number => total * (1 - 1e-9)
/** The bin of a share, on a scale from nothing to the whole query. */
export const binOf = (share: number, total: number): number =>
  share >= wholeOf(total) ? SHARE_BINS : Math.floor((SHARE_BINS * share) / total)
/** The share that a document must have to match, from the number of documents per bin, highest bin first. */
export const leastOf = (docsOfBin: (bin: number) => number, total: number): number => {
  let docs = 0
  for (let bin = SHARE_BINS; bin >= 0; bin--) {
    docs += docsOfBin(bin)
    if (docs >= FOUND_MIN) return bin === SHARE_BINS ? wholeOf(total) : (total * bin) / SHARE_BINS
  }
  return 0
}
/** Number of bins of `leastOf`. */
export const BINS = SHARE_BINS + 1

const spareMatched = new SpareNumbers()
const spareExact = new SpareNumbers()

interface Segments {
  readonly docs: number
  readonly deleted: ReadonlyBits | undefined
}
/** Rarity of each combination of terms, indexed by its bits. Summed in the order of the terms, as for a document. */
export const sharesOf = (weights: ReadonlyArray<number>): Float64Array => {
  const shares = new Float64Array(1 << weights.length)
  for (let mask = 1; mask < shares.length; mask++) {
    const highest = 31 - Math.clz32(mask)
    shares[mask] = shares[mask ^ (1 << highest)] + weights[highest]
  }
  return shares
}

export class MatchedSets {
  /** Valid until those of the next search are computed; may be changed. */ readonly sets: ReadonlyArray<Bits>
  /** Whether every match has all terms. */ isWhole = true
  private readonly terms: TermSets
  private readonly segments: ReadonlyArray<Segments>
  private readonly count: number
  constructor(terms: TermSets, count: number, segments: ReadonlyArray<Segments>) {
    this.terms = terms
    this.count = count
    this.segments = segments
    const words = segments.map(({ docs }) => (docs + 31) >>> 5)
    const room = spareMatched.take(words.reduce((sum, own) => sum + own, 0))
    let at = 0
    this.sets = words.map((own) => room.subarray(at, (at += own)))
  }
  /** Sets them to the documents with any term. */
  addAny(): void {
    this.isWhole = this.count === 1
    this.sets.forEach((set, s) => {
      set.set(this.terms.of(0, s))
      for (let t = 1; t < this.count; t++) orInto(set, this.terms.of(t, s))
    })
  }
  /** Sets them to the documents with all terms and, if words may be dropped, enough of those that miss the least. */
  addRichest(weights: ReadonlyArray<number>, total: number, mayDropWords: boolean): void {
    const all = (1 << this.count) - 1
    const bins = Array.from(sharesOf(weights), (share) => binOf(share, total))
    const others = Array.from(bins.keys())
      .slice(1, all)
      .sort((a, b) => bins[b] - bins[a])
    let docs = 0,
      before = SHARE_BINS
    this.sets.forEach((set, s) => {
      this.fill(set, s, all)
      docs += liveDocs(set, this.segments[s].deleted, FOUND_MIN - docs)
    })
    for (const mask of others) {
      if (bins[mask] !== before && (docs >= FOUND_MIN || !mayDropWords)) return
      before = bins[mask]
      this.isWhole = false
      docs += this.add(mask)
    }
  }
  /** Adds the documents with exactly these terms; returns how many of them are not deleted, `FOUND_MIN` if more. */
  private add(mask: number): number {
    let docs = 0
    this.sets.forEach((set, s) => {
      const exact = spareExact.take(set.length)
      this.fill(exact, s, mask)
      orInto(set, exact)
      docs += liveDocs(exact, this.segments[s].deleted, FOUND_MIN - docs)
    })
    return docs
  }
  /** Sets `into` to the documents of segment `s` with exactly these terms, at least one. */
  private fill(into: Bits, s: number, mask: number): void {
    spend(into.length * this.count)
    let isBegun = false
    for (let t = 0; t < this.count; t++)
      if ((mask & (1 << t)) !== 0) {
        if (isBegun) andInto(into, this.terms.of(t, s))
        else into.set(this.terms.of(t, s))
        isBegun = true
      }
    for (let t = 0; t < this.count; t++) if ((mask & (1 << t)) === 0) andNotInto(into, this.terms.of(t, s))
  }
}
/** Number of documents in the set that are not deleted, or `most` if there are more. */
const liveDocs = (set: Bits, deleted: ReadonlyBits | undefined, most: number): number => {
  let docs = 0
  for (let w = 0; w < set.length && docs < most; w++)
    if (set[w] !== 0) docs += popcount32(deleted === undefined ? set[w] : set[w] & ~deleted[w])
  return Math.min(docs, Math.max(0, most))
}
