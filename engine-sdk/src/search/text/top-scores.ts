/**
 * Scoring only what can still be shown. Matching marks, for every document, which word stands in which field; that
 * alone bounds the score a document can reach, so positions are read for the few documents whose bound, together with
 * what the order looks at next, beats the best ones known so far. Everything else is found and counted without a score.
 */
import type { Bits } from "../../index/bits.ts"
import { SPILLED } from "../../index/columns.ts"
import type { MarkedList } from "./candidates.ts"
import { spend } from "../../budget/cutoff.ts"
import {
  composeMaxScore,
  fieldScoreBound,
  scoreHigh,
  scoreLow,
  scoreOnce,
  WINDOW,
  type ScoreRules
} from "./field-score.ts"
import { marks, PostingRows, postingRows } from "./posting-rows.ts"

/** What decides between equal text scores in a segment: `sign · first[doc]`, `absent` where there is none. */
export interface TieColumn {
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
export interface Wanted {
  readonly most: number
  readonly ties: ReadonlyArray<TieColumn | undefined>
}

/** Documents between two accounts of them, less one. */
const LOOK_MASK = 4_095
/** Bits a document's mark may have: word and field pairs of one combination. */
export const MARKS_MAX = 16
/** Matches of one combination of words in one segment, not scored yet. */
export interface Pending {
  readonly s: number
  /**
   * In the order of words, and of fields within a word; the place is the bit of a mark. Words from `words` on were
   * dropped: they count where they are.
   */
  readonly lists: ReadonlyArray<MarkedList>
  readonly words: number
  readonly cost: number
  readonly mayBeExact: boolean
  /** Two words are the same: their places may coincide. */ readonly repeats: boolean
  readonly rules: ScoreRules & { /** What `tokens_matched` is at least. */ readonly matchedTokens: number | undefined }
  readonly docs: Uint32Array
}

/** The best documents so far, best first: text score in two halves, then the tie value. */
class BestScores {
  readonly most: number
  readonly high: Float64Array
  readonly low: Float64Array
  readonly tie: Float64Array
  readonly segments: Uint32Array
  readonly docs: Uint32Array
  size = 0
  constructor(most: number) {
    this.most = most
    this.high = new Float64Array(most)
    this.low = new Float64Array(most)
    this.tie = new Float64Array(most)
    this.segments = new Uint32Array(most)
    this.docs = new Uint32Array(most)
  }
  get isFull(): boolean {
    return this.size === this.most
  }
  /** A document stands here once, with its latest score. */
  remove(s: number, doc: number): void {
    for (let i = 0; i < this.size; i++) {
      if (this.docs[i] !== doc || this.segments[i] !== s) continue
      for (const cells of [this.high, this.low, this.tie, this.segments, this.docs])
        cells.copyWithin(i, i + 1, this.size)
      this.size--
      return
    }
  }
  /** False when the document is not among them. */
  offer(s: number, doc: number, high: number, low: number, tie: number): boolean {
    let at = this.size
    if (at === this.most) {
      if (!this.isBelow(at - 1, high, low, tie)) return false
      at--
    } else this.size++
    for (; at > 0 && this.isBelow(at - 1, high, low, tie); at--) this.move(at, at - 1)
    this.high[at] = high
    this.low[at] = low
    this.tie[at] = tie
    this.segments[at] = s
    this.docs[at] = doc
    return true
  }
  private move(to: number, from: number): void {
    this.high[to] = this.high[from]
    this.low[to] = this.low[from]
    this.tie[to] = this.tie[from]
    this.segments[to] = this.segments[from]
    this.docs[to] = this.docs[from]
  }
  private isBelow(i: number, high: number, low: number, tie: number): boolean {
    return this.high[i] !== high ? this.high[i] < high : this.low[i] !== low ? this.low[i] < low : this.tie[i] < tie
  }
}

/**
 * By mark of the combination at hand: bounds without and with whole fields, and what they are worth beside the worst of
 * the best.
 */
const BOUNDS = 1 << MARKS_MAX
const plainHigh = new Float64Array(BOUNDS),
  plainLow = new Float64Array(BOUNDS),
  exactHigh = new Float64Array(BOUNDS),
  exactLow = new Float64Array(BOUNDS)
/**
 * Where one plain field holds more of the words than any other, its lists by bit, and how many fields hold any; else 0.
 */
const richest = new Uint16Array(BOUNDS),
  fieldCounts = new Uint8Array(BOUNDS)
const UNSEEN = 0,
  LOSES = 1,
  TIES = 2,
  WINS = 3
/** The best that documents of a mark can do with whole fields, and without. */
const chances = new Uint8Array(BOUNDS),
  plainChances = new Uint8Array(BOUNDS),
  isTop = new Uint8Array(BOUNDS)
/** The highest score of the richest field that is known to be below the worst of the best, whatever decides ties. */
const losing = new Float64Array(BOUNDS)
/** `tokens_matched` of a mark. */
const tokensOfMark = new Uint8Array(BOUNDS)
/** The marks that are there: their cells are cleared when the combination is done. */
const seen: number[] = []

export interface Scored {
  readonly high: Float64Array
  readonly low: Float64Array
  readonly scored: Bits
  readonly view: { readonly segment: { readonly docs: number } }
  /** Where only the best are scored: the documents of `scored`, in no order. */ readonly scoredDocs?:
    | number[]
    | undefined
}
type Score = (pending: Pending, i: number, mark: number) => void

/**
 * Scores every pending document that may be among the `most` best into the segment's cells; `score` composes the score
 * of one from its row of postings. What is left out is certain to be worse than `most` others. Cost: a pass over all
 * documents for their marks, and one that drops nearly all of them by their mark alone.
 */
export const scoreBest = (
  pending: ReadonlyArray<Pending>,
  wanted: Wanted,
  matches: ReadonlyArray<Scored>,
  weights: ReadonlyArray<number>,
  countFields: boolean,
  score: Score
): void => {
  if (wanted.most === 0) return
  const best = new BestScores(wanted.most)
  const last = best.most - 1
  const held = new Int32Array(weights.length)
  const bounded = pending.map((one) => {
    bound(one, (1 << one.lists.length) - 1, weights, countFields, held, ALL_FIELDS)
    return { one, high: scoreHigh, low: scoreLow }
  })
  for (const { one, high, low } of bounded.sort((a, b) => b.high - a.high || b.low - a.low)) {
    if (best.isFull && (high < best.high[last] || (high === best.high[last] && low < best.low[last]))) return
    try {
      const rows = new PostingRows(one.lists, one.words, one.docs, matches[one.s].view.segment.docs)
      if (one.lists.length === one.words) boundMark(one, (1 << one.words) - 1, weights, countFields, held)
      else boundMarks(one, weights, countFields, held)
      const contest = new Contest(
        one,
        rows,
        best,
        wanted.ties[one.s],
        matches[one.s],
        weights,
        countFields,
        held,
        score
      )
      if (seen.length === 1) contest.runAlike(seen[0])
      else contest.run()
    } finally {
      // The tables are everybody's: a search that failed must leave nothing to the next.
      for (const mark of seen) chances[mark] = isTop[mark] = 0
      seen.length = 0
    }
  }
}
/** Bounds of every mark that is there; those with the highest are `isTop`. */
const boundMarks = (one: Pending, weights: ReadonlyArray<number>, countFields: boolean, held: Int32Array): void => {
  let topHigh = -1,
    topLow = 0
  const own = marks
  for (let i = 0, n = one.docs.length; i < n; i++) {
    const mark = own[i]
    if (chances[mark] !== UNSEEN) continue
    boundMark(one, mark, weights, countFields, held)
    if (plainHigh[mark] > topHigh || (plainHigh[mark] === topHigh && plainLow[mark] > topLow)) {
      topHigh = plainHigh[mark]
      topLow = plainLow[mark]
    }
  }
  for (const mark of seen) if (plainHigh[mark] === topHigh && plainLow[mark] === topLow) isTop[mark] = 1
}

const boundMark = (
  one: Pending,
  mark: number,
  weights: ReadonlyArray<number>,
  countFields: boolean,
  held: Int32Array
): void => {
  chances[mark] = plainChances[mark] = WINS
  losing[mark] = -1
  tokensOfMark[mark] = tokensOf(one, mark)
  seen.push(mark)
  bound(one, mark, weights, countFields, held, 0)
  plainHigh[mark] = scoreHigh
  plainLow[mark] = scoreLow
  richest[mark] = richestField(one, mark, held)
  fieldCounts[mark] = countFields ? Math.min(7, heldFields(held)) : 0
  bound(one, mark, weights, countFields, held, possiblyWhole(one, mark))
  exactHigh[mark] = scoreHigh
  exactLow[mark] = scoreLow
}

/** The documents of one combination in one segment against the best so far. */
class Contest {
  private readonly one: Pending
  private readonly best: BestScores
  private readonly tie: TieColumn | undefined
  private readonly cells: Scored
  private readonly weights: ReadonlyArray<number>
  private readonly countFields: boolean
  private readonly held: Int32Array
  private readonly score: Score
  private readonly rows: PostingRows
  private readonly classes: Uint8Array | undefined
  /** A class is below that of the worst of the best: its values are, too. */ private worstClass = 0
  private worstHigh = -1
  private worstLow = 0
  private worstTie = -Infinity
  private knownWhole = -1
  private knownMark = -1
  private wholeHigh = 0
  private wholeLow = 0
  constructor(
    one: Pending,
    rows: PostingRows,
    best: BestScores,
    tie: TieColumn | undefined,
    cells: Scored,
    weights: ReadonlyArray<number>,
    countFields: boolean,
    held: Int32Array,
    score: Score
  ) {
    this.rows = rows
    this.one = one
    this.best = best
    this.tie = tie
    this.cells = cells
    this.weights = weights
    this.countFields = countFields
    this.held = held
    this.score = score
    this.classes = tie?.classes
    if (best.isFull) this.raise()
  }

  run(): void {
    // The likeliest first: the more of the best are known, the fewer of the others need a score.
    this.runThose(1)
    this.runThose(0)
  }
  /** Documents with a top mark, or the others. */
  private runThose(top: number): void {
    const {
      classes,
      one: { docs }
    } = this
    const own = marks
    for (let i = docs.length - 1; i >= 0; i--) {
      if ((i & LOOK_MASK) === 0 && spend(LOOK_MASK)) return
      const mark = own[i],
        chance = chances[mark]
      // Most documents of a large result lose by their mark and a glance at what decides ties.
      if (chance === LOSES || isTop[mark] !== top) continue
      if (chance === TIES && classes !== undefined && classes[docs[i]] < this.worstClass) continue
      this.consider(i, mark)
    }
  }
  /**
   * All documents have one mark, so it is decided for all of them at once whether any of the rest can still be among
   * the best.
   */
  runAlike(mark: number): void {
    const {
      classes,
      one: { docs }
    } = this
    for (let i = docs.length - 1; i >= 0; i--) {
      if ((i & LOOK_MASK) === 0 && spend(LOOK_MASK)) return
      const chance = chances[mark]
      if (chance === LOSES) return
      if (chance === TIES && classes !== undefined) {
        const { worstClass } = this
        while (i >= 0 && classes[docs[i]] < worstClass) i--
        if (i < 0) return
      }
      this.consider(i, mark)
    }
  }

  private consider(i: number, mark: number): void {
    const { best, one } = this
    const doc = one.docs[i],
      { isFull } = best
    if (isFull) {
      if (chances[mark] === TIES && this.valueOf(doc) < this.worstTie) return
      // Only fields that are as long as their words are many get the exact bit.
      const plain = plainChances[mark]
      if (plain !== WINS && (plain === LOSES || this.valueOf(doc) < this.worstTie) && !this.mayBeatWhole(mark, doc))
        return
    }
    spend(16)
    const bits = richest[mark]
    this.rows.fill(i, bits === 0 ? mark : bits)
    const inRichest = bits === 0 ? -1 : scoreRichest(one, i, bits)
    if (inRichest >= 0) {
      if (isFull && inRichest <= losing[mark]) return
      composeMaxScore(
        tokensOfMark[mark],
        inRichest,
        this.weights[one.lists[31 - Math.clz32(bits)].field],
        fieldCounts[mark]
      )
    } else {
      this.rows.fill(i, mark)
      this.score(one, i, mark)
    }
    const high = scoreHigh,
      low = scoreLow
    // Certain to be worse than all of the best: its score is of no use.
    if (isFull && (high < this.worstHigh || (high === this.worstHigh && low < this.worstLow))) {
      if (inRichest > losing[mark]) losing[mark] = inRichest
      return
    }
    const isTied = isFull && high === this.worstHigh && low === this.worstLow
    if (isTied && this.classes !== undefined && this.classes[doc] < this.worstClass) return
    const value = this.valueOf(doc)
    if (isTied && value < this.worstTie) return
    const { cells } = this
    const w = doc >>> 5,
      bit = 1 << (doc & 31)
    const wasScored = (cells.scored[w] & bit) !== 0
    if (wasScored && (high < cells.high[doc] || (high === cells.high[doc] && low <= cells.low[doc]))) return
    if (wasScored) best.remove(one.s, doc)
    else cells.scoredDocs?.push(doc)
    cells.scored[w] |= bit
    cells.high[doc] = high
    cells.low[doc] = low
    if (best.offer(one.s, doc, high, low, this.tie === undefined ? -Infinity : value) && best.isFull) this.raise()
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
  private mayBeat(high: number, low: number, tie: number): boolean {
    return (
      high > this.worstHigh ||
      (high === this.worstHigh && (low > this.worstLow || (low === this.worstLow && tie >= this.worstTie)))
    )
  }
  private mayBeatWhole(mark: number, doc: number): boolean {
    const whole = wholeFields(this.one, mark, doc)
    if (whole === 0) return false
    if (whole !== this.knownWhole || mark !== this.knownMark) {
      bound(this.one, mark, this.weights, this.countFields, this.held, whole)
      this.knownWhole = whole
      this.knownMark = mark
      this.wholeHigh = scoreHigh
      this.wholeLow = scoreLow
    }
    return this.mayBeat(this.wholeHigh, this.wholeLow, this.valueOf(doc))
  }
  /** The worst of the best has changed. */
  private raise(): void {
    const { best, classes, one } = this
    const last = best.most - 1
    const high = best.high[last],
      low = best.low[last]
    // Its class is known where it is a document of this segment; 0 rules nothing out.
    this.worstClass = classes !== undefined && best.segments[last] === one.s ? classes[best.docs[last]] : 0
    this.worstTie = best.tie[last]
    if (high === this.worstHigh && low === this.worstLow) return
    this.worstHigh = high
    this.worstLow = low
    for (const mark of seen) {
      chances[mark] = chanceOf(exactHigh[mark], exactLow[mark], high, low)
      plainChances[mark] = chanceOf(plainHigh[mark], plainLow[mark], high, low)
    }
  }
}
const chanceOf = (high: number, low: number, worstHigh: number, worstLow: number): number =>
  high > worstHigh || (high === worstHigh && low > worstLow)
    ? WINS
    : high === worstHigh && low === worstLow
      ? TIES
      : LOSES
/** `tokens_matched`: the words of the combination, and those of the dropped ones that the mark has. */
export const tokensOf = ({ lists, rules: { matchedTokens = 0 }, words }: Pending, mark: number): number => {
  let tokens = words,
    last = -1
  for (let bit = 0; bit < lists.length; bit++) {
    const { word } = lists[bit]
    if (word < words || word === last || (mark & (1 << bit)) === 0) continue
    last = word
    tokens++
  }
  return Math.min(15, Math.max(matchedTokens, tokens))
}
/**
 * The highest record score of a document with this mark whose `whole` fields (by bit) may consist of the words, in
 * `scoreHigh` and `scoreLow`.
 */
const bound = (
  one: Pending,
  mark: number,
  weights: ReadonlyArray<number>,
  countFields: boolean,
  held: Int32Array,
  whole: number
): void => {
  const { lists, cost, mayBeExact, repeats, rules } = one
  held.fill(0)
  for (let bit = 0; bit < lists.length; bit++) if ((mark & (1 << bit)) !== 0) held[lists[bit].field]++
  let best = 0,
    weight = 0,
    fields = 0
  for (let field = 0; field < held.length; field++) {
    if (held[field] === 0) continue
    fields++
    const score = fieldScoreBound(
      held[field],
      cost,
      repeats,
      (whole & (1 << (field & 31))) !== 0 && (held[field] > 1 || mayBeExact),
      rules
    )
    if (score > best || (score === best && weights[field] > weight)) {
      best = score
      weight = weights[field]
    }
  }
  composeMaxScore(tokensOf(one, mark), best, weight, countFields ? Math.min(7, fields) : 0)
}
const heldFields = (held: Int32Array): number => {
  let fields = 0
  for (let field = 0; field < held.length; field++) if (held[field] > 0) fields++
  return fields
}
const richestField = ({ lists }: Pending, mark: number, held: Int32Array): number => {
  let most = 1,
    richestSoFar = -1
  for (let field = 0; field < held.length; field++) {
    if (held[field] > most) {
      most = held[field]
      richestSoFar = field
    } else if (held[field] === most) richestSoFar = -1
  }
  if (richestSoFar < 0 || most > WINDOW) return 0
  let bits = 0
  for (let bit = 0; bit < lists.length; bit++) {
    if ((mark & (1 << bit)) === 0 || lists[bit].field !== richestSoFar) continue
    if (lists[bit].column.isArray) return 0
    bits |= 1 << bit
  }
  return bits
}
/**
 * The score of the richest field, which decides the record score: more words always beat fewer. -1 where a word stands
 * there several times or not all words fit one window, which takes the whole computation.
 */
const scoreRichest = ({ cost, docs, lists, rules }: Pending, i: number, bits: number): number => {
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
  return scoreOnce(
    words,
    cost,
    last - first,
    lists[bit].column.lengths![docs[i]] === words && last === words - 1,
    last,
    rules
  )
}
const ALL_FIELDS = -1
/**
 * Fields (by bit) where some document with the words may have a value of as many words as were found: a bound by the
 * shortest values of each word.
 */
const possiblyWhole = ({ lists }: Pending, mark: number): number => {
  let whole = 0,
    impossible = 0
  for (let bit = 0; bit < lists.length; bit++) {
    if ((mark & (1 << bit)) === 0) continue
    const { column, field, term } = lists[bit]
    let words = 0
    for (let other = 0; other < lists.length; other++)
      if ((mark & (1 << other)) !== 0 && lists[other].field === field) words++
    whole |= 1 << (field & 31)
    if (column.shortestOf(term) > words) impossible |= 1 << (field & 31)
  }
  return whole & ~impossible
}
/** Fields (by bit) of the document with a value of as many words as were found in the field. */
const wholeFields = ({ lists }: Pending, mark: number, doc: number): number => {
  let whole = 0
  for (let bit = 0; bit < lists.length; bit++) {
    if ((mark & (1 << bit)) === 0) continue
    const { column, field } = lists[bit]
    const own = 1 << (field & 31)
    if ((whole & own) !== 0) continue
    let words = 0
    for (let other = 0; other < lists.length; other++)
      if ((mark & (1 << other)) !== 0 && lists[other].field === field) words++
    if (column.lengths !== undefined) {
      if (column.lengths[doc] === words || words > WINDOW) whole |= own
      continue
    }
    // An element may consist of fewer of the words than the field holds.
    for (let e = column.elementStarts![doc], end = column.elementStarts![doc + 1]; e < end; e++)
      if (column.elementLengths![e] <= words) whole |= own
  }
  return whole
}
