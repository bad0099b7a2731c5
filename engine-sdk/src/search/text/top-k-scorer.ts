/**
 * Scores only documents that can still be shown. Upper bounds of scores are known by mark (`upper-bounds.ts`), so
 * positions are read only for the few documents whose bound, together with the next sort value, reaches the threshold:
 * the score of the last of the k best found so far. All others are counted without a score.
 */
import type { Bits, ReadonlyBits } from "../../index/bits.ts"
import { spend } from "../../budget/cutoff.ts"
import { composeMaxScore, scoreHigh, scoreLow } from "./field-score.ts"
import { ListsAsSets, sliceAt } from "./field-slices.ts"
import { marks, PostingRows, postingRows } from "./posting-rows.ts"
import { boundRichest, isScored, richestScore, richestWeight } from "./richest-fields.ts"
import { topKListOf, type TopKList } from "./top-k-list.ts"
import {
  ABOVE,
  AT,
  BELOW,
  isNumbered,
  MARKS,
  UpperBounds,
  verdictOf,
  wholeFields,
  type UnscoredMatches
} from "./upper-bounds.ts"

/** Decides between equal text scores in a segment: `sign · first[doc]`, or `absent` if there is no value. */
export interface TieColumn {
  readonly sign: number
  readonly first: ArrayLike<number>
  readonly has?: Bits
  readonly absent: number
  /** A byte per document that grows with its value; it settles most comparisons. */ readonly classes?: Uint8Array
  /** The highest value of every 32 documents. */ readonly maxima?: () => Float64Array
}
/**
 * How many documents must be scored exactly, and what decides ties in each segment (undefined: a key that is not
 * considered here).
 */
export interface TopK {
  readonly k: number
  /** If set, the order starts with these columns, before any score, in every segment. */
  readonly first?: ReadonlyArray<TieColumn>
  readonly ties: ReadonlyArray<TieColumn | undefined>
}
/** Where scores are written: the cells of one segment. */
interface ScoredMatches {
  readonly high: Float64Array
  readonly low: Float64Array
  readonly scored: Bits
  readonly allowed: ReadonlyBits | undefined
  readonly view: { readonly segment: { readonly docs: number } }
  /** If only the best are scored: the documents of `scored`, in no order. */ readonly scoredDocs?: number[] | undefined
}
/** Composes the score of a document from a row of postings; `lists`: the lists that contain it, as bits. */
export type Score = (one: UnscoredMatches, doc: number, row: number, lists: number) => void
/** Source of a document's postings: fills `postingRows` with a cell per list, from the document's row on. */
interface Rows {
  fill(i: number, doc: number, wanted: number): void
}

/** Documents, and words of sets, between two checks of the time budget, less one. */
const LOOK_MASK = 4_095,
  BLOCK_MASK = 1_023
/** Cost of scoring a document, in steps. */
export const SCORE_STEPS = 16

/**
 * Scores every document of `unscored` that may be among the k best and writes the scores into the segment's cells;
 * `score` composes a document's score from its row of postings. Documents that are left out certainly rank below k
 * others. Cost: a pass over all documents for their marks, and one that drops nearly all of them by their mark alone.
 */
export const scoreTopK = (
  unscored: ReadonlyArray<UnscoredMatches>,
  { k, ties }: TopK,
  matches: ReadonlyArray<ScoredMatches>,
  weights: ReadonlyArray<number>,
  countFields: boolean,
  score: Score
): void => {
  if (k === 0) return
  const best = topKListOf(k)
  const last = k - 1
  const bounds = new UpperBounds(weights, countFields)
  const bounded = unscored.map((one) => {
    bounds.ofAll(one)
    return { one, high: scoreHigh, low: scoreLow }
  })
  for (const { one, high, low } of bounded.sort((a, b) => b.high - a.high || b.low - a.low)) {
    if (best.isFull && (high < best.high[last] || (high === best.high[last] && low < best.low[last]))) return
    const { docs } = matches[one.s].view.segment
    try {
      if (one.docs === undefined) {
        const sets = new ListsAsSets(one.lists, docs)
        new TopKScorer(one, oneRow(sets), best, bounds, ties[one.s], matches[one.s], score).runSlices(sets)
      } else {
        // The tables have room for all marks of this many documents.
        const part = isNumbered(one) ? MARKS : one.docs.length
        for (let from = 0; from < one.docs.length; from += part) {
          const own = one.docs.subarray(from, from + part)
          const rows = new PostingRows(one.lists, one.scoring.words, own, docs)
          bounds.clear()
          bounds.fill(one, marks, own.length)
          new TopKScorer(one, rows, best, bounds, ties[one.s], matches[one.s], score).run(own)
        }
      }
    } finally {
      // The tables are shared, so a failed search must leave them clean for the next one.
      bounds.clear()
    }
  }
}

/** Looks up the documents of a set one by one. */
const oneRow = (sets: ListsAsSets): Rows => ({
  fill: (_i, doc, wanted) => {
    for (let rest = wanted; rest !== 0; rest &= rest - 1) {
      const bit = 31 - Math.clz32(rest & -rest)
      postingRows[bit] = sets.posting(bit, doc)
    }
  }
})

/** Scores those documents of one combination in one segment that can still be among the best. */
class TopKScorer {
  private readonly one: UnscoredMatches
  private readonly rows: Rows
  private readonly best: TopKList
  private readonly bounds: UpperBounds
  private readonly tie: TieColumn | undefined
  private readonly classes: Uint8Array | undefined
  private readonly cells: ScoredMatches
  private readonly score: Score
  /** Score of the last of the best; lower scores are not among them. Until there are k, every score qualifies. */
  private thresholdHigh = -1
  private thresholdLow = 0
  private thresholdTie = -Infinity
  /** A document of a lower class has a value below the threshold's. */ private thresholdClass = 0
  /** The bound of documents with these whole fields, for the lists requested last. */
  private wholeHigh = 0
  private wholeLow = 0
  private boundedWhole = -1
  private boundedLists = -1

  constructor(
    one: UnscoredMatches,
    rows: Rows,
    best: TopKList,
    bounds: UpperBounds,
    tie: TieColumn | undefined,
    cells: ScoredMatches,
    score: Score
  ) {
    this.one = one
    this.rows = rows
    this.best = best
    this.bounds = bounds
    this.tie = tie
    this.classes = tie?.classes
    this.cells = cells
    this.score = score
    if (best.isFull) this.raiseThreshold()
  }

  run(docs: Uint32Array): void {
    const { seen } = this.bounds
    if (seen.length === 1) {
      this.scoreAlike(docs, seen[0])
      return
    }
    // The most promising documents first: the more of the best are known, the fewer others need a score.
    this.scoreThose(docs, 1)
    // Often no other document can be among the best after that.
    const { exactVerdicts, isTop } = this.bounds
    if (seen.some((mark) => isTop[mark] === 0 && exactVerdicts[mark] !== BELOW)) this.scoreThose(docs, 0)
  }
  /** Scores the documents of a set, slice by slice; blocks of 32 that all lose by the tie value are skipped. */
  runSlices(sets: ListsAsSets): void {
    const { best, bounds, one } = this
    const { allowed, view } = this.cells
    const maxima = this.tie?.maxima?.()
    const words = (view.segment.docs + 31) >>> 5
    for (const slice of sets.slices(one, bounds)) {
      for (let w = 0; w < words; w++) {
        if ((w & BLOCK_MASK) === 0 && spend(BLOCK_MASK)) return
        if (best.isFull) {
          const verdict = verdictOf(slice.high, slice.low, this.thresholdHigh, this.thresholdLow)
          if (verdict === BELOW) return
          if (verdict === AT && maxima !== undefined && maxima[w] < this.thresholdTie) continue
        }
        for (let word = sliceAt(slice, allowed, w); word !== 0; word &= word - 1)
          this.considerOf(sets, (w << 5) + 31 - Math.clz32(word & -word))
      }
    }
  }
  private considerOf(sets: ListsAsSets, doc: number): void {
    const { bounds, one } = this
    const mark = bounds.know(one, sets.markOf(doc), this.thresholdHigh, this.thresholdLow)
    const verdict = bounds.exactVerdicts[mark]
    if (verdict === BELOW || (verdict === AT && this.best.isFull && this.valueOf(doc) < this.thresholdTie)) return
    this.consider(0, doc, mark)
  }
  /** Scores the documents with a top mark, or those without. */
  private scoreThose(docs: Uint32Array, top: number): void {
    const { classes } = this
    const { exactVerdicts, isTop } = this.bounds
    const own = marks
    for (let i = docs.length - 1; i >= 0; i--) {
      if ((i & LOOK_MASK) === 0 && spend(LOOK_MASK)) return
      const mark = own[i],
        verdict = exactVerdicts[mark]
      // Most documents of a large result are excluded by their mark and one comparison of the tie value.
      if (verdict === BELOW || isTop[mark] !== top) continue
      if (verdict === AT && classes !== undefined && classes[docs[i]] < this.thresholdClass) continue
      this.consider(i, docs[i], mark)
    }
  }
  /**
   * All documents have one mark, so a single comparison decides whether any that remain can still be among the best.
   */
  private scoreAlike(docs: Uint32Array, mark: number): void {
    const { classes } = this
    const { exactVerdicts } = this.bounds
    for (let i = docs.length - 1; i >= 0; i--) {
      if ((i & LOOK_MASK) === 0 && spend(LOOK_MASK)) return
      const verdict = exactVerdicts[mark]
      if (verdict === BELOW) return
      if (verdict === AT && classes !== undefined) {
        const { thresholdClass } = this
        while (i >= 0 && classes[docs[i]] < thresholdClass) i--
        if (i < 0) return
      }
      this.consider(i, docs[i], mark)
    }
  }

  /** Scores a document unless it cannot reach the threshold, and adds it to the best if it belongs there. */
  private consider(i: number, doc: number, mark: number): void {
    const { best, bounds, one } = this
    const { isFull } = best
    if (isFull && !this.mayReach(mark, doc)) return
    spend(SCORE_STEPS)
    const bits = bounds.richest[mark],
      lists = bounds.lists[mark]
    this.rows.fill(i, doc, bits === 0 ? lists : bits)
    if (bits !== 0) {
      boundRichest(one, doc, i * one.lists.length, bounds, mark)
      composeMaxScore(bounds.tokens[mark], richestScore, richestWeight, bounds.fieldCounts[mark])
      if (isFull && this.isBelow(scoreHigh, scoreLow)) return
      if (!isScored) this.rows.fill(i, doc, lists)
    }
    if (bits === 0 || !isScored) this.score(one, doc, i * one.lists.length, lists)
    const high = scoreHigh,
      low = scoreLow
    // The document is certainly below all of the best, so its score is not needed.
    if (isFull && this.isBelow(high, low)) return
    const isTied = isFull && high === this.thresholdHigh && low === this.thresholdLow
    if (isTied && this.classes !== undefined && this.classes[doc] < this.thresholdClass) return
    const value = this.valueOf(doc)
    if (isTied && value < this.thresholdTie) return
    if (this.write(doc, high, low) && best.offer(one.s, doc, high, low, this.tie === undefined ? -Infinity : value))
      if (best.isFull) this.raiseThreshold()
  }
  /** Whether a score is below the threshold, whatever the tie value. */
  private isBelow(high: number, low: number): boolean {
    return high < this.thresholdHigh || (high === this.thresholdHigh && low < this.thresholdLow)
  }
  /** False if the bound of the document, including its tie value, is below the threshold. */
  private mayReach(mark: number, doc: number): boolean {
    const { exactVerdicts, plainVerdicts } = this.bounds
    if (exactVerdicts[mark] === AT && this.valueOf(doc) < this.thresholdTie) return false
    // Only fields with as many tokens as matched words get the exact bit.
    const plain = plainVerdicts[mark]
    return plain === ABOVE || (plain === AT && this.valueOf(doc) >= this.thresholdTie) || this.mayReachWhole(mark, doc)
  }
  private mayReachWhole(mark: number, doc: number): boolean {
    const lists = this.bounds.lists[mark]
    const whole = wholeFields(this.one, lists, doc)
    if (whole === 0) return false
    if (whole !== this.boundedWhole || lists !== this.boundedLists) {
      this.bounds.bound(this.one, lists, whole)
      this.boundedWhole = whole
      this.boundedLists = lists
      this.wholeHigh = scoreHigh
      this.wholeLow = scoreLow
    }
    const { thresholdHigh, thresholdLow, wholeHigh, wholeLow } = this
    return (
      wholeHigh > thresholdHigh ||
      (wholeHigh === thresholdHigh &&
        (wholeLow > thresholdLow || (wholeLow === thresholdLow && this.valueOf(doc) >= this.thresholdTie)))
    )
  }
  /** Writes the score; false if another combination gave the document an equal or better one. */
  private write(doc: number, high: number, low: number): boolean {
    const { cells } = this
    const w = doc >>> 5,
      bit = 1 << (doc & 31)
    const wasScored = (cells.scored[w] & bit) !== 0
    if (wasScored && (high < cells.high[doc] || (high === cells.high[doc] && low <= cells.low[doc]))) return false
    if (wasScored) this.best.remove(this.one.s, doc)
    else cells.scoredDocs?.push(doc)
    cells.scored[w] |= bit
    cells.high[doc] = high
    cells.low[doc] = low
    return true
  }
  /** The value that decides a tie. */
  private valueOf(doc: number): number {
    const { tie } = this
    return tie === undefined
      ? Infinity
      : tie.has !== undefined && (tie.has[doc >>> 5] & (1 << (doc & 31))) === 0
        ? tie.absent
        : tie.sign * tie.first[doc]
  }
  /** Called when the last of the best has changed. */
  private raiseThreshold(): void {
    const { best, classes, one } = this
    const last = best.k - 1
    const high = best.high[last],
      low = best.low[last]
    // The threshold's class is known only if its document is in this segment; 0 excludes nothing.
    this.thresholdClass = classes !== undefined && best.segments[last] === one.s ? classes[best.docs[last]] : 0
    this.thresholdTie = best.tie[last]
    if (high === this.thresholdHigh && low === this.thresholdLow) return
    this.thresholdHigh = high
    this.thresholdLow = low
    this.bounds.compare(high, low)
  }
}
