/**
 * Scoring only what can still be shown. Matching marks, for every document, which word stands in which field; that alone
 * bounds the score a document can reach, so positions are read for the few documents whose bound, together with what the
 * order looks at next, beats the best ones known so far. Everything else is found and counted without a score.
 */
import type { Bits } from "../index/bits.ts"
import type { TextColumn } from "../index/columns.ts"
import { composeMaxScore, fieldScoreBound, scoreHigh, scoreLow, WINDOW, type ScoreRules } from "./field-score.ts"

/** What decides between equal text scores in a segment: `sign · first[doc]`, `absent` where there is none. */
export interface TieColumn { readonly sign: number; readonly first: ArrayLike<number>; readonly has?: Bits; readonly absent: number }
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
  /** Undefined where every document has the one mark there is. */ readonly marks: Uint16Array | undefined
  /** Where the rows start in `postingRows`. */ readonly rows: number
  readonly size: number
}

/** Where a document stands among the candidates, plus one; all zero between calls. */
let places = new Uint32Array(0)
/** Postings of all pending matches, a row per document with a cell per list. Searches do not overlap, so one run of memory serves all. */
export let postingRows = new Uint32Array(1 << 14)
let usedRows = 0
/** To be called when pending matches are of no more use. */
export const releaseRows = (): void => { usedRows = 0 }

export interface Marked { readonly docs: Uint32Array; readonly marks: Uint16Array | undefined; /** Where the rows start in `postingRows`. */ readonly rows: number; readonly size: number; /** How many were not in `found` before. */ readonly fresh: number }
/**
 * Documents that hold every word in some field, with their marks; sets their bits in `found`. Cost: the shortest word's
 * postings, and per other list its postings or a search per candidate.
 */
export const markMatches = (lists: ReadonlyArray<MarkedList>, words: number, allowed: Bits | undefined, found: Bits, docsOfSegment: number): Marked => {
  if (lists.length === 1) return markSingle(lists[0], allowed, found)
  if (places.length < docsOfSegment) places = new Uint32Array(docsOfSegment)
  const at = places
  const width = lists.length
  const sizes = new Float64Array(words)
  for (const { column, term, word } of lists) sizes[word] += column.frequency(term)
  let lead = 0
  for (let word = 1; word < words; word++) if (sizes[word] < sizes[lead]) lead = word
  const most = Math.min(sizes[lead], docsOfSegment)
  const rows = reserveRows(most * width)
  const cells = postingRows
  const docs = new Uint32Array(most), marks = new Uint16Array(most)
  let n = 0
  for (let bit = 0; bit < width; bit++) {
    if (lists[bit].word !== lead) continue
    const { column, term } = lists[bit]
    const from = column.docs
    for (let p = column.starts[term], end = column.starts[term + 1]; p < end; p++) {
      const doc = from[p]
      let place = at[doc]
      if (place === 0) {
        if (allowed !== undefined && (allowed[doc >>> 5] & (1 << (doc & 31))) === 0) continue
        docs[n] = doc
        at[doc] = place = ++n
      }
      marks[place - 1] |= 1 << bit
      cells[rows + (place - 1) * width + bit] = p
    }
  }
  for (let bit = 0; bit < width; bit++) if (lists[bit].word !== lead) markList(lists[bit], bit, width, rows, cells, at, docs, marks, n)
  const needed = new Uint16Array(words)
  for (let bit = 0; bit < width; bit++) needed[lists[bit].word] |= 1 << bit
  let size = 0, fresh = 0
  for (let i = 0; i < n; i++) {
    const doc = docs[i], mark = marks[i]
    at[doc] = 0
    let isMatch = true
    for (let word = 0; word < words; word++) if ((mark & needed[word]) === 0) { isMatch = false; break }
    if (!isMatch) continue
    if (size !== i) {
      docs[size] = doc
      marks[size] = mark
      for (let from = rows + i * width, to = rows + size * width, end = from + width; from < end;) cells[to++] = cells[from++]
    }
    size++
    const w = doc >>> 5, bit = 1 << (doc & 31)
    if ((found[w] & bit) === 0) { found[w] |= bit; fresh++ }
  }
  usedRows = rows + size * width
  return { docs, marks, rows, size, fresh }
}
const reserveRows = (count: number): number => {
  if (usedRows + count > postingRows.length) {
    const wider = new Uint32Array(Math.max(usedRows + count, postingRows.length * 2))
    wider.set(postingRows.subarray(0, usedRows))
    postingRows = wider
  }
  return usedRows
}
const markSingle = ({ column, term }: MarkedList, allowed: Bits | undefined, found: Bits): Marked => {
  const start = column.starts[term], end = column.starts[term + 1]
  const docs = allowed === undefined ? column.docs.subarray(start, end) : new Uint32Array(end - start)
  const rows = reserveRows(end - start)
  const cells = postingRows
  let size = 0, fresh = 0
  for (let p = start; p < end; p++) {
    const doc = column.docs[p], w = doc >>> 5, bit = 1 << (doc & 31)
    if (allowed !== undefined) {
      if ((allowed[w] & bit) === 0) continue
      docs[size] = doc
    }
    cells[rows + size++] = p
    if ((found[w] & bit) === 0) { found[w] |= bit; fresh++ }
  }
  usedRows = rows + size
  return { docs, marks: undefined, rows, size, fresh }
}
/** Adds a list's bit to every candidate that it holds. */
const markList = ({ column, term }: MarkedList, bit: number, width: number, rows: number, cells: Uint32Array, places: Uint32Array, candidates: Uint32Array, marks: Uint16Array, n: number): void => {
  const { docs } = column
  const start = column.starts[term], end = column.starts[term + 1]
  if (end - start <= n * GALLOP_FACTOR) {
    for (let p = start; p < end; p++) {
      const place = places[docs[p]]
      if (place === 0) continue
      marks[place - 1] |= 1 << bit
      cells[rows + (place - 1) * width + bit] = p
    }
    return
  }
  let at = start, before = 0
  for (let i = 0; i < n; i++) {
    const doc = candidates[i]
    // Candidates ascend within each list of the leading word.
    if (doc < before) at = start
    before = doc
    if (at < end && docs[at] < doc) {
      let step = 1
      while (at + step < end && docs[at + step] < doc) { at += step; step *= 2 }
      let high = Math.min(at + step, end)
      at++
      while (at < high) { const middle = (at + high) >>> 1; if (docs[middle] < doc) at = middle + 1; else high = middle }
    }
    if (at < end && docs[at] === doc) {
      marks[i] |= 1 << bit
      cells[rows + i * width + bit] = at
    }
  }
}

/** The best documents so far, best first: text score in two halves, then the tie value. */
class BestScores {
  readonly most: number
  readonly high: Float64Array
  readonly low: Float64Array
  readonly tie: Float64Array
  private readonly keys: Float64Array
  size = 0
  constructor(most: number) {
    this.most = most
    this.high = new Float64Array(most)
    this.low = new Float64Array(most)
    this.tie = new Float64Array(most)
    this.keys = new Float64Array(most)
  }
  get isFull(): boolean { return this.size === this.most }
  /** A document stands here once, with its latest score. */
  remove(key: number): void {
    for (let i = 0; i < this.size; i++) {
      if (this.keys[i] !== key) continue
      for (const cells of [this.high, this.low, this.tie, this.keys]) cells.copyWithin(i, i + 1, this.size)
      this.size--
      return
    }
  }
  offer(key: number, high: number, low: number, tie: number): void {
    let at = this.size
    if (at === this.most) {
      if (!this.isBelow(at - 1, high, low, tie)) return
      at--
    } else this.size++
    for (; at > 0 && this.isBelow(at - 1, high, low, tie); at--) {
      this.high[at] = this.high[at - 1]
      this.low[at] = this.low[at - 1]
      this.tie[at] = this.tie[at - 1]
      this.keys[at] = this.keys[at - 1]
    }
    this.high[at] = high
    this.low[at] = low
    this.tie[at] = tie
    this.keys[at] = key
  }
  private isBelow(i: number, high: number, low: number, tie: number): boolean {
    return this.high[i] !== high ? this.high[i] < high : this.low[i] !== low ? this.low[i] < low : this.tie[i] < tie
  }
}

/** Bounds by mark of the combination at hand; a stamp says whose they are. */
const BOUNDS = 1 << MARKS_MAX
let stamps: Uint32Array | undefined
const plainHigh = new Float64Array(BOUNDS), plainLow = new Float64Array(BOUNDS), exactHigh = new Float64Array(BOUNDS), exactLow = new Float64Array(BOUNDS)
let stamp = 0

export interface Scored { readonly high: Float64Array; readonly low: Float64Array; readonly scored: Bits }

/**
 * Scores every pending document that may be among the `most` best; `score` writes one into the segment's cells. What it
 * leaves out is certain to be worse than `most` others.
 */
export const scoreBest = (pending: ReadonlyArray<Pending>, wanted: Wanted, matches: ReadonlyArray<Scored>, weights: ReadonlyArray<number>, countFields: boolean, score: (pending: Pending, i: number, mark: number) => void): void => {
  if (wanted.most === 0) return
  stamps ??= new Uint32Array(BOUNDS)
  const best = new BestScores(wanted.most)
  const held = new Int32Array(weights.length)
  const bounded = pending.map((one) => { bound(one, (1 << one.lists.length) - 1, weights, countFields, held, ALL_FIELDS); return { one, high: scoreHigh, low: scoreLow } })
  for (const { one, high, low } of bounded.sort((a, b) => b.high - a.high || b.low - a.low)) {
    const last = best.most - 1
    if (best.isFull && (high < best.high[last] || (high === best.high[last] && low < best.low[last]))) return
    const { docs, marks, s, size } = one
    const tie = wanted.ties[s]
    const cells = matches[s]
    let knownWhole = -1, knownMark = -1, wholeHigh = 0, wholeLow = 0
    if (++stamp === 0xffffffff) { stamps.fill(0); stamp = 1 }
    for (let i = 0; i < size; i++) {
      const doc = docs[i], mark = marks === undefined ? 1 : marks[i]
      if (stamps[mark] !== stamp) {
        stamps[mark] = stamp
        bound(one, mark, weights, countFields, held, 0)
        plainHigh[mark] = scoreHigh
        plainLow[mark] = scoreLow
        bound(one, mark, weights, countFields, held, ALL_FIELDS)
        exactHigh[mark] = scoreHigh
        exactLow[mark] = scoreLow
      }
      const value = tie === undefined ? Infinity : tie.has !== undefined && (tie.has[doc >>> 5] & (1 << (doc & 31))) === 0 ? tie.absent : tie.sign * tie.first[doc]
      if (best.isFull) {
        const h = best.high[last], l = best.low[last], t = best.tie[last]
        if (exactHigh[mark] < h || (exactHigh[mark] === h && (exactLow[mark] < l || (exactLow[mark] === l && value < t)))) continue
        // Only fields that are as long as their words are many get the exact bit.
        if (plainHigh[mark] < h || (plainHigh[mark] === h && (plainLow[mark] < l || (plainLow[mark] === l && value < t)))) {
          const whole = wholeFields(one, mark, doc)
          if (whole === 0) continue
          if (whole !== knownWhole || mark !== knownMark) {
            bound(one, mark, weights, countFields, held, whole)
            knownWhole = whole
            knownMark = mark
            wholeHigh = scoreHigh
            wholeLow = scoreLow
          }
          if (wholeHigh < h || (wholeHigh === h && (wholeLow < l || (wholeLow === l && value < t)))) continue
        }
      }
      const w = doc >>> 5, bit = 1 << (doc & 31)
      const wasScored = (cells.scored[w] & bit) !== 0
      const beforeHigh = cells.high[doc], beforeLow = cells.low[doc]
      score(one, i, mark)
      const key = s * 0x100000000 + doc
      if (wasScored) {
        if (cells.high[doc] === beforeHigh && cells.low[doc] === beforeLow) continue
        best.remove(key)
      }
      best.offer(key, cells.high[doc], cells.low[doc], tie === undefined ? -Infinity : value)
    }
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
const ALL_FIELDS = -1
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
