/**
 * Score diffusion: documents that resemble other well-scored documents gain, and those that resemble none lose. Every
 * document of the window is a vector of its words' BM25F weights; a document's score is mixed with the mean score of
 * its nearest neighbours in the window (a manifold step in the sense of Zhou et al. 2004). Nothing is trained.
 */
import { spend } from "../../budget/cutoff.ts"
import { BestScores, SAME_SCORE, UNKNOWN } from "./best-documents.ts"
import type { Lexicon } from "./lexicon.ts"
import { rootNumbersOf } from "./root-numbers.ts"
import { FIRST_TERM } from "./unit-index.ts"
import { saturated, type LengthNorms } from "./weighting.ts"

const NEIGHBOURS = 10
/** Number of a document's heaviest words that are used; the remaining words do not change its neighbours. */
const WORDS_MAX = 64
/** Cost of a document's vector, in steps: its roots may have to be looked up in every segment. */
const VECTOR_STEPS = 1_024

interface WindowDocument {
  readonly s: number
  readonly doc: number
  readonly score: number
}

/** Column of each root in this window, plus one; all zero between calls. */
let columnCells = new Int32Array(0)
/** The window's vectors as flat entries: document, column, weight. */
let entryDocs = new Uint16Array(0),
  entryColumns = new Uint32Array(0),
  entryWeights = new Float64Array(0)
/** Weights of one document by column; all zero between documents. */
let weights = new Float64Array(1024)
let sorted = new Float64Array(1024)

/**
 * New scores of a window whose documents are given best first, in the same order. `share` is how much the neighbours
 * count (0..1). Only the scores of the `wanted` best, and of documents that might be among them, are computed: a
 * document gains at most what the best one has, so from some position on none can reach them. Cost: O(words of the
 * window), plus, for each document that might reach them, the words of the documents that share a word with it.
 */
export const diffuse = (
  lexicon: Lexicon,
  norms: LengthNorms,
  window: ReadonlyArray<WindowDocument>,
  share: number,
  wanted: number
): Float64Array => {
  const n = window.length
  const neighbours = new Neighbours(readVectors(lexicon, norms, window), n)
  const scores = new Float64Array(n).fill(UNKNOWN)
  // A document without neighbours loses rank, which affects those after it. If there is one, all scores are computed.
  const best = neighbours.everyoneHasOne() ? new BestScores(wanted) : undefined
  for (let i = 0; i < n; i++) {
    const own = (1 - share) * window[i].score
    if (best !== undefined && own + share * window[0].score < best.least - SAME_SCORE) break
    const mean = neighbours.meanOf(i, window)
    scores[i] = own + (mean === undefined ? 0 : (share * mean.mixed) / mean.sum)
    best?.add(scores[i])
  }
  return scores
}

/** The entries by column and by document. Reused, because new arrays of this size were a twentieth of such a search. */
let columnDocs = new Uint16Array(0),
  columnValues = new Float64Array(0),
  rowColumns = new Uint32Array(0),
  rowValues = new Float64Array(0)
const reserveTables = (entries: number): void => {
  if (columnDocs.length >= entries) return
  const size = entryDocs.length
  columnDocs = new Uint16Array(size)
  columnValues = new Float64Array(size)
  rowColumns = new Uint32Array(size)
  rowValues = new Float64Array(size)
}

/**
 * The vectors by column, with documents ascending in each column, and the columns of each document, ascending. Valid
 * until the next one is made.
 */
class Neighbours {
  private readonly size: number
  private readonly starts: Uint32Array
  private readonly rowStarts: Uint32Array
  private readonly cosines: Float64Array
  private readonly nearest = new Float64Array(NEIGHBOURS)
  private readonly neighbour = new Int32Array(NEIGHBOURS)
  private readonly mean = { mixed: 0, sum: 0 }
  constructor({ columns, entries }: { readonly columns: number; readonly entries: number }, size: number) {
    this.size = size
    this.cosines = new Float64Array(size)
    const starts = new Uint32Array(columns + 1),
      rowStarts = new Uint32Array(size + 1)
    for (let e = 0; e < entries; e++) {
      starts[entryColumns[e] + 1]++
      rowStarts[entryDocs[e] + 1]++
    }
    for (let c = 0; c < columns; c++) starts[c + 1] += starts[c]
    for (let i = 0; i < size; i++) rowStarts[i + 1] += rowStarts[i]
    reserveTables(entries)
    const next = starts.slice(0, columns),
      docs = columnDocs,
      values = columnValues
    for (let e = 0; e < entries; e++) {
      const at = next[entryColumns[e]]++
      docs[at] = entryDocs[e]
      values[at] = entryWeights[e]
    }
    const rowNext = rowStarts.slice(0, size)
    for (let c = 0; c < columns; c++)
      for (let at = starts[c]; at < starts[c + 1]; at++) {
        const to = rowNext[docs[at]]++
        rowColumns[to] = c
        rowValues[to] = values[at]
      }
    this.starts = starts
    this.rowStarts = rowStarts
  }
  everyoneHasOne(): boolean {
    const { rowStarts, size, starts } = this
    for (let i = 0; i < size; i++) {
      let at = rowStarts[i]
      while (at < rowStarts[i + 1] && starts[rowColumns[at] + 1] - starts[rowColumns[at]] < 2) at++
      if (at === rowStarts[i + 1]) return false
    }
    return true
  }
  /** The mean of the neighbours' scores, weighted by similarity; undefined if the document resembles no other. */
  meanOf(
    i: number,
    window: ReadonlyArray<WindowDocument>
  ): { readonly mixed: number; readonly sum: number } | undefined {
    this.fillCosines(i)
    const { cosines, mean, nearest, neighbour } = this
    let size = 0
    for (let j = 0; j < this.size; j++) {
      const cosine = cosines[j]
      if (cosine === 0 || j === i || (size === NEIGHBOURS && cosine <= nearest[NEIGHBOURS - 1])) continue
      let at = size < NEIGHBOURS ? size++ : NEIGHBOURS - 1
      while (at > 0 && nearest[at - 1] < cosine) {
        nearest[at] = nearest[at - 1]
        neighbour[at] = neighbour[at - 1]
        at--
      }
      nearest[at] = cosine
      neighbour[at] = j
    }
    mean.sum = 0
    mean.mixed = 0
    for (let k = 0; k < size; k++) {
      mean.sum += nearest[k]
      mean.mixed += nearest[k] * window[neighbour[k]].score
    }
    return mean.sum === 0 ? undefined : mean
  }
  private fillCosines(i: number): void {
    const { cosines, rowStarts, starts } = this,
      docs = columnDocs,
      values = columnValues
    cosines.fill(0)
    for (let at = rowStarts[i], last = rowStarts[i + 1]; at < last; at++) {
      const column = rowColumns[at],
        weight = rowValues[at]
      for (let j = starts[column], end = starts[column + 1]; j < end; j++) cosines[docs[j]] += weight * values[j]
    }
  }
}

/** Fills the entries with unit vectors. A column stands for one root in all units and segments. */
const readVectors = (
  lexicon: Lexicon,
  norms: LengthNorms,
  window: ReadonlyArray<WindowDocument>
): { columns: number; entries: number } => {
  const touched: number[] = []
  try {
    return readingVectors(lexicon, norms, window, touched)
  } finally {
    for (const root of touched) columnCells[root] = 0
  }
}
/** Adds the roots that got a column to `touched`. */
const readingVectors = (
  lexicon: Lexicon,
  norms: LengthNorms,
  window: ReadonlyArray<WindowDocument>,
  touched: number[]
): { columns: number; entries: number } => {
  const { segments } = lexicon
  const roots = rootNumbersOf(lexicon)
  const rarities: number[] = [],
    own: number[] = []
  let entries = 0
  for (let i = 0; i < window.length; i++) {
    const { s, doc } = window[i]
    // May throw: not within a document, whose weights are zero again after it.
    spend(VECTOR_STEPS)
    own.length = 0
    for (let u = 0; u < segments[s].length; u++) {
      const unit = segments[s][u],
        add = norms.of(u, unit.lengths[doc]),
        numbers = roots.of(unit)
      const { stream } = unit
      for (let p = unit.streamStarts[doc], end = unit.streamStarts[doc + 1]; p < end; p++) {
        const term = stream[p] - FIRST_TERM
        if (term < 0) continue
        const root = numbers[term] === 0 ? roots.add(unit, term) : numbers[term] - 1
        if (root >= columnCells.length) widenCells(root)
        let column = columnCells[root] - 1
        if (column < 0) {
          column = rarities.length
          rarities.push(roots.rarity(root, lexicon, unit, term))
          columnCells[root] = column + 1
          touched.push(root)
          if (column >= weights.length) widen()
        }
        if (weights[column] === 0) own.push(column)
        weights[column] += add
      }
    }
    entries = addEntries(i, own, rarities, entries)
  }
  return { columns: rarities.length, entries }
}
const widenCells = (root: number): void => {
  const wider = new Int32Array(Math.max(16_384, root * 2))
  wider.set(columnCells)
  columnCells = wider
}
const widen = (): void => {
  const wider = new Float64Array(weights.length * 2)
  wider.set(weights)
  weights = wider
  sorted = new Float64Array(wider.length)
}
/** Adds the entries of a document for its heaviest columns; returns the new number of entries. */
const addEntries = (i: number, own: ReadonlyArray<number>, rarities: ReadonlyArray<number>, from: number): number => {
  let square = 0
  for (let k = 0; k < own.length; k++) {
    const column = own[k],
      weight = saturated(weights[column]) * rarities[column]
    weights[column] = weight
    sorted[k] = weight
    square += weight * weight
  }
  const least = own.length <= WORDS_MAX ? 0 : sorted.subarray(0, own.length).sort()[own.length - WORDS_MAX]
  const scale = square === 0 ? 0 : 1 / Math.sqrt(square)
  let entries = from
  if (entries + own.length > entryDocs.length) growEntries(entries + own.length)
  for (let k = 0; k < own.length; k++) {
    const column = own[k]
    if (weights[column] >= least) {
      entryDocs[entries] = i
      entryColumns[entries] = column
      entryWeights[entries++] = weights[column] * scale
    }
    weights[column] = 0
  }
  return entries
}
const growEntries = (least: number): void => {
  const size = Math.max(least, entryDocs.length * 2, 16_384)
  const docs = new Uint16Array(size),
    columns = new Uint32Array(size),
    values = new Float64Array(size)
  docs.set(entryDocs)
  columns.set(entryColumns)
  values.set(entryWeights)
  entryDocs = docs
  entryColumns = columns
  entryWeights = values
}
