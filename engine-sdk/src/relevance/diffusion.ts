/**
 * Score diffusion: documents that resemble other well-scored documents gain, those that stand alone lose. Every document
 * of the window is a vector of its words' BM25F weights; a document's score is mixed with the mean score of its nearest
 * neighbours in the window (a manifold step in the sense of Zhou et al. 2004). Nothing is trained.
 */
import type { Lexicon } from "./lexicon.ts"
import { FIRST_TERM } from "./unit-index.ts"
import { idfOf, saturated, type FieldNorm } from "./weighting.ts"

const NEIGHBOURS = 10
/** Columns of one window at most: 200 documents of about 150 words. */
const TABLE_SIZE = 1 << 16
/** The heaviest words of a document; the rest changes no neighbour. */
const WORDS_MAX = 64

export interface WindowDocument { readonly s: number; readonly doc: number; readonly score: number }

/** Identity of a root to its column, by open addressing; cleared after use through `used`. */
const slots = new Int32Array(TABLE_SIZE)
const keys = new Uint32Array(TABLE_SIZE)
let matrix = new Float64Array(0)

/**
 * New scores of a window, in its order. `share` is how much the neighbours count (0..1).
 * Cost: O(words of the window + pairs of documents that share a word).
 */
export const diffuse = (lexicon: Lexicon, norm: FieldNorm, window: ReadonlyArray<WindowDocument>, share: number): Float64Array => {
  const n = window.length
  const columns = vectorsOf(lexicon, norm, window)
  if (matrix.length < n * n) matrix = new Float64Array(n * n)
  const cosines = matrix.fill(0, 0, n * n)
  for (const { docs, weights } of columns) for (let i = 0; i < docs.length; i++) {
    const row = docs[i] * n, weight = weights[i]
    // Only the half above the diagonal: documents of a column ascend.
    for (let j = i + 1; j < docs.length; j++) cosines[row + docs[j]] += weight * weights[j]
  }
  const scores = new Float64Array(n)
  const nearest = new Float64Array(NEIGHBOURS), neighbour = new Int32Array(NEIGHBOURS)
  for (let i = 0; i < n; i++) {
    let size = 0
    for (let j = 0; j < n; j++) {
      if (j === i) continue
      const cosine = j > i ? cosines[i * n + j] : cosines[j * n + i]
      if (cosine === 0 || (size === NEIGHBOURS && cosine <= nearest[NEIGHBOURS - 1])) continue
      let at = size < NEIGHBOURS ? size++ : NEIGHBOURS - 1
      while (at > 0 && nearest[at - 1] < cosine) { nearest[at] = nearest[at - 1]; neighbour[at] = neighbour[at - 1]; at-- }
      nearest[at] = cosine
      neighbour[at] = j
    }
    let sum = 0, mixed = 0
    for (let k = 0; k < size; k++) { sum += nearest[k]; mixed += nearest[k] * window[neighbour[k]].score }
    scores[i] = (1 - share) * window[i].score + (sum === 0 ? 0 : share * mixed / sum)
  }
  return scores
}

interface Column { readonly docs: number[]; readonly weights: number[] }
/** The window's unit vectors by column; words that only one document has are left out, but count in its length. */
const vectorsOf = (lexicon: Lexicon, norm: FieldNorm, window: ReadonlyArray<WindowDocument>): Column[] => {
  const columns: Column[] = []
  const used: number[] = []
  const rarities: number[] = []
  const frequencyOf = lexicon.frequencies()
  const { segments } = lexicon
  const own: number[] = []
  let tf = new Float64Array(512)
  window.forEach(({ s, doc }, i) => {
    own.length = 0
    for (let u = 0; u < segments[s].length; u++) {
      const unit = segments[s][u], add = norm(u, s, doc)
      for (let p = unit.streamStarts[doc], end = unit.streamStarts[doc + 1]; p < end; p++) {
        const term = unit.stream[p] - FIRST_TERM
        if (term < 0) continue
        const key = (unit.hashes[term] | 1) >>> 0
        let slot = Math.imul(key, 0x9e3779b1) >>> 16
        while (slots[slot] !== 0 && keys[slot] !== key) slot = (slot + 1) & (TABLE_SIZE - 1)
        if (slots[slot] === 0) {
          if (used.length > TABLE_SIZE * 0.7) continue
          slots[slot] = columns.push({ docs: [], weights: [] })
          keys[slot] = key
          used.push(slot)
          rarities.push(idfOf(frequencyOf(unit.hashes[term]), lexicon.docs))
          if (columns.length > tf.length) { const wider = new Float64Array(tf.length * 2); wider.set(tf); tf = wider }
        }
        const column = slots[slot] - 1
        if (tf[column] === 0) own.push(column)
        tf[column] += add
      }
    }
    for (const column of own) tf[column] = saturated(tf[column]) * rarities[column]
    if (own.length > WORDS_MAX) own.sort((a, b) => tf[b] - tf[a])
    let square = 0
    for (const column of own) square += tf[column] * tf[column]
    const length = Math.sqrt(square)
    own.forEach((column, k) => {
      if (k < WORDS_MAX && length > 0) { columns[column].docs.push(i); columns[column].weights.push(tf[column] / length) }
      tf[column] = 0
    })
  })
  for (const slot of used) slots[slot] = 0
  return columns.filter(({ docs }) => docs.length > 1)
}
