/**
 * Sums by item, computed afresh for each answer, in arrays as long as the largest catalogue seen, of which only the
 * entries used are cleared. The best are selected by a heap, O(items touched x log most).
 */
export class Scores {
  values = new Float64Array(1_024)
  readonly touched: Array<number> = []
  add(item: number, score: number): void {
    if (item >= this.values.length) {
      const more = new Float64Array(2 ** Math.ceil(Math.log2(item + 1)))
      more.set(this.values)
      this.values = more
    }
    if (this.values[item] === 0) this.touched.push(item)
    this.values[item] += score
  }
  of(item: number): number {
    return item < this.values.length ? this.values[item] : 0
  }
  get max(): number {
    let max = 0
    for (const item of this.touched) if (this.values[item] > max) max = this.values[item]
    return max
  }
  clear(): void {
    for (const item of this.touched) this.values[item] = 0
    this.touched.length = 0
  }
}

/** An item with its score and evidence. */
export interface Scored {
  readonly item: number
  readonly score: number
  /** Number of sessions or baskets that contain it together with a seed, and how many times more than by chance. */
  readonly support?: number
  readonly lift?: number
}
/** By score, then by item, so that the same state gives the same order. */
const byScore = (a: Scored, b: Scored): number => b.score - a.score || a.item - b.item

/** The best items, in order. A heap of `most` entries, because a popular item has thousands of partners. */
export class Best {
  readonly #most: number
  readonly #heap: Array<Scored> = []
  constructor(most: number) {
    this.#most = most
  }
  /** The score that a new item must exceed; -Infinity until the heap is full. */
  get bar(): number {
    return this.#heap.length < this.#most ? -Infinity : this.#heap[0].score
  }
  offer(scored: Scored): void {
    const heap = this.#heap
    if (heap.length < this.#most) {
      heap.push(scored)
      for (let i = heap.length - 1; i > 0;) {
        const parent = (i - 1) >>> 1
        if (byScore(heap[i], heap[parent]) <= 0) break
        ;[heap[i], heap[parent]] = [heap[parent], heap[i]]
        i = parent
      }
      return
    }
    if (this.#most === 0 || byScore(scored, heap[0]) >= 0) return
    heap[0] = scored
    for (let i = 0; ;) {
      const left = 2 * i + 1
      let worst = i
      if (left < heap.length && byScore(heap[left], heap[worst]) > 0) worst = left
      if (left + 1 < heap.length && byScore(heap[left + 1], heap[worst]) > 0) worst = left + 1
      if (worst === i) return
      ;[heap[i], heap[worst]] = [heap[worst], heap[i]]
      i = worst
    }
  }
  sorted(): Array<Scored> {
    return [...this.#heap].sort(byScore)
  }
}
