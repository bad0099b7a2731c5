/**
 * Conditions on queries and filters, indexed so that with ten thousand of them a request costs a few lookups: complete
 * queries and runs of words by hash, prefixes by hash per length, texts in filters by their first characters.
 */
import { createAnalyzer } from "../analysis/mod.ts"
import { TextCache } from "../analysis/text-cache.ts"
import type { QueryMatch } from "./rule-set.ts"

const normalizer = createAnalyzer({ symbolsToIndex: ["*"] })
/**
 * Splits a query into words as the engine compares queries: lower case, without accents and punctuation
 * (`docs/contract/curation.md#matching`).
 *
 * @example
 * ```ts
 * import { queryWords } from "@dowser/engine-sdk/rules"
 *
 * queryWords("Trail-Running, SHOE!") // ["trailrunning", "shoe"]
 * ```
 */
export const queryWords = (q: string): ReadonlyArray<string> => normalizer.tokenize(q)
const CACHED_BYTES = 16_000_000
const cached = new TextCache(queryWords, {
  bytes_max: CACHED_BYTES,
  bytesOf: (words) => words.reduce((sum, word) => sum + 32 + word.length * 2, 0)
})
/** The same for texts of documents, with a cache because they recur. */
export const textWords = (text: string): ReadonlyArray<string> => cached.get(text)

export interface Condition {
  readonly query: string
  readonly match: QueryMatch
  readonly filter_contains?: string
}

export class ConditionIndex {
  readonly #exact = new Map<string, number[]>()
  readonly #runs = new Map<string, number[]>()
  #runWordsMax = 0
  readonly #prefixes = new Map<string, number[]>()
  #prefixLengths: number[] = []
  readonly #always: number[] = []
  /** Rules for every query whose filter contains a text, by its number. */ readonly #byFilter = new Map<
    number,
    number[]
  >()
  /** Number of the filter text of each condition, -1 = none. */ readonly #filterOf: Int32Array
  readonly #filters = new ContainedTexts()

  constructor(conditions: ReadonlyArray<Condition>) {
    this.#filterOf = new Int32Array(conditions.length).fill(-1)
    conditions.forEach((condition, at) => this.#add(condition, at))
    this.#prefixLengths = [...new Set([...this.#prefixes.keys()].map(({ length }) => length))].sort((a, b) => a - b)
  }
  #add({ query, match, filter_contains = "" }: Condition, at: number): void {
    if (filter_contains !== "") this.#filterOf[at] = this.#filters.add(filter_contains)
    const words = queryWords(query),
      text = words.join(" ")
    // A query that consists of punctuation has no words, so such a rule never fires.
    if (match !== "any" && words.length === 0) return
    if (match === "exact") append(this.#exact, text, at)
    else if (match === "prefix") append(this.#prefixes, text, at)
    else if (match === "partial") {
      append(this.#runs, text, at)
      this.#runWordsMax = Math.max(this.#runWordsMax, words.length)
    } else if (this.#filterOf[at] < 0) this.#always.push(at)
    else append(this.#byFilter, this.#filterOf[at], at)
  }

  /** Conditions that hold, as ascending indexes. O(words · longest run + prefix lengths + filter text + answer). */
  find(words: ReadonlyArray<string>, filter_by: string): ReadonlyArray<number> {
    const present = this.#filters.presentIn(filter_by)
    const found: number[] = []
    const take = (list: ReadonlyArray<number> | undefined): void => {
      if (list !== undefined)
        for (const at of list) if (this.#filterOf[at] < 0 || present.has(this.#filterOf[at])) found.push(at)
    }
    take(this.#always)
    for (const filter of present) take(this.#byFilter.get(filter))
    const text = words.join(" ")
    take(this.#exact.get(text))
    for (const length of this.#prefixLengths) {
      if (length > text.length) break
      take(this.#prefixes.get(text.slice(0, length)))
    }
    if (this.#runWordsMax > 0) this.#eachRun(words, text, (run) => take(this.#runs.get(run)))
    // A run may occur in a query twice, so duplicates are removed.
    return found.sort((a, b) => a - b).filter((at, i) => i === 0 || at !== found[i - 1])
  }
  #eachRun(words: ReadonlyArray<string>, text: string, visit: (run: string) => void): void {
    for (let first = 0, start = 0; first < words.length; start += words[first++].length + 1) {
      for (let last = first, end = start - 1; last < words.length && last - first < this.#runWordsMax; last++) {
        end += words[last].length + 1
        visit(text.slice(start, end))
      }
    }
  }
}
const append = <Key>(lists: Map<Key, number[]>, key: Key, at: number): void => {
  const known = lists.get(key)
  if (known === undefined) lists.set(key, [at])
  else known.push(at)
}

const GRAM = 4
interface Start {
  readonly lengths: number[]
  readonly numbers: Map<string, number>
}
/**
 * Finds which of many texts occur in one text: by their first characters, then by hash per length (because filters
 * often start alike).
 */
class ContainedTexts {
  #size = 0
  /** Texts by their first `GRAM` characters; shorter ones by their whole text. */ readonly #byStart = new Map<
    string,
    Start
  >()
  /** Returns the number of this text; equal texts have the same number. */
  add(text: string): number {
    const key = text.slice(0, GRAM)
    let start = this.#byStart.get(key)
    if (start === undefined) this.#byStart.set(key, (start = { lengths: [], numbers: new Map() }))
    const known = start.numbers.get(text)
    if (known !== undefined) return known
    if (!start.lengths.includes(text.length)) start.lengths.push(text.length)
    start.numbers.set(text, this.#size)
    return this.#size++
  }
  presentIn(text: string): ReadonlySet<number> {
    const present = new Set<number>()
    if (this.#size === 0) return present
    for (let at = 0; at < text.length; at++)
      for (let length = 1; length <= GRAM && at + length <= text.length; length++) {
        const start = this.#byStart.get(text.slice(at, at + length))
        if (start === undefined) continue
        for (const end of start.lengths) {
          const number = start.numbers.get(text.slice(at, at + end))
          if (number !== undefined) present.add(number)
        }
      }
    return present
  }
}
