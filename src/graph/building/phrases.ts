/**
 * Finds pairs of words that are adjacent in long texts far more often than their frequencies predict (Dunning's
 * log-likelihood ratio): technical terms that are not capitalised. Words are stored as numbers, up to a total and up
 * to a number per document; the rest is ignored.
 */
import { foldedWords } from "./keys.ts"
import { IntList } from "../../texts/int-list.ts"

const WORDS_OF_DOCUMENT = 120
const VOCABULARY_MAX = 200_000
const TOKENS_MAX = 16_000_000
const PAIRS_MAX = 1_000_000
/** Chi-square of one degree with p < .0001. */
const RATIO_MIN = 15.1
/** Above this share of the documents, a word is a function word, or a pair is boilerplate. */
const COMMON_SHARE = 0.1
const DOCUMENTS_MIN = 50
const PUNCTUATION = /[^\p{L}\p{M}\p{N}\s'’-]+/u

const xlogx = (x: number): number => (x <= 0 ? 0 : x * Math.log(x))
/** `both` of `n` positions have the pair, `a` begin with its first word and `b` end with its second. */
export const logLikelihoodRatio = (both: number, a: number, b: number, n: number): number => {
  const cells = xlogx(both) + xlogx(a - both) + xlogx(b - both) + xlogx(n - a - b + both)
  return 2 * (cells + xlogx(n) - xlogx(a) - xlogx(n - a) - xlogx(b) - xlogx(n - b))
}

export class Phrases {
  readonly #ids = new Map<string, number>()
  readonly #words: Array<string> = []
  readonly #tokens = new IntList()
  /** Documents, and where the tokens of each begin. */ readonly #starts = new IntList()
  readonly #documents = new IntList()

  add(document: number, texts: ReadonlyArray<string>): void {
    if (texts.length === 0 || this.#tokens.length + WORDS_OF_DOCUMENT > TOKENS_MAX) return
    this.#documents.push(document)
    this.#starts.push(this.#tokens.length)
    let left = WORDS_OF_DOCUMENT
    for (const text of texts)
      for (const piece of text.slice(0, 12 * left).split(PUNCTUATION)) {
        for (const word of foldedWords(piece)) {
          if (left-- <= 0) return
          this.#tokens.push(this.#idOf(word))
        }
        // A separator, because no pair spans a comma or two texts.
        this.#tokens.push(0)
      }
  }
  #idOf(word: string): number {
    const known = this.#ids.get(word)
    if (known !== undefined) return known
    if (this.#words.length >= VOCABULARY_MAX || word.length < 3 || /\p{N}/u.test(word)) return 0
    this.#words.push(word)
    this.#ids.set(word, this.#words.length)
    return this.#words.length
  }

  /** Calls back with each strong pair of each document, in order. `leastDocuments` applies to words and pairs. */
  eachStrong(leastDocuments: number, each: (document: number, phrase: string) => void): void {
    if (this.#documents.length < DOCUMENTS_MIN) return
    const strong = this.#strong(leastDocuments)
    const n = this.#words.length + 1
    this.#walk((document, a, b) => {
      if (strong.has(a * n + b)) each(document, `${this.#words[a - 1]!} ${this.#words[b - 1]!}`)
    })
  }
  #walk(each: (document: number, a: number, b: number) => void): void {
    for (let d = 0; d < this.#documents.length; d++) {
      const end = d + 1 < this.#starts.length ? this.#starts.at(d + 1) : this.#tokens.length
      for (let at = this.#starts.at(d); at + 1 < end; at++) {
        const a = this.#tokens.at(at),
          b = this.#tokens.at(at + 1)
        if (a !== 0 && b !== 0) each(this.#documents.at(d), a, b)
      }
    }
  }
  #strong(leastDocuments: number): ReadonlySet<number> {
    const n = this.#words.length + 1
    const most = COMMON_SHARE * this.#documents.length
    const { inDocuments, places } = this.#counted(n)
    const isWord = (word: number) => inDocuments[word]! >= leastDocuments && inDocuments[word]! <= most
    const pairs = new Map<number, number>()
    let total = 0
    this.#walk((_document, a, b) => {
      total++
      if (!isWord(a) || !isWord(b)) return
      const pair = a * n + b
      const known = pairs.get(pair)
      if (known !== undefined) pairs.set(pair, known + 1)
      else if (pairs.size < PAIRS_MAX) pairs.set(pair, 1)
    })
    const strong = new Set<number>()
    for (const [pair, both] of pairs) {
      const a = Math.floor(pair / n)
      if (both < leastDocuments) continue
      const [ofA, ofB] = [places[a]!, places[pair - a * n]!]
      // More often together than separately, and not by chance.
      if (
        both * total > ofA * ofB &&
        logLikelihoodRatio(both, ofA, ofB, total) >= RATIO_MIN &&
        3 * both >= Math.min(ofA, ofB)
      )
        strong.add(pair)
    }
    return strong
  }
  #counted(n: number): { readonly places: Int32Array; readonly inDocuments: Int32Array } {
    const places = new Int32Array(n),
      inDocuments = new Int32Array(n),
      last = new Int32Array(n).fill(-1)
    for (let d = 0; d < this.#documents.length; d++) {
      const end = d + 1 < this.#starts.length ? this.#starts.at(d + 1) : this.#tokens.length
      for (let at = this.#starts.at(d); at < end; at++) {
        const word = this.#tokens.at(at)
        places[word]!++
        if (last[word] !== d) inDocuments[word]!++
        last[word] = d
      }
    }
    return { places, inDocuments }
  }
}
