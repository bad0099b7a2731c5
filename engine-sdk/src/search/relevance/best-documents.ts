/**
 * The documents that a text search keeps of those it scores: all of them, or only those that can affect the order of a
 * page, plus the best, which get a close look.
 */
import { record as recordScore, type SegmentMatches } from "../text/segment-matches.ts"
import { nthLargest } from "../../sorted.ts"

/**
 * Number of best documents that are examined word by word, and among which scores are diffused. With 300 and 200 as
 * before, nDCG@10 differs by less than .001 on three judged sets; with 100, Cranfield loses .007
 * (`docs/performance-log.md`).
 */
export const CLOSE_LOOK_DOCS = 200
/**
 * The same for queries with too few terms for diffusion. nDCG@10 of 50 judged queries, 49 of them of up to two words,
 * is the same with 50, 100 and 200; of 493 and 616 others of up to two words, 3 and 18 get another first page than with
 * 200.
 */
const SHORT_LOOK_DOCS = 100
/** Scores are diffused for queries with at least this many terms. */
export const DIFFUSED_TERMS_MIN = 3
/** Number of documents that get a close look for a query with this many terms. */
export const lookedFor = (terms: number): number => (terms < DIFFUSED_TERMS_MIN ? SHORT_LOOK_DOCS : CLOSE_LOOK_DOCS)
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
/** The pool holds this many times as many documents as get a close look, so that the best are seldom selected. */
const POOL_FACTOR = 2
const POOL_DOCS = POOL_FACTOR * CLOSE_LOOK_DOCS
/** Indexes of documents that may get a close look, in the order in which they were offered, and their scores. */
const pool = new Uint32Array(POOL_DOCS),
  poolScores = new Float64Array(POOL_DOCS),
  ranked = new Float64Array(POOL_DOCS)

export class BestDocuments {
  private readonly keepsAll: boolean
  /** Number of documents that get a close look. */ private readonly looked: number
  /** Index of the first kept document of each segment. */ private readonly starts: number[] = []
  private count = 0
  get size(): number {
    return this.count
  }
  private pooled = 0
  /** Documents with this score or a lower one get no close look. */ cut = -Infinity
  /** A document with a lower score can get neither a close look nor onto the page. */ private least = -Infinity
  /** `keepsAll`: all scores are needed. `looked`: `CLOSE_LOOK_DOCS` at most; 0: `best` is not called. */
  constructor(keepsAll: boolean, looked: number) {
    this.keepsAll = keepsAll
    this.looked = looked
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
    if (this.looked > 0) this.push(at, score)
  }
  /** Offers documents in order, with their scores and terms at the same indexes. O(documents). */
  offerAll(offered: Uint32Array, values: Float64Array, terms: Uint32Array): void {
    const size = offered.length
    let least = this.keepsAll ? -Infinity : this.least
    // Otherwise the bound rises while documents are offered, and hundreds are kept and sorted out that cannot remain.
    if (least === -Infinity && !this.keepsAll && size > POOL_FACTOR * this.looked)
      least = reachedByBest(this.looked, values, size) - SAME_SCORE
    for (let i = 0; i < size; i++) if (values[i] >= least) this.offer(offered[i], values[i], terms[i])
  }
  private push(at: number, score: number): void {
    if (score <= this.cut) return
    pool[this.pooled] = at
    poolScores[this.pooled++] = score
    if (this.pooled === POOL_FACTOR * this.looked) this.selectBest()
  }
  /** Keeps the best of the pool; of equal ones, those that were offered first. */
  private selectBest(): void {
    const size = this.pooled
    ranked.set(poolScores)
    const cut = nthLargest(ranked, size, this.looked)
    let above = 0
    for (let i = 0; i < size; i++) if (poolScores[i] > cut) above++
    let kept = 0
    for (let i = 0, equal = this.looked - above; i < size; i++) {
      const score = poolScores[i]
      if (score < cut || (score === cut && equal-- <= 0)) continue
      pool[kept] = pool[i]
      poolScores[kept++] = score
    }
    this.pooled = kept
    this.cut = cut
    this.least = cut - SAME_SCORE
  }
  /**
   * The best, in the order in which they were offered, so that reading them goes through memory from front to back.
   * Their scores may be changed and returned through `settle`.
   */
  best(): Candidate[] {
    const { starts } = this,
      candidates: Candidate[] = []
    if (this.pooled >= this.looked) this.selectBest()
    for (let i = 0, s = 0; i < this.pooled; i++) {
      const at = pool[i]
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

/** Scores by class: the upper half of the number without these bits, so that a class spans a 64th of its scores. */
const CLASS_SHIFT = 14
const CLASSES = 2_048
/** All scores below a millionth are in the first class. */
const FIRST_CLASS = 0x3eb0_0000 >>> CLASS_SHIFT
const classes = new Uint32Array(CLASSES)
const edge = new Float64Array(1),
  edgeHalves = new Uint32Array(edge.buffer)
/** A score that at least `wanted` of the values reach, but not many more. O(size). */
const reachedByBest = (wanted: number, values: Float64Array, size: number): number => {
  const halves = new Uint32Array(values.buffer, values.byteOffset, size * 2)
  classes.fill(0)
  for (let i = 0; i < size; i++) {
    const above = (halves[2 * i + 1] >>> CLASS_SHIFT) - FIRST_CLASS
    classes[Math.min(CLASSES - 1, Math.max(0, above))]++
  }
  let at = CLASSES,
    docs = 0
  while (at > 0 && docs < wanted) docs += classes[--at]
  if (at === 0) return -Infinity
  edgeHalves[1] = (at + FIRST_CLASS) << CLASS_SHIFT
  return edge[0]
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
