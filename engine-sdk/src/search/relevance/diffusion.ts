/**
 * Score diffusion: documents that resemble other well-scored documents gain, those that stand alone lose. Every
 * document of the window is a vector of its words' BM25F weights; a document's score is mixed with the mean score of
 * its nearest neighbours in the window (a manifold step in the sense of Zhou et al. 2004). Nothing is trained.
 */
import type { Lexicon } from "./lexicon.ts"
import { FIRST_TERM } from "./unit-index.ts"
import { idfOf, saturated, type FieldNorm } from "./weighting.ts"

const NEIGHBOURS = 10
/** The heaviest words of a document; the rest changes no neighbour. */
const WORDS_MAX = 64

interface WindowDocument {
  readonly s: number
  readonly doc: number
  readonly score: number
}

let matrix = new Float64Array(0)
/** Column + 1 of each root of each unit and segment, at the unit's offset; zero between calls. */
let columnCells = new Int32Array(0)
/** The window's vectors as flat entries: document, column, weight. */
let entryDocs = new Uint16Array(0),
  entryColumns = new Uint32Array(0),
  entryWeights = new Float64Array(0)
/** Weights of one document by column; zero between documents. */
let weights = new Float64Array(1024)
let sorted = new Float64Array(1024)

/**
 * New scores of a window, in its order. `share` is how much the neighbours count (0..1).
 * Cost: O(words of the window + pairs of documents that share a word).
 */
export const diffuse = (
  lexicon: Lexicon,
  norm: FieldNorm,
  window: ReadonlyArray<WindowDocument>,
  share: number
): Float64Array => {
  const n = window.length
  const { columns, entries } = readVectors(lexicon, norm, window)
  if (matrix.length < n * n) matrix = new Float64Array(n * n)
  const cosines = matrix.fill(0, 0, n * n)
  // Entries by column, documents ascending in each: only the half above the diagonal is filled.
  const starts = new Uint32Array(columns + 1)
  for (let e = 0; e < entries; e++) starts[entryColumns[e] + 1]++
  for (let c = 0; c < columns; c++) starts[c + 1] += starts[c]
  const next = starts.slice(0, columns),
    docs = new Uint16Array(entries),
    values = new Float64Array(entries)
  for (let e = 0; e < entries; e++) {
    const at = next[entryColumns[e]]++
    docs[at] = entryDocs[e]
    values[at] = entryWeights[e]
  }
  for (let c = 0; c < columns; c++) {
    const end = starts[c + 1]
    for (let i = starts[c]; i < end; i++) {
      const row = docs[i] * n,
        weight = values[i]
      for (let j = i + 1; j < end; j++) cosines[row + docs[j]] += weight * values[j]
    }
  }
  const scores = new Float64Array(n)
  const nearest = new Float64Array(NEIGHBOURS),
    neighbour = new Int32Array(NEIGHBOURS)
  for (let i = 0; i < n; i++) {
    let size = 0
    for (let j = 0; j < n; j++) {
      if (j === i) continue
      const cosine = j > i ? cosines[i * n + j] : cosines[j * n + i]
      if (cosine === 0 || (size === NEIGHBOURS && cosine <= nearest[NEIGHBOURS - 1])) continue
      let at = size < NEIGHBOURS ? size++ : NEIGHBOURS - 1
      while (at > 0 && nearest[at - 1] < cosine) {
        nearest[at] = nearest[at - 1]
        neighbour[at] = neighbour[at - 1]
        at--
      }
      nearest[at] = cosine
      neighbour[at] = j
    }
    let sum = 0,
      mixed = 0
    for (let k = 0; k < size; k++) {
      sum += nearest[k]
      mixed += nearest[k] * window[neighbour[k]].score
    }
    scores[i] = (1 - share) * window[i].score + (sum === 0 ? 0 : (share * mixed) / sum)
  }
  return scores
}

/** Fills the entries with unit vectors; a column is one root, whatever the unit and segment. */
const readVectors = (
  lexicon: Lexicon,
  norm: FieldNorm,
  window: ReadonlyArray<WindowDocument>
): { columns: number; entries: number } => {
  const { segments } = lexicon
  const frequencyOf = lexicon.frequencies()
  let total = 0
  const offsets = segments.map((own) =>
    own.map((unit) => {
      const at = total
      total += unit.terms.size
      return at
    })
  )
  if (columnCells.length < total) columnCells = new Int32Array(total)
  const cells = columnCells
  const touched: number[] = [],
    rarities: number[] = [],
    own: number[] = []
  const columnOfHash = new Map<number, number>()
  let entries = 0
  for (let i = 0; i < window.length; i++) {
    const { s, doc } = window[i]
    own.length = 0
    for (let u = 0; u < segments[s].length; u++) {
      const unit = segments[s][u],
        add = norm(u, s, doc),
        offset = offsets[s][u]
      const { hashes, stream } = unit
      for (let p = unit.streamStarts[doc], end = unit.streamStarts[doc + 1]; p < end; p++) {
        const term = stream[p] - FIRST_TERM
        if (term < 0) continue
        let column = cells[offset + term] - 1
        if (column < 0) {
          const hash = hashes[term]
          const known = columnOfHash.get(hash)
          if (known === undefined) {
            columnOfHash.set(hash, (column = rarities.length))
            rarities.push(idfOf(frequencyOf(hash), lexicon.docs))
          } else column = known
          cells[offset + term] = column + 1
          touched.push(offset + term)
          if (column >= weights.length) {
            const wider = new Float64Array(weights.length * 2)
            wider.set(weights)
            weights = wider
            sorted = new Float64Array(wider.length)
          }
        }
        if (weights[column] === 0) own.push(column)
        weights[column] += add
      }
    }
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
  }
  for (const at of touched) cells[at] = 0
  return { columns: rarities.length, entries }
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
