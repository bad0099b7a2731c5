/**
 * The documents that a text search keeps of those it scores: all of them, or only those that can affect the order of a
 * page, plus the best, which get a close look.
 */
import { record as recordScore, type SegmentMatches } from "../text/segment-matches.ts"
import { firstNotBefore } from "../../sorted.ts"

/** Number of best documents that are examined word by word. */
export const CLOSE_LOOK_DOCS = 300
/** Scores on the wire are whole numbers of millionths. */
const SCORE_UNIT = 1e6
/** Scores that differ by less may be equal on the wire; then other keys decide. */
export const SAME_SCORE = 2 / SCORE_UNIT
/** Score of a document that is certainly not among the best that are shown. */
export const UNKNOWN = -1
const TWO_32 = 4294967296

/** A document and its score while the best are reordered. */
export interface Candidate {
  readonly s: number
  readonly doc: number
  score: number
  /** The query's terms that the document has, as bits. */ readonly terms: number
  /** Its index among the kept documents. */ readonly at: number
}

/** Reused from one search to the next. */
let docs = new Uint32Array(0),
  scores = new Float64Array(0),
  bits = new Uint32Array(0)
const grow = (least: number): void => {
  const size = Math.max(least, docs.length * 2, 4_096)
  const more = { docs: new Uint32Array(size), scores: new Float64Array(size), bits: new Uint32Array(size) }
  more.docs.set(docs)
  more.scores.set(scores)
  more.bits.set(bits)
  ;({ docs, scores, bits } = more)
}
/** Indexes of the best, and their scores; the root of the heap is the worst of them. */
const heap = new Uint32Array(CLOSE_LOOK_DOCS),
  heapScores = new Float64Array(CLOSE_LOOK_DOCS)
/** Marks a heap entry that is not filled yet. */
const FREE = 0xffffffff

export class BestDocuments {
  private readonly keepsAll: boolean
  private readonly looksClosely: boolean
  /** Index of the first kept document of each segment. */ private readonly starts: number[] = []
  private count = 0
  get size(): number {
    return this.count
  }
  private bestCount = 0
  /** A document with a lower score can get neither a close look nor onto the page. */ private least = -Infinity
  /** `keepsAll`: the scores of all documents are needed. `looksClosely`: `best` will be called. */
  constructor(keepsAll: boolean, looksClosely: boolean) {
    this.keepsAll = keepsAll
    this.looksClosely = looksClosely
  }
  /** The documents that follow belong to the next segment. */
  beginSegment(): void {
    this.starts.push(this.count)
  }
  offer(doc: number, score: number, terms: number): void {
    if (score < this.least && !this.keepsAll) return
    if (this.count === docs.length) grow(this.count + 1)
    const at = this.count++
    docs[at] = doc
    scores[at] = score
    bits[at] = terms
    if (this.looksClosely) this.push(at, score)
  }
  private push(at: number, score: number): void {
    if (this.bestCount < CLOSE_LOOK_DOCS) {
      heap[this.bestCount] = at
      heapScores[this.bestCount++] = score
      if (this.bestCount === CLOSE_LOOK_DOCS) this.fillHeap()
      return
    }
    if (score <= heapScores[0]) return
    let hole = 0
    for (let child = 1; child < CLOSE_LOOK_DOCS; child = hole * 2 + 1) {
      if (child + 1 < CLOSE_LOOK_DOCS && heapScores[child + 1] < heapScores[child]) child++
      if (heapScores[child] >= score) break
      heap[hole] = heap[child]
      heapScores[hole] = heapScores[child]
      hole = child
    }
    heap[hole] = at
    heapScores[hole] = score
    this.least = heapScores[0] - SAME_SCORE
  }
  private fillHeap(): void {
    // Equal scores stay in order of arrival, which decides which documents are kept at the boundary. Only numbers are
    // sorted, without a call per comparison; then each document is moved to the position of its score.
    const arrived = heap.slice()
    heapScores.sort()
    heap.fill(FREE)
    for (const at of arrived) {
      let place = firstNotBefore(0, CLOSE_LOOK_DOCS, (other) => heapScores[other] < scores[at])
      while (heap[place] !== FREE) place++
      heap[place] = at
    }
    this.least = heapScores[0] - SAME_SCORE
  }
  /**
   * The best, in the order in which they were offered, so that reading them goes through memory from front to back.
   * Their scores may be changed and returned through `settle`.
   */
  best(): Candidate[] {
    const { starts } = this,
      candidates: Candidate[] = []
    // After this the numbers are no heap any more.
    const ats = heap.subarray(0, this.bestCount).sort()
    for (let i = 0, s = 0; i < ats.length; i++) {
      const at = ats[i]
      while (s + 1 < starts.length && starts[s + 1] <= at) s++
      candidates.push({ s, doc: docs[at], score: scores[at], terms: bits[at], at })
    }
    return candidates
  }
  /** Stores the scores of the best after the close look. `UNKNOWN`: the document is not shown. */
  settle(best: ReadonlyArray<Candidate>): void {
    for (const { at, score } of best) scores[at] = score
  }
  /** Writes the scores; a document keeps its highest score over all spellings of the query. */
  record(matches: ReadonlyArray<SegmentMatches>): void {
    const least = this.keepsAll ? -Infinity : Math.max(0, this.least)
    for (let s = 0; s < this.starts.length; s++)
      for (let i = this.starts[s], end = this.starts[s + 1] ?? this.count; i < end; i++) {
        if (scores[i] < least) continue
        const units = Math.max(1, Math.round(scores[i] * SCORE_UNIT))
        recordScore(matches[s], docs[i], Math.floor(units / TWO_32), units % TWO_32)
      }
  }
}

/** The highest scores, ascending. */
export class BestScores {
  private readonly capacity: number
  private readonly scores: number[] = []
  /** The lowest score kept once there are enough of them. */ least = -Infinity
  constructor(capacity: number) {
    this.capacity = capacity
  }
  add(score: number): void {
    const { capacity, scores } = this
    if (score <= this.least || capacity === Infinity) return
    let at = scores.length
    while (at > 0 && scores[at - 1] > score) at--
    scores.splice(at, 0, score)
    if (scores.length > capacity) scores.shift()
    if (scores.length === capacity) this.least = scores[0]
  }
}
