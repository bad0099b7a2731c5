/**
 * The context of a word as a vector: words with the same neighbours have similar vectors (positive pointwise mutual
 * information of words at most five apart, keeping the strongest directions).
 */
import { IntList } from "../../texts/int-list.ts"
import { type SparseRows, strongestVectors, symmetric } from "../../texts/linear.ts"
import { wordsOf } from "./words.ts"

const WIDTH = 64
const WINDOW = 5
const SEED = 1
/** The most words with a vector: those that occur in the most texts. */
const WORDS_MAX = 10_000
const TEXTS_WITH_WORD_MIN = 3
const COMMON_SHARE = 0.3
/** Neighbours per word: the first ones counted, and the strongest ones kept. */
const MET_MAX = 2_000,
  KEPT_MAX = 400
const VOCABULARY_MAX = 200_000
const TOKENS_MAX = 8_000_000
const WORDS_OF_TEXT = 100

export class TermTexts {
  readonly #ids = new Map<string, number>()
  readonly #words: Array<string> = []
  readonly #texts = new IntList()
  readonly #last = new IntList()
  readonly #tokens = new IntList()
  #count = 0

  /** Adds the texts of one document, or a query. */
  add(texts: ReadonlyArray<string>): void {
    if (this.#tokens.length + WORDS_OF_TEXT >= TOKENS_MAX) return
    const number = this.#count++
    let left = WORDS_OF_TEXT
    for (const text of texts) {
      for (const word of wordsOf(text.slice(0, 16 * left))) {
        if (left-- <= 0) return
        const id = this.#idOf(word)
        this.#tokens.push(id)
        if (id < 0 || this.#last.at(id) === number) continue
        this.#last.add(id, number - this.#last.at(id))
        this.#texts.add(id, 1)
      }
      this.#tokens.push(-1)
    }
  }
  #idOf(word: string): number {
    const known = this.#ids.get(word)
    if (known !== undefined) return known
    if (this.#words.length >= VOCABULARY_MAX || word.length > 50) return -1
    this.#ids.set(word, this.#words.length)
    this.#texts.push(0)
    this.#last.push(-1)
    return this.#words.push(word) - 1
  }

  vectors(): TermVectors {
    const most = Math.max(20, COMMON_SHARE * this.#count)
    const chosen = this.#words
      .map((_, id) => id)
      .filter((id) => this.#texts.at(id) >= TEXTS_WITH_WORD_MIN && this.#texts.at(id) <= most)
      .sort((a, b) => this.#texts.at(b) - this.#texts.at(a) || (this.#words[a]! < this.#words[b]! ? -1 : 1))
      .slice(0, WORDS_MAX)
    const place = new Int32Array(this.#words.length).fill(-1)
    for (const [i, id] of chosen.entries()) place[id] = i
    return new TermVectors(
      chosen.map((id) => this.#words[id]!),
      strongestVectors(symmetric(this.#information(place, chosen.length)), WIDTH, { power: 0.5, seed: SEED })
    )
  }
  #information(place: Int32Array, words: number): SparseRows {
    const beside = this.#beside(place, words)
    const totals = beside.map((row) => row.values().reduce((sum, n) => sum + n, 0))
    // Rare words are neighbours by chance, so counts are smoothed (Levy and Goldberg).
    const smooth = totals.map((n) => n ** 0.75)
    const all = smooth.reduce((sum, n) => sum + n, 0)
    const starts = new Int32Array(words + 1)
    const columns: Array<number> = [],
      values: Array<number> = []
    for (const [a, row] of beside.entries()) {
      const kept = Array.from(row, ([b, n]) => [b, Math.log((n * all) / (totals[a]! * smooth[b]!))] as const)
        .filter(([, information]) => information > 0)
        .sort((x, y) => y[1] - x[1] || x[0] - y[0])
        .slice(0, KEPT_MAX)
        .sort((x, y) => x[0] - y[0])
      for (const [b, information] of kept) {
        columns.push(b)
        values.push(information)
      }
      starts[a + 1] = columns.length
    }
    return { starts, columns: Int32Array.from(columns), values: Float64Array.from(values) }
  }
  #beside(place: Int32Array, words: number): ReadonlyArray<Map<number, number>> {
    const beside = Array.from({ length: words }, () => new Map<number, number>())
    const met = (a: number, b: number): void => {
      const row = beside[a]!
      const known = row.get(b)
      if (known !== undefined) row.set(b, known + 1)
      else if (row.size < MET_MAX) row.set(b, 1)
    }
    for (let at = 0; at < this.#tokens.length; at++) {
      const id = this.#tokens.at(at)
      const a = id < 0 ? -1 : place[id]!
      if (a < 0) continue
      for (let next = at + 1; next <= at + WINDOW && next < this.#tokens.length; next++) {
        const other = this.#tokens.at(next)
        if (other < 0) break
        const b = place[other]!
        if (b < 0 || b === a) continue
        met(a, b)
        met(b, a)
      }
    }
    return beside
  }
}

export class TermVectors {
  readonly #place: ReadonlyMap<string, number>
  readonly #vectors: Float32Array
  constructor(words: ReadonlyArray<string>, vectors: Float32Array) {
    this.#place = new Map(words.map((word, i) => [word, i]))
    this.#vectors = vectors
  }
  /** The vector of several words together; undefined if none has one. */
  #of(words: ReadonlyArray<string>): Float64Array | undefined {
    const places = words.flatMap((word) => this.#place.get(word) ?? [])
    if (places.length === 0) return undefined
    const sum = new Float64Array(WIDTH)
    for (const place of places) for (let k = 0; k < WIDTH; k++) sum[k]! += this.#vectors[place * WIDTH + k]!
    return sum
  }
  /** The cosine, −1 to 1; undefined if one of them is unknown. */
  similarity(a: ReadonlyArray<string>, b: ReadonlyArray<string>): number | undefined {
    const [x, y] = [this.#of(a), this.#of(b)]
    if (x === undefined || y === undefined) return undefined
    let dot = 0,
      ofX = 0,
      ofY = 0
    for (let k = 0; k < WIDTH; k++) {
      dot += x[k]! * y[k]!
      ofX += x[k]! ** 2
      ofY += y[k]! ** 2
    }
    return ofX === 0 || ofY === 0 ? undefined : dot / Math.sqrt(ofX * ofY)
  }
}
