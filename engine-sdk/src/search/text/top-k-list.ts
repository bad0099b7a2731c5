/**
 * The k best documents so far, best first. It uses columns of numbers instead of objects, because a search offers
 * thousands of documents, and most offers change nothing.
 */

/** Longer lists are not kept. */
const KEPT_MAX = 1_024
let spare: TopKList | undefined
/** An empty list of this length. Searches do not overlap, so it is valid until the next one is requested. */
export const topKListOf = (k: number): TopKList => {
  if (k > KEPT_MAX) return new TopKList(k)
  if (spare === undefined || spare.high.length < k) spare = new TopKList(k)
  spare.k = k
  spare.size = 0
  return spare
}

/** Ordered by text score in two halves, then by the tie value. */
export class TopKList {
  k: number
  readonly high: Float64Array
  readonly low: Float64Array
  readonly tie: Float64Array
  readonly segments: Uint32Array
  readonly docs: Uint32Array
  size = 0
  constructor(k: number) {
    this.k = k
    this.high = new Float64Array(k)
    this.low = new Float64Array(k)
    this.tie = new Float64Array(k)
    this.segments = new Uint32Array(k)
    this.docs = new Uint32Array(k)
  }
  get isFull(): boolean {
    return this.size === this.k
  }
  /** Removes a document: it may be in the list only once, with its latest score. */
  remove(s: number, doc: number): void {
    for (let i = 0; i < this.size; i++) {
      if (this.docs[i] !== doc || this.segments[i] !== s) continue
      for (const cells of [this.high, this.low, this.tie, this.segments, this.docs])
        cells.copyWithin(i, i + 1, this.size)
      this.size--
      return
    }
  }
  /** Returns false if the document is not among the best. */
  offer(s: number, doc: number, high: number, low: number, tie: number): boolean {
    let at = this.size
    if (at === this.k) {
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
