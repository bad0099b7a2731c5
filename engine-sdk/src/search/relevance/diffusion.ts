/**
 * Score diffusion: documents that resemble other well-scored documents gain, and those that resemble none lose. Every
 * document of the window is a vector of its words' BM25F weights; a document's score is mixed with the mean score of
 * its nearest neighbours in the window (a manifold step in the sense of Zhou et al. 2004). Nothing is trained.
 */
import { spend } from "../../budget/cutoff.ts"
import { nthLargest } from "../../sorted.ts"
import { BestScores, CLOSE_LOOK_DOCS, SAME_SCORE, UNKNOWN } from "./best-documents.ts"
import type { Lexicon } from "./lexicon.ts"
import { rootNumbersOf } from "./root-numbers.ts"
import { FIRST_TERM, type UnitIndex } from "./unit-index.ts"
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
let columnCells = new Int32Array(16_384)
const COLUMNS_KEPT_MAX = 65_536,
  CELLS_KEPT_MAX = 1 << 20
/** Weights of one document by column, and the columns it has; all weights are zero between documents. */
let weights = new Float64Array(1_024),
  ownColumns = new Uint32Array(1_024)
/** The window's vectors, one document after another: the entries of document `i` start at `rowStarts[i]`. */
let rowColumns = new Uint32Array(16_384),
  rowValues = new Float64Array(16_384)
const rowStarts = new Uint32Array(CLOSE_LOOK_DOCS + 1)

/**
 * New scores of a window of up to `CLOSE_LOOK_DOCS`, whose documents are given best first, in the same order. `share`
 * is how much the neighbours count (0..1). Only the scores of the `wanted` best, and of documents that might be among
 * them, are computed: a document gains at most what the best one has, so from some position on none can reach them.
 * Cost: O(words of the window), plus, for each document that might reach them, the words of the documents that share a
 * word with it.
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

/** The entries by column. Reused, because new arrays of this size were a twentieth of such a search. */
let columnDocs = new Uint16Array(0),
  columnValues = new Float64Array(0)

/** The vectors by column, with documents ascending in each column. Valid until the next one is made. */
class Neighbours {
  private readonly size: number
  private readonly starts: Uint32Array
  private readonly cosines: Float64Array
  private readonly nearest = new Float64Array(NEIGHBOURS)
  private readonly neighbour = new Int32Array(NEIGHBOURS)
  private readonly mean = { mixed: 0, sum: 0 }
  constructor(columns: number, size: number) {
    this.size = size
    this.cosines = new Float64Array(size)
    const starts = new Uint32Array(columns + 1),
      entries = rowStarts[size]
    for (let e = 0; e < entries; e++) starts[rowColumns[e] + 1]++
    for (let c = 0; c < columns; c++) starts[c + 1] += starts[c]
    if (columnDocs.length < entries) {
      columnDocs = new Uint16Array(rowColumns.length)
      columnValues = new Float64Array(rowColumns.length)
    }
    const next = starts.slice(0, columns),
      docs = columnDocs,
      values = columnValues
    for (let i = 0; i < size; i++)
      for (let e = rowStarts[i], end = rowStarts[i + 1]; e < end; e++) {
        const at = next[rowColumns[e]]++
        docs[at] = i
        values[at] = rowValues[e]
      }
    this.starts = starts
  }
  everyoneHasOne(): boolean {
    const { size, starts } = this
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
    const { cosines, starts } = this,
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

/** Fills the rows with unit vectors; returns the number of columns, each of which is a root in any unit or segment. */
const readVectors = (lexicon: Lexicon, norms: LengthNorms, window: ReadonlyArray<WindowDocument>): number => {
  const touched: number[] = []
  try {
    return readingVectors(lexicon, norms, window, touched)
  } finally {
    for (const root of touched) columnCells[root] = 0
    keepLittle()
  }
}
/** Windows of documents with very many different words must not cost every thread that memory for good. */
const keepLittle = (): void => {
  if (columnCells.length > CELLS_KEPT_MAX) columnCells = new Int32Array(16_384)
  if (weights.length <= COLUMNS_KEPT_MAX) return
  weights = new Float64Array(1_024)
  ownColumns = new Uint32Array(1_024)
}
/** Adds the roots that got a column to `touched`. */
const readingVectors = (
  lexicon: Lexicon,
  norms: LengthNorms,
  window: ReadonlyArray<WindowDocument>,
  touched: number[]
): number => {
  const roots = rootNumbersOf(lexicon)
  const segments = lexicon.segments.map((units) => units.map((unit) => ({ unit, numbers: roots.of(unit) })))
  const rarities: number[] = []
  const columnOf = (root: number, unit: UnitIndex, term: number): number => {
    const column = rarities.length
    rarities.push(roots.rarity(root, lexicon, unit, term))
    if (root >= columnCells.length) widenCells(root)
    columnCells[root] = column + 1
    touched.push(root)
    if (column >= weights.length) widen()
    return column
  }
  for (let i = 0; i < window.length; i++) {
    const { s, doc } = window[i],
      own = segments[s]
    // May throw: not within a document, whose weights are zero again after it.
    spend(VECTOR_STEPS)
    let size = 0
    for (let u = 0; u < own.length; u++) {
      const { numbers, unit } = own[u],
        { stream, streamStarts } = unit,
        add = norms.of(u, unit.lengths[doc])
      for (let p = streamStarts[doc], end = streamStarts[doc + 1]; p < end; p++) {
        const term = stream[p] - FIRST_TERM
        if (term < 0) continue
        const root = (numbers[term] || roots.add(unit, term) + 1) - 1,
          // Undefined for a root with a higher number than any before.
          column = (columnCells[root] || columnOf(root, unit, term) + 1) - 1,
          before = weights[column]
        if (before === 0) ownColumns[size++] = column
        weights[column] = before + add
      }
    }
    addRow(i, size, rarities)
  }
  return rarities.length
}
const widenCells = (root: number): void => {
  const wider = new Int32Array(root * 2)
  wider.set(columnCells)
  columnCells = wider
}
const widen = (): void => {
  const widerWeights = new Float64Array(weights.length * 2),
    widerColumns = new Uint32Array(weights.length * 2)
  widerWeights.set(weights)
  widerColumns.set(ownColumns)
  weights = widerWeights
  ownColumns = widerColumns
}
/** Adds the row of a document that has these `size` columns, with the heaviest of them. */
const addRow = (i: number, size: number, rarities: ReadonlyArray<number>): void => {
  let square = 0
  for (let k = 0; k < size; k++) {
    const column = ownColumns[k],
      weight = saturated(weights[column]) * rarities[column]
    weights[column] = weight
    square += weight * weight
  }
  const least = size <= WORDS_MAX ? 0 : leastOf(size)
  const scale = square === 0 ? 0 : 1 / Math.sqrt(square)
  let entries = rowStarts[i]
  if (entries + size > rowColumns.length) growRows(entries + size)
  for (let k = 0; k < size; k++) {
    const column = ownColumns[k],
      weight = weights[column]
    weights[column] = 0
    rowColumns[entries] = column
    rowValues[entries] = weight * scale
    if (weight >= least) entries++
  }
  rowStarts[i + 1] = entries
}
/** The least weight that is among the heaviest of the document's `size` columns. */
const leastOf = (size: number): number => {
  const sorted = new Float64Array(size)
  for (let k = 0; k < size; k++) sorted[k] = weights[ownColumns[k]]
  return nthLargest(sorted, size, WORDS_MAX)
}
const growRows = (least: number): void => {
  const size = Math.max(least, rowColumns.length * 2),
    columns = new Uint32Array(size),
    values = new Float64Array(size)
  columns.set(rowColumns)
  values.set(rowValues)
  rowColumns = columns
  rowValues = values
}
