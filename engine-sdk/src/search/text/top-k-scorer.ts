/**
 * Scoring only what can still be shown. Upper bounds of scores are known by mark (`upper-bounds.ts`), so positions are
 * read for the few documents whose bound, together with what the order looks at next, reaches the threshold: the score
 * of the last of the k best known so far. Everything else is found and counted without a score.
 */
import type { Bits } from "../../index/bits.ts"
import { SPILLED } from "../../index/columns.ts"
import { spend } from "../../budget/cutoff.ts"
import { composeMaxScore, scoreHigh, scoreLow, scoreOnce, WINDOW } from "./field-score.ts"
import { marks, PostingRows, postingRows } from "./posting-rows.ts"
import { TopKList } from "./top-k-list.ts"
import { ABOVE, AT, BELOW, UpperBounds, wholeFields, type UnscoredMatches } from "./upper-bounds.ts"

/** What decides between equal text scores in a segment: `sign · first[doc]`, `absent` where there is none. */
interface TieColumn {
  readonly sign: number
  readonly first: ArrayLike<number>
  readonly has?: Bits
  readonly absent: number
  /** A byte per document that grows with its value: most comparisons end there. */ readonly classes?: Uint8Array
}
/**
 * How many documents must be scored exactly, and per segment what decides ties (undefined: something that is not looked
 * at here).
 */
export interface TopK {
  readonly k: number
  readonly ties: ReadonlyArray<TieColumn | undefined>
}
/** Where scores go: the cells of one segment. */
interface ScoredMatches {
  readonly high: Float64Array
  readonly low: Float64Array
  readonly scored: Bits
  readonly view: { readonly segment: { readonly docs: number } }
  /** Where only the best are scored: the documents of `scored`, in no order. */ readonly scoredDocs?:
    | number[]
    | undefined
}
type Score = (one: UnscoredMatches, i: number, mark: number) => void

/** Documents between two accounts of them, less one. */
const LOOK_MASK = 4_095
/** Steps of a document that is scored. */
const SCORE_STEPS = 16

/**
 * Scores every document of `unscored` that may be among the k best into the segment's cells; `score` composes the score
 * of one from its row of postings. What is left out is certain to be worse than k others. Cost: a pass over all
 * documents for their marks, and one that drops nearly all of them by their mark alone.
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
  const best = new TopKList(k)
  const last = k - 1
  const bounds = new UpperBounds(weights, countFields)
  const bounded = unscored.map((one) => {
    bounds.ofAll(one)
    return { one, high: scoreHigh, low: scoreLow }
  })
  for (const { one, high, low } of bounded.sort((a, b) => b.high - a.high || b.low - a.low)) {
    if (best.isFull && (high < best.high[last] || (high === best.high[last] && low < best.low[last]))) return
    try {
      const rows = new PostingRows(one.lists, one.scoring.words, one.docs, matches[one.s].view.segment.docs)
      bounds.fill(one, marks)
      new TopKScorer(one, rows, best, bounds, ties[one.s], matches[one.s], score).run()
    } finally {
      // The tables are everybody's: a search that failed must leave nothing to the next.
      bounds.clear()
    }
  }
}

/** Scores the documents of one combination in one segment, as far as they can get among the best so far. */
class TopKScorer {
  private readonly one: UnscoredMatches
  private readonly rows: PostingRows
  private readonly best: TopKList
  private readonly bounds: UpperBounds
  private readonly tie: TieColumn | undefined
  private readonly classes: Uint8Array | undefined
  private readonly cells: ScoredMatches
  private readonly score: Score
  /** What the last of the best has: less is not among them. Before there are k of them, anything is. */
  private thresholdHigh = -1
  private thresholdLow = 0
  private thresholdTie = -Infinity
  /** A class below it has values below the threshold's, too. */ private thresholdClass = 0
  /** The bound of documents with these whole fields, of the mark that was asked last. */
  private wholeHigh = 0
  private wholeLow = 0
  private boundedWhole = -1
  private boundedMark = -1

  constructor(
    one: UnscoredMatches,
    rows: PostingRows,
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

  run(): void {
    const { seen } = this.bounds
    if (seen.length === 1) {
      this.scoreAlike(seen[0])
      return
    }
    // The likeliest first: the more of the best are known, the fewer of the others need a score.
    this.scoreThose(1)
    this.scoreThose(0)
  }
  /** Documents with a top mark, or the others. */
  private scoreThose(top: number): void {
    const { classes } = this
    const { docs } = this.one
    const { exactVerdicts, isTop } = this.bounds
    const own = marks
    for (let i = docs.length - 1; i >= 0; i--) {
      if ((i & LOOK_MASK) === 0 && spend(LOOK_MASK)) return
      const mark = own[i],
        verdict = exactVerdicts[mark]
      // Most documents of a large result lose by their mark and a glance at what decides ties.
      if (verdict === BELOW || isTop[mark] !== top) continue
      if (verdict === AT && classes !== undefined && classes[docs[i]] < this.thresholdClass) continue
      this.consider(i, mark)
    }
  }
  /**
   * All documents have one mark, so it is decided for all of them at once whether any of the rest can still be among
   * the best.
   */
  private scoreAlike(mark: number): void {
    const { classes } = this
    const { docs } = this.one
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
      this.consider(i, mark)
    }
  }

  /** Scores a document unless it cannot reach the threshold, and puts it among the best where it belongs there. */
  private consider(i: number, mark: number): void {
    const { best, bounds, one } = this
    const doc = one.docs[i],
      { isFull } = best
    if (isFull && !this.mayReach(mark, doc)) return
    spend(SCORE_STEPS)
    const bits = bounds.richest[mark]
    this.rows.fill(i, bits === 0 ? mark : bits)
    const inRichest = bits === 0 ? -1 : scoreRichest(one, i, bits)
    if (inRichest >= 0) {
      if (isFull && inRichest <= bounds.losing[mark]) return
      const weight = bounds.weights[one.lists[31 - Math.clz32(bits)].field]
      composeMaxScore(bounds.tokens[mark], inRichest, weight, bounds.fieldCounts[mark])
    } else {
      this.rows.fill(i, mark)
      this.score(one, i, mark)
    }
    const high = scoreHigh,
      low = scoreLow
    // Certain to be worse than all of the best: its score is of no use.
    if (isFull && (high < this.thresholdHigh || (high === this.thresholdHigh && low < this.thresholdLow))) {
      if (inRichest > bounds.losing[mark]) bounds.losing[mark] = inRichest
      return
    }
    const isTied = isFull && high === this.thresholdHigh && low === this.thresholdLow
    if (isTied && this.classes !== undefined && this.classes[doc] < this.thresholdClass) return
    const value = this.valueOf(doc)
    if (isTied && value < this.thresholdTie) return
    if (this.write(doc, high, low) && best.offer(one.s, doc, high, low, this.tie === undefined ? -Infinity : value))
      if (best.isFull) this.raiseThreshold()
  }
  /** False when the bound of the document, with what decides its ties, is below the threshold. */
  private mayReach(mark: number, doc: number): boolean {
    const { exactVerdicts, plainVerdicts } = this.bounds
    if (exactVerdicts[mark] === AT && this.valueOf(doc) < this.thresholdTie) return false
    // Only fields that are as long as their words are many get the exact bit.
    const plain = plainVerdicts[mark]
    return plain === ABOVE || (plain === AT && this.valueOf(doc) >= this.thresholdTie) || this.mayReachWhole(mark, doc)
  }
  private mayReachWhole(mark: number, doc: number): boolean {
    const whole = wholeFields(this.one, mark, doc)
    if (whole === 0) return false
    if (whole !== this.boundedWhole || mark !== this.boundedMark) {
      this.bounds.bound(this.one, mark, whole)
      this.boundedWhole = whole
      this.boundedMark = mark
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
  /** False when another combination gave the document a score that is as good. */
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
  /** What decides a tie. */
  private valueOf(doc: number): number {
    const { tie } = this
    return tie === undefined
      ? Infinity
      : tie.has !== undefined && (tie.has[doc >>> 5] & (1 << (doc & 31))) === 0
        ? tie.absent
        : tie.sign * tie.first[doc]
  }
  /** The last of the best has changed. */
  private raiseThreshold(): void {
    const { best, classes, one } = this
    const last = best.k - 1
    const high = best.high[last],
      low = best.low[last]
    // Its class is known where it is a document of this segment; 0 rules nothing out.
    this.thresholdClass = classes !== undefined && best.segments[last] === one.s ? classes[best.docs[last]] : 0
    this.thresholdTie = best.tie[last]
    if (high === this.thresholdHigh && low === this.thresholdLow) return
    this.thresholdHigh = high
    this.thresholdLow = low
    this.bounds.compare(high, low)
  }
}

/**
 * The score of the richest field, which decides the record score: more words always beat fewer. -1 where a word stands
 * there several times or not all words fit one window, which takes the whole computation.
 */
const scoreRichest = ({ docs, lists, scoring }: UnscoredMatches, i: number, bits: number): number => {
  const row = i * lists.length
  let first = SPILLED,
    last = -1,
    words = 0,
    bit = 0
  for (let rest = bits; rest !== 0; rest &= rest - 1) {
    bit = 31 - Math.clz32(rest & -rest)
    const loc = lists[bit].column.locs[postingRows[row + bit]]
    if (loc >= SPILLED) return -1
    if (loc < first) first = loc
    if (loc > last) last = loc
    words++
  }
  if (last - first > WINDOW) return -1
  const isExact = lists[bit].column.lengths![docs[i]] === words && last === words - 1
  return scoreOnce(words, scoring.cost, last - first, isExact, last, scoring.rules)
}
