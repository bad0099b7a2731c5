/**
 * Scoring only what can still be shown. Matching marks, for every document, which word stands in which field; that alone
 * bounds the score a document can reach, so positions are read for the few documents whose bound, together with what the
 * order looks at next, beats the best ones known so far. Everything else is found and counted without a score.
 */
import { andInto, bitsOf, countBits, type Bits, type ReadonlyBits } from "../index/bits.ts"
import { SPILLED, type TextColumn } from "../index/columns.ts"
import { composeMaxScore, fieldScoreBound, scoreHigh, scoreLow, scoreOnce, WINDOW, type ScoreRules } from "./field-score.ts"

/** What decides between equal text scores in a segment: `sign · first[doc]`, `absent` where there is none. */
export interface TieColumn { readonly sign: number; readonly first: ArrayLike<number>; readonly has?: Bits; readonly absent: number; /** A byte per document that grows with its value: most comparisons end there. */ readonly classes?: Uint8Array }
/** How many documents must be scored exactly, and per segment what decides ties (undefined: something that is not looked at here). */
export interface Wanted { readonly most: number; readonly ties: ReadonlyArray<TieColumn | undefined> }

/** Bits a document's mark may have: word and field pairs of one combination. */
export const MARKS_MAX = 16
/** A long list is searched per candidate where it is this many times longer than the candidates. */
const GALLOP_FACTOR = 24

/** One word in one field of one segment. */
export interface MarkedList { readonly word: number; readonly field: number; readonly column: TextColumn; readonly term: number }
/** Matches of one combination of words in one segment, not scored yet. */
export interface Pending {
  readonly s: number
  /** In the order of words, and of fields within a word; the place is the bit of a mark. */ readonly lists: ReadonlyArray<MarkedList>
  readonly words: number
  readonly cost: number
  readonly mayBeExact: boolean
  /** Two words are the same: their places may coincide. */ readonly repeats: boolean
  readonly tokens: number
  readonly rules: ScoreRules & { readonly matchedTokens: number | undefined }
  readonly docs: Uint32Array
}

/**
 * Documents that hold every word in some field, ascending; undefined when there are none. Lists are read in their order
 * and sets of bits stay in the nearest caches, so nothing here touches memory at random. Cost: the postings of all words,
 * or of the rarest word alone where that is far shorter.
 */
export const matchingDocs = (lists: ReadonlyArray<MarkedList>, words: number, allowed: ReadonlyBits | undefined, docsOfSegment: number): Uint32Array | undefined => {
  const sizes = new Float64Array(words)
  for (const { column, term, word } of lists) sizes[word] += column.frequency(term)
  let lead = 0
  for (let word = 1; word < words; word++) if (sizes[word] < sizes[lead]) lead = word
  if (lists.length === 1 && allowed === undefined) {
    const { column, term } = lists[0]
    return column.docs.subarray(column.starts[term], column.starts[term + 1])
  }
  const isSparse = sizes[lead] * SPARSE_FACTOR < docsOfSegment
  if (!isSparse) {
    if (spare[0].length * 32 < docsOfSegment) spare = [bitsOf(docsOfSegment), bitsOf(docsOfSegment)]
    const size = (docsOfSegment + 31) >>> 5
    const bits = spare[0].subarray(0, size), other = spare[1].subarray(0, size)
    const alone = onlyListOf(lists, lead)
    if (alone !== undefined) {
      // Its documents are in order already: they are looked up in the other sets, and no set has to be read out.
      let within: Bits | undefined
      for (let word = 0; word < words; word++) {
        if (word === lead || sizes[word] > sizes[lead] * GALLOP_FACTOR) continue
        within = within === undefined ? unionInto(bits, lists, word) : andInto(within, unionInto(other, lists, word))
      }
      const { column: { docs: postings, starts }, term } = alone
      let docs = postings.subarray(starts[term], starts[term + 1])
      if (within !== undefined) docs = docsIn(docs, allowed === undefined ? within : andInto(within, allowed))
      else if (allowed !== undefined) docs = docsIn(docs, allowed)
      for (let word = 0; word < words; word++) if (word !== lead && sizes[word] > sizes[lead] * GALLOP_FACTOR) docs = docsWith(docs, lists, word, undefined)
      return docs.length === 0 ? undefined : docs
    }
    unionInto(bits, lists, lead)
    if (allowed !== undefined) andInto(bits, allowed)
    for (let word = 0; word < words; word++) if (word !== lead && sizes[word] <= sizes[lead] * GALLOP_FACTOR) andInto(bits, unionInto(other, lists, word))
    let docs = listOf(bits, Math.min(docsOfSegment, sizes[lead]))
    for (let word = 0; word < words; word++) if (word !== lead && sizes[word] > sizes[lead] * GALLOP_FACTOR) docs = docsWith(docs, lists, word, undefined)
    return docs.length === 0 ? undefined : docs
  }
  let docs: Uint32Array = sortedUnion(lists, lead)
  for (let word = 0; word < words; word++) if (word !== lead || allowed !== undefined) docs = docsWith(docs, lists, word === lead ? -1 : word, allowed)
  return docs.length === 0 ? undefined : docs
}
const onlyListOf = (lists: ReadonlyArray<MarkedList>, word: number): MarkedList | undefined => {
  let only: MarkedList | undefined
  for (const list of lists) {
    if (list.word !== word) continue
    if (only !== undefined) return undefined
    only = list
  }
  return only
}
/** Those of `docs` that are in the set. Without a branch: which are is anybody's guess. */
const docsIn = (docs: Uint32Array, bits: ReadonlyBits): Uint32Array => {
  const kept = new Uint32Array(docs.length)
  let n = 0
  for (let i = 0; i < docs.length; i++) {
    const doc = docs[i]
    kept[n] = doc
    n += (bits[doc >>> 5] >>> (doc & 31)) & 1
  }
  return kept.subarray(0, n)
}
/** Candidates of this share of a segment are kept as numbers instead of bits. */
const SPARSE_FACTOR = 64
/** Reused by every search: they do not overlap. */
let spare: [Bits, Bits] = [bitsOf(0), bitsOf(0)]
const unionInto = (bits: Bits, lists: ReadonlyArray<MarkedList>, word: number): Bits => {
  bits.fill(0)
  for (const list of lists) {
    if (list.word !== word) continue
    const { docs, starts } = list.column
    for (let p = starts[list.term], end = starts[list.term + 1]; p < end; p++) { const doc = docs[p]; bits[doc >>> 5] |= 1 << (doc & 31) }
  }
  return bits
}
/** The numbers of the set bits, ascending. `most`: there are not more. */
export const listOf = (bits: Bits, most = countBits(bits)): Uint32Array => {
  const docs = new Uint32Array(most)
  let n = 0
  for (let w = 0; w < bits.length; w++) {
    let word = bits[w]
    while (word !== 0) {
      const low = word & -word
      word ^= low
      docs[n++] = (w << 5) + 31 - Math.clz32(low)
    }
  }
  return n === most ? docs : docs.subarray(0, n)
}
const sortedUnion = (lists: ReadonlyArray<MarkedList>, word: number): Uint32Array => {
  let all: Uint32Array | undefined
  for (const list of lists) {
    if (list.word !== word) continue
    const { docs, starts } = list.column
    const own = docs.subarray(starts[list.term], starts[list.term + 1])
    all = all === undefined ? own : mergeSorted(all, own)
  }
  return all ?? new Uint32Array(0)
}
const mergeSorted = (a: Uint32Array, b: Uint32Array): Uint32Array => {
  const merged = new Uint32Array(a.length + b.length)
  let n = 0, i = 0, j = 0
  while (i < a.length && j < b.length) {
    const x = a[i], y = b[j]
    merged[n++] = x < y ? x : y
    if (x <= y) i++
    if (y <= x) j++
  }
  while (i < a.length) merged[n++] = a[i++]
  while (j < b.length) merged[n++] = b[j++]
  return merged.subarray(0, n)
}
/** Those of `docs` that are allowed and that one of the word's lists holds (word -1: no word is asked for). */
const docsWith = (docs: Uint32Array, lists: ReadonlyArray<MarkedList>, word: number, allowed: ReadonlyBits | undefined): Uint32Array => {
  const kept = new Uint32Array(docs.length)
  const own = lists.filter((list) => list.word === word)
  const at = own.map(({ column, term }) => column.starts[term]), ends = own.map(({ column, term }) => column.starts[term + 1])
  let n = 0
  for (let i = 0; i < docs.length; i++) {
    const doc = docs[i]
    if (allowed !== undefined && (allowed[doc >>> 5] & (1 << (doc & 31))) === 0) continue
    let isHere = word < 0
    for (let l = 0; l < own.length; l++) {
      const from = own[l].column.docs
      at[l] = firstFrom(from, at[l], ends[l], doc)
      if (at[l] < ends[l] && from[at[l]] === doc) isHere = true
    }
    if (isHere) kept[n++] = doc
  }
  return kept.subarray(0, n)
}
/** The first posting at or behind `doc`, galloping from `at`. */
const firstFrom = (docs: Uint32Array, at: number, end: number, doc: number): number => {
  if (at >= end || docs[at] >= doc) return at
  let step = 1
  while (at + step < end && docs[at + step] < doc) { at += step; step *= 2 }
  let high = Math.min(at + step, end)
  at++
  while (at < high) { const middle = (at + high) >>> 1; if (docs[middle] < doc) at = middle + 1; else high = middle }
  return at
}
/** Sets the documents' bits; answers how many were not set before. */
export const addDocs = (docs: Uint32Array, found: Bits): number => {
  let fresh = 0
  for (let i = 0; i < docs.length; i++) {
    const doc = docs[i], w = doc >>> 5, bit = 1 << (doc & 31), before = found[w]
    if ((before & bit) === 0) { found[w] = before | bit; fresh++ }
  }
  return fresh
}

/** Postings of the pending matches at hand, a row per document with a cell per list, and the marks of the documents. */
export let postingRows = new Uint32Array(1 << 14)
let marks = new Uint16Array(1 << 12)
/** A list is looked through per document where it is this many times longer than the documents. */
const LONG_LIST_FACTOR = 8
/** Marks of all documents. Cost: a pass over the lists and one over the documents for each. */
const markDocs = (lists: ReadonlyArray<MarkedList>, docs: Uint32Array, docsOfSegment: number): void => {
  const n = docs.length
  if (marks.length < n) marks = new Uint16Array(n * 2)
  marks.fill(0, 0, n)
  for (let bit = 0; bit < lists.length; bit++) {
    const { column: { docs: from, starts }, term } = lists[bit]
    const start = starts[term], end = starts[term + 1]
    if (n * SPARSE_FACTOR < docsOfSegment || end - start > n * LONG_LIST_FACTOR) { walk(from, start, end, docs, bit, lists.length); continue }
    markIn(setOf(from, start, end, docsOfSegment), docs, bit, marks)
  }
}
/** Marks and rows of the documents of one list, galloping through it where it is much longer. */
const walk = (from: Uint32Array, start: number, end: number, docs: Uint32Array, bit: number, width: number): void => {
  const rows = postingRows, all = marks, n = docs.length
  const isLong = end - start > n * LONG_LIST_FACTOR
  for (let i = 0, p = start; i < n && p < end; i++) {
    const doc = docs[i]
    if (isLong) p = firstFrom(from, p, end, doc)
    else while (p < end && from[p] < doc) p++
    if (p < end && from[p] === doc) {
      all[i] |= 1 << bit
      rows[i * width + bit] = p++
    }
  }
}
/** Both for all documents. */
const walkAll = (lists: ReadonlyArray<MarkedList>, docs: Uint32Array): void => {
  if (marks.length < docs.length) marks = new Uint16Array(docs.length * 2)
  marks.fill(0, 0, docs.length)
  for (let bit = 0; bit < lists.length; bit++) {
    const { column: { docs: from, starts }, term } = lists[bit]
    walk(from, starts[term], starts[term + 1], docs, bit, lists.length)
  }
}
const setOf = (docs: Uint32Array, from: number, end: number, docsOfSegment: number): Bits => {
  if (spare[0].length * 32 < docsOfSegment) spare = [bitsOf(docsOfSegment), bitsOf(docsOfSegment)]
  const bits = spare[0]
  bits.fill(0, 0, (docsOfSegment + 31) >>> 5)
  for (let p = from; p < end; p++) { const doc = docs[p]; bits[doc >>> 5] |= 1 << (doc & 31) }
  return bits
}
/** Without a branch: which documents a list holds is anybody's guess. */
const markIn = (bits: Bits, docs: Uint32Array, bit: number, into: Uint16Array): void => {
  for (let i = 0; i < docs.length; i++) { const doc = docs[i]; into[i] |= ((bits[doc >>> 5] >>> (doc & 31)) & 1) << bit }
}

/** Documents whose rows are not worth looking up one by one. */
const FEW_DOCS = 4_096
/** The share of the documents that are looked up one by one; then a pass fills the rows of all. */
const SINGLE_ROWS_SHARE = 32
/** Marks and postings of the documents at hand. Of many documents few are scored: their postings are looked up when they are asked for. */
class Rows {
  private readonly one: Pending
  /** Documents that are the only list itself: a posting is known by its place. */ private readonly isList: boolean
  private left: number
  constructor(one: Pending, docsOfSegment: number) {
    const { docs, lists, words } = one
    this.one = one
    this.isList = lists.length === 1 && docs.length === lists[0].column.frequency(lists[0].term)
    this.left = Math.floor(docs.length / SINGLE_ROWS_SHARE)
    if (postingRows.length < docs.length * lists.length) postingRows = new Uint32Array(docs.length * lists.length * 2)
    // Where every word has one list, every document is in all of them, and nothing has to be marked.
    if (lists.length > words) {
      if (docs.length > FEW_DOCS) markDocs(lists, docs, docsOfSegment)
      else { walkAll(lists, docs); this.left = -1 }
    } else if (docs.length <= FEW_DOCS) this.left = 0
  }
  /** Cells of lists that miss the document hold anything. */
  fill(i: number): void {
    const { docs, lists } = this.one
    if (this.isList) { postingRows[i] = lists[0].column.starts[lists[0].term] + i; return }
    if (this.left < 0) return
    if (this.left-- === 0) return walkAll(lists, docs)
    const width = lists.length
    for (let bit = 0; bit < width; bit++) postingRows[i * width + bit] = lists[bit].column.posting(lists[bit].term, docs[i])
  }
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
  get isFull(): boolean { return this.size === this.most }
  /** A document stands here once, with its latest score. */
  remove(s: number, doc: number): void {
    for (let i = 0; i < this.size; i++) {
      if (this.docs[i] !== doc || this.segments[i] !== s) continue
      for (const cells of [this.high, this.low, this.tie, this.segments, this.docs]) cells.copyWithin(i, i + 1, this.size)
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

/** By mark of the combination at hand: bounds without and with whole fields, and what they are worth beside the worst of the best. */
const BOUNDS = 1 << MARKS_MAX
const plainHigh = new Float64Array(BOUNDS), plainLow = new Float64Array(BOUNDS), exactHigh = new Float64Array(BOUNDS), exactLow = new Float64Array(BOUNDS)
/** Where one plain field holds more of the words than any other, its lists by bit, and how many fields hold any; else 0. */
const richest = new Uint16Array(BOUNDS), fieldCounts = new Uint8Array(BOUNDS)
const UNSEEN = 0, LOSES = 1, TIES = 2, WINS = 3
const chances = new Uint8Array(BOUNDS), isTop = new Uint8Array(BOUNDS)
/** The marks that are there: their cells are cleared when the combination is done. */
const seen: number[] = []

export interface Scored { readonly high: Float64Array; readonly low: Float64Array; readonly scored: Bits; readonly view: { readonly segment: { readonly docs: number } }; /** Where only the best are scored: the documents of `scored`, in no order. */ readonly scoredDocs?: number[] | undefined }
type Score = (pending: Pending, i: number, mark: number) => void

/**
 * Scores every pending document that may be among the `most` best into the segment's cells; `score` composes the score
 * of one from its row of postings. What is left out is certain to be worse than `most` others. Cost: a pass over all
 * documents for their marks, and one that drops nearly all of them by their mark alone.
 */
export const scoreBest = (pending: ReadonlyArray<Pending>, wanted: Wanted, matches: ReadonlyArray<Scored>, weights: ReadonlyArray<number>, countFields: boolean, score: Score): void => {
  if (wanted.most === 0) return
  const best = new BestScores(wanted.most)
  const last = best.most - 1
  const held = new Int32Array(weights.length)
  const bounded = pending.map((one) => { bound(one, (1 << one.lists.length) - 1, weights, countFields, held, ALL_FIELDS); return { one, high: scoreHigh, low: scoreLow } })
  for (const { one, high, low } of bounded.sort((a, b) => b.high - a.high || b.low - a.low)) {
    if (best.isFull && (high < best.high[last] || (high === best.high[last] && low < best.low[last]))) return
    try {
      const rows = new Rows(one, matches[one.s].view.segment.docs)
      if (one.lists.length === one.words) boundMark(one, (1 << one.words) - 1, weights, countFields, held)
      else boundMarks(one, weights, countFields, held)
      const contest = new Contest(one, rows, best, wanted.ties[one.s], matches[one.s], weights, countFields, held, score)
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
  let topHigh = -1, topLow = 0
  const own = marks
  for (let i = 0, n = one.docs.length; i < n; i++) {
    const mark = own[i]
    if (chances[mark] !== UNSEEN) continue
    boundMark(one, mark, weights, countFields, held)
    if (plainHigh[mark] > topHigh || (plainHigh[mark] === topHigh && plainLow[mark] > topLow)) { topHigh = plainHigh[mark]; topLow = plainLow[mark] }
  }
  for (const mark of seen) if (plainHigh[mark] === topHigh && plainLow[mark] === topLow) isTop[mark] = 1
}

const boundMark = (one: Pending, mark: number, weights: ReadonlyArray<number>, countFields: boolean, held: Int32Array): void => {
  chances[mark] = WINS
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
  private readonly rows: Rows
  private readonly classes: Uint8Array | undefined
  /** A class is below that of the worst of the best: its values are, too. */ private worstClass = 0
  private worstHigh = -1
  private worstLow = 0
  private knownWhole = -1
  private knownMark = -1
  private wholeHigh = 0
  private wholeLow = 0
  constructor(one: Pending, rows: Rows, best: BestScores, tie: TieColumn | undefined, cells: Scored, weights: ReadonlyArray<number>, countFields: boolean, held: Int32Array, score: Score) {
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
    const { classes, one: { docs } } = this
    const own = marks
    for (let i = docs.length - 1; i >= 0; i--) {
      const mark = own[i], chance = chances[mark]
      // Most documents of a large result lose by their mark and a glance at what decides ties.
      if (chance === LOSES || isTop[mark] !== top) continue
      if (chance === TIES && classes !== undefined && classes[docs[i]] < this.worstClass) continue
      this.consider(i, mark)
    }
  }
  /** All documents have one mark, so it is decided for all of them at once whether any of the rest can still be among the best. */
  runAlike(mark: number): void {
    const { classes, one: { docs } } = this
    for (let i = docs.length - 1; i >= 0; i--) {
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
    const { best, one, tie } = this
    const doc = one.docs[i]
    const value = tie === undefined ? Infinity : tie.has !== undefined && (tie.has[doc >>> 5] & (1 << (doc & 31))) === 0 ? tie.absent : tie.sign * tie.first[doc]
    if (best.isFull && !this.mayBeat(exactHigh[mark], exactLow[mark], value)) return
    // Only fields that are as long as their words are many get the exact bit.
    if (best.isFull && !this.mayBeat(plainHigh[mark], plainLow[mark], value) && !this.mayBeatWhole(mark, doc, value)) return
    this.rows.fill(i)
    if (richest[mark] === 0 || !scoreRichest(one, i, mark, this.weights)) this.score(one, i, mark)
    const high = scoreHigh, low = scoreLow
    // Certain to be worse than all of the best: its score is of no use.
    if (best.isFull && !this.mayBeat(high, low, value)) return
    const { cells } = this
    const w = doc >>> 5, bit = 1 << (doc & 31)
    const wasScored = (cells.scored[w] & bit) !== 0
    if (wasScored && (high < cells.high[doc] || (high === cells.high[doc] && low <= cells.low[doc]))) return
    if (wasScored) best.remove(one.s, doc)
    else cells.scoredDocs?.push(doc)
    cells.scored[w] |= bit
    cells.high[doc] = high
    cells.low[doc] = low
    if (best.offer(one.s, doc, high, low, tie === undefined ? -Infinity : value) && best.isFull) this.raise()
  }
  private mayBeat(high: number, low: number, tie: number): boolean {
    return high > this.worstHigh || (high === this.worstHigh && (low > this.worstLow || (low === this.worstLow && tie >= this.best.tie[this.best.most - 1])))
  }
  private mayBeatWhole(mark: number, doc: number, tie: number): boolean {
    const whole = wholeFields(this.one, mark, doc)
    if (whole === 0) return false
    if (whole !== this.knownWhole || mark !== this.knownMark) {
      bound(this.one, mark, this.weights, this.countFields, this.held, whole)
      this.knownWhole = whole
      this.knownMark = mark
      this.wholeHigh = scoreHigh
      this.wholeLow = scoreLow
    }
    return this.mayBeat(this.wholeHigh, this.wholeLow, tie)
  }
  /** The worst of the best has changed. */
  private raise(): void {
    const { best, classes, one } = this
    const last = best.most - 1
    const high = best.high[last], low = best.low[last]
    // Its class is known where it is a document of this segment; 0 rules nothing out.
    this.worstClass = classes !== undefined && best.segments[last] === one.s ? classes[best.docs[last]] : 0
    if (high === this.worstHigh && low === this.worstLow) return
    this.worstHigh = high
    this.worstLow = low
    for (const mark of seen) chances[mark] = exactHigh[mark] > high || (exactHigh[mark] === high && exactLow[mark] > low) ? WINS : exactHigh[mark] === high && exactLow[mark] === low ? TIES : LOSES
  }
}
/** The highest record score of a document with this mark whose `whole` fields (by bit) may consist of the words, in `scoreHigh` and `scoreLow`. */
const bound = ({ lists, cost, mayBeExact, repeats, tokens, rules }: Pending, mark: number, weights: ReadonlyArray<number>, countFields: boolean, held: Int32Array, whole: number): void => {
  held.fill(0)
  for (let bit = 0; bit < lists.length; bit++) if ((mark & (1 << bit)) !== 0) held[lists[bit].field]++
  let best = 0, weight = 0, fields = 0
  for (let field = 0; field < held.length; field++) {
    if (held[field] === 0) continue
    fields++
    const score = fieldScoreBound(held[field], cost, repeats, (whole & (1 << (field & 31))) !== 0 && (held[field] > 1 || mayBeExact), rules)
    if (score > best || (score === best && weights[field] > weight)) { best = score; weight = weights[field] }
  }
  composeMaxScore(tokens, best, weight, countFields ? Math.min(7, fields) : 0)
}
const heldFields = (held: Int32Array): number => { let fields = 0; for (let field = 0; field < held.length; field++) if (held[field] > 0) fields++; return fields }
const richestField = ({ lists }: Pending, mark: number, held: Int32Array): number => {
  let most = 1, richestSoFar = -1
  for (let field = 0; field < held.length; field++) {
    if (held[field] > most) { most = held[field]; richestSoFar = field }
    else if (held[field] === most) richestSoFar = -1
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
 * The record score out of the richest field alone, in `scoreHigh` and `scoreLow`: more words always beat fewer. False
 * where a word stands there several times or not all words fit one window, which takes the whole computation.
 */
const scoreRichest = ({ cost, docs, lists, rules, tokens }: Pending, i: number, mark: number, weights: ReadonlyArray<number>): boolean => {
  const bits = richest[mark], row = i * lists.length
  let first = SPILLED, last = -1, words = 0, bit = 0
  for (let rest = bits; rest !== 0; rest &= rest - 1) {
    bit = 31 - Math.clz32(rest & -rest)
    const loc = lists[bit].column.locs[postingRows[row + bit]]
    if (loc >= SPILLED) return false
    if (loc < first) first = loc
    if (loc > last) last = loc
    words++
  }
  if (last - first > WINDOW) return false
  const { column, field } = lists[bit]
  composeMaxScore(tokens, scoreOnce(words, cost, last - first, column.lengths![docs[i]] === words && last === words - 1, last, rules), weights[field], fieldCounts[mark])
  return true
}
const ALL_FIELDS = -1
/** Fields (by bit) where some document with the words may have a value of as many words as were found: a bound by the shortest values of each word. */
const possiblyWhole = ({ lists }: Pending, mark: number): number => {
  let whole = 0, impossible = 0
  for (let bit = 0; bit < lists.length; bit++) {
    if ((mark & (1 << bit)) === 0) continue
    const { column, field, term } = lists[bit]
    let words = 0
    for (let other = 0; other < lists.length; other++) if ((mark & (1 << other)) !== 0 && lists[other].field === field) words++
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
    for (let other = 0; other < lists.length; other++) if ((mark & (1 << other)) !== 0 && lists[other].field === field) words++
    if (column.lengths !== undefined) { if (column.lengths[doc] === words || words > WINDOW) whole |= own; continue }
    // An element may consist of fewer of the words than the field holds.
    for (let e = column.elementStarts![doc], end = column.elementStarts![doc + 1]; e < end; e++) if (column.elementLengths![e] <= words) whole |= own
  }
  return whole
}
