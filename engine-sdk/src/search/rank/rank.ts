/**
 * The best documents in order: a bounded heap of doubles per segment, then one merge. The last tie is broken by newest
 * first (`docs/contract/sorting.md#effective-keys`).
 */
import type { SortKey } from "../../plan.ts"
import { compareUtf8 } from "../../index/bytes.ts"
import { hasBit, type Bits } from "../../index/bits.ts"
import type { KeyColumn } from "./sort-keys.ts"
import { sortSpending, spend } from "../../budget/cutoff.ts"
import type { SegmentMatches } from "../text/segment-matches.ts"

/** A ranked document: index of its segment, its number in the segment, and its key cells. */
export interface Ranked {
  readonly s: number
  readonly doc: number
  readonly seq: number
  readonly keys: number[]
  /** Texts of string keys by key position. */ texts?: Array<string | undefined>
}

/** Keeps the best `capacity` rows; the root is the worst of them. */
class TopRows {
  readonly docs: Uint32Array
  readonly segments: Uint32Array
  readonly rows: Float64Array
  size = 0
  private readonly capacity: number
  private readonly width: number
  constructor(capacity: number, width: number) {
    this.capacity = capacity
    this.width = width
    this.docs = new Uint32Array(capacity)
    this.segments = new Uint32Array(capacity)
    this.rows = new Float64Array(capacity * width)
  }
  get isFull(): boolean {
    return this.size === this.capacity && this.size > 0
  }
  private isWorse(a: Float64Array, i: number, b: Float64Array, j: number): boolean {
    for (let k = 0; k < this.width; k++) if (a[i + k] !== b[j + k]) return a[i + k] < b[j + k]
    return false
  }
  offer(s: number, doc: number, row: Float64Array): void {
    const { width, rows } = this
    if (this.size === this.capacity) {
      if (this.capacity === 0 || !this.isWorse(rows, 0, row, 0)) return
      this.sift(0, s, doc, row)
      return
    }
    let at = this.size++
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (!this.isWorse(row, 0, rows, parent * width)) break
      this.move(at, parent)
      at = parent
    }
    this.place(at, s, doc, row)
  }
  /** The key cells of a row. */
  keysOf(i: number): number[] {
    const { rows, width } = this,
      keys: number[] = []
    for (let from = i * width, at = from; at < from + width; at++) keys.push(rows[at])
    return keys
  }
  private place(at: number, s: number, doc: number, row: Float64Array): void {
    this.docs[at] = doc
    this.segments[at] = s
    for (let k = 0, to = at * this.width; k < this.width; k++) this.rows[to + k] = row[k]
  }
  private move(to: number, from: number): void {
    const { rows, width } = this
    this.docs[to] = this.docs[from]
    this.segments[to] = this.segments[from]
    for (let k = 0, t = to * width, f = from * width; k < width; k++) rows[t + k] = rows[f + k]
  }
  private sift(from: number, s: number, doc: number, row: Float64Array): void {
    const { width, rows } = this
    let at = from
    for (;;) {
      let child = at * 2 + 1
      if (child >= this.size) break
      if (child + 1 < this.size && this.isWorse(rows, (child + 1) * width, rows, child * width)) child++
      if (!this.isWorse(rows, child * width, row, 0)) break
      this.move(at, child)
      at = child
    }
    this.place(at, s, doc, row)
  }
}

const widthOf = (columns: ReadonlyArray<KeyColumn>): number => {
  let width = 1
  for (const column of columns) width += column.width
  return width
}

/**
 * The best `capacity` documents of `matches` (of those examined in time), best first. The documents in `without`, one
 * set per segment, are left out. O(found · log capacity).
 */
export const rankMatches = (
  matches: ReadonlyArray<SegmentMatches>,
  keys: ReadonlyArray<SortKey>,
  columns: ReadonlyArray<ReadonlyArray<KeyColumn>>,
  capacity: number,
  without?: ReadonlyArray<Bits | undefined>
): Ranked[] => {
  let total = 0
  for (const { count } of matches) total += count
  const size = Math.min(capacity, total)
  // One heap serves all segments, unless keys of different segments can only be compared by their texts or widths.
  const isShared = columns.every(
    (own, s) =>
      matches[s].count === 0 ||
      own.every((column, k) => column.text === undefined && column.width === columns[0][k].width)
  )
  const tops: TopRows[] = []
  let shared: TopRows | undefined
  for (let s = 0; s < matches.length; s++) {
    const match = matches[s],
      own = columns[s]
    if (match.count === 0) continue
    const width = widthOf(own)
    const top = isShared ? (shared ??= new TopRows(size, width)) : new TopRows(Math.min(capacity, match.count), width)
    if (tops[tops.length - 1] !== top) tops.push(top)
    offerAll(top, s, match, own, without?.[s], new Float64Array(width))
  }
  const ranked: Ranked[] = []
  for (const top of tops) {
    for (let i = 0; i < top.size; i++) {
      spend(8)
      const s = top.segments[i]
      ranked.push({
        s,
        doc: top.docs[i],
        seq: matches[s].view.segment.seqs[top.docs[i]],
        keys: top.keysOf(i)
      })
    }
  }
  return sortRanked(ranked, keys, columns).slice(0, capacity)
}
/** Cost, in steps, of writing the keys of a document and finding its position. */
const OFFER_STEPS = 8
const offerAll = (
  top: TopRows,
  s: number,
  match: SegmentMatches,
  own: ReadonlyArray<KeyColumn>,
  excluded: Bits | undefined,
  row: Float64Array
): void => {
  const { seqs } = match.view.segment
  const offer = (doc: number): void => {
    spend(OFFER_STEPS)
    let at = 0
    for (let k = 0; k < own.length; k++) {
      own[k].write(doc, row, at)
      at += own[k].width
    }
    row[at] = seqs[doc]
    top.offer(s, doc, row)
  }
  const arrays = own[0]?.arrays
  const has = arrays?.has,
    second = arrays?.second
  // If only the best were scored, no other document can be among the best.
  const { scored, scoredDocs } = match
  if (scoredDocs !== undefined) {
    for (let i = 0; i < scoredDocs.length; i++) {
      const doc = scoredDocs[i]
      if (spend(1)) return
      if (excluded !== undefined && hasBit(excluded, doc)) continue
      if (arrays !== undefined && has === undefined && top.isFull) {
        const first = arrays.sign * arrays.first[doc]
        if (
          first < top.rows[0] ||
          (second !== undefined && first === top.rows[0] && arrays.sign * second[doc] < top.rows[1])
        )
          continue
      }
      offer(doc)
    }
    return
  }
  for (let w = 0; w < scored.length; w++) {
    let word = scored[w] | 0
    if (spend(4)) return
    if (word === 0) continue
    if (excluded !== undefined) word &= ~excluded[w]
    for (; word !== 0; word &= word - 1) {
      const low = word & -word
      const doc = (w << 5) + 31 - Math.clz32(low)
      // Most documents of a large result already lose by their first key.
      if (arrays !== undefined && top.isFull) {
        const first = has !== undefined && (has[w] & low) === 0 ? arrays.absent : arrays.sign * arrays.first[doc]
        if (
          first < top.rows[0] ||
          (second !== undefined && first === top.rows[0] && arrays.sign * second[doc] < top.rows[1])
        )
          continue
      }
      offer(doc)
    }
  }
}

/** Sorts best first; string keys of different segments are compared by their texts. */
export const sortRanked = (
  ranked: Ranked[],
  keys: ReadonlyArray<SortKey>,
  columns: ReadonlyArray<ReadonlyArray<KeyColumn>>
): Ranked[] => {
  const texts = keys.flatMap((_key, k) => (columns.some((own) => own[k].text !== undefined) ? [k] : []))
  const segments = new Set(ranked.map(({ s }) => s))
  if (texts.length === 0 || segments.size < 2) return sortSpending(ranked, compareRows)
  for (const entry of ranked) {
    spend(16 * texts.length)
    entry.texts = keys.map((_key, k) => columns[entry.s][k].text?.(entry.doc))
  }
  return sortSpending(ranked, (a, b) => {
    let at = 0
    for (let k = 0; k < keys.length; k++) {
      const { width } = columns[a.s][k]
      const x = a.texts![k],
        y = b.texts![k]
      if (x !== undefined && y !== undefined) {
        if (x !== y) return keys[k].order === "desc" ? compareUtf8(y, x) : compareUtf8(x, y)
      } else for (let i = at; i < at + width; i++) if (a.keys[i] !== b.keys[i]) return b.keys[i] > a.keys[i] ? 1 : -1
      at += width
    }
    return b.seq - a.seq
  })
}
const compareRows = (a: Ranked, b: Ranked): number => {
  const n = Math.min(a.keys.length, b.keys.length)
  for (let i = 0; i < n; i++) if (a.keys[i] !== b.keys[i]) return b.keys[i] > a.keys[i] ? 1 : -1
  return b.seq - a.seq
}

/** First cell of each key in a row. */
export const keyOffsets = (columns: ReadonlyArray<KeyColumn>): number[] => {
  const offsets: number[] = []
  let at = 0
  for (const column of columns) {
    offsets.push(at)
    at += column.width
  }
  return offsets
}
