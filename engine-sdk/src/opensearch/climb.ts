/**
 * The ladder of a search for words (`docs/contract/matching.md#candidate-words`) over a vocabulary: which words are
 * looked for together, and when that is enough. How many documents are found only the cluster knows, so the ladder is
 * climbed again with every answer; what is not known yet is noted and guessed. Pure but for what it notes.
 */
import type { TextQuery } from "../plan.ts"
import { type QueryToken, queryTokens } from "../search/text/candidate-words.ts"
import { fewerTokens, respell } from "../search/text/fallbacks.ts"
import type { RecordRules } from "../search/text/record-scorer.ts"
import { candidatesMax } from "../search/text/text-search.ts"
import { WordCombinations } from "../search/text/word-combinations.ts"
import type { MatchedWord } from "../search/text/word-matcher.ts"
import { AskingWords, type KnownWords } from "./known-words.ts"

/** Combinations tried in one search. */
const TRIED_MAX = 1_000
/** Words that hold another one in their middle, most frequent first. */
const INFIX_WORDS_MAX = 1_000

/** Words that a document has in some field each, or one of `words` in that field. */
export type Tried =
  | { readonly kind: "words"; readonly words: ReadonlyArray<MatchedWord>; readonly dropped: ReadonlyArray<string> }
  | { readonly kind: "infix"; readonly field: number; readonly words: ReadonlyArray<string> }
/** Two adjacent words in a field. */
export interface Pair {
  readonly field: number
  readonly left: string
  readonly right: string
}
export const pairKey = ({ field, left, right }: Pair): string => `${field}\n${left}\n${right}`
export const triedKey = (tried: ReadonlyArray<Tried>): string =>
  tried
    .map((one) =>
      one.kind === "infix"
        ? `*${one.field} ${one.words.join(" ")}`
        : `${one.words.map(({ cost, isPrefix, word }) => `${word} ${cost}${isPrefix ? "*" : ""}`).join(",")}-${one.dropped.join(" ")}`
    )
    .join("\n")
/** A count from the cluster. */
interface Counted {
  /** Documents, by `triedKey`. */ readonly counts: ReadonlyMap<string, number>
  /** By `pairKey`. */ readonly neighbours: ReadonlyMap<string, boolean>
}
/** How a count is guessed: as enough, or so many times as no more than what is known, after which the rest waits. */
export type CountGuess = { readonly isEnough: true } | { readonly isEnough: false; readonly most: number }

/** Ends a climb that has guessed often enough. */
const ENOUGH = Symbol("enough was guessed")
const NO_RULES: RecordRules = {
  exactMatch: false,
  tokenPosition: false,
  synonymBit: 0,
  synonym: undefined,
  matchedTokens: undefined
}

export class Climb {
  readonly tried: Tried[] = []
  /** Of these it is known that they find nothing that others before them do not. */
  readonly #barren = new Set<Tried>()
  /** Counts that are not known, by what was tried until then. */
  readonly openCounts = new Map<string, ReadonlyArray<Tried>>()
  readonly openPairs = new Map<string, Pair>()
  /** More would have to be looked for than one search can. */ isTooWide = false
  readonly #query: TextQuery
  readonly #words: KnownWords
  readonly #counted: Counted
  readonly #guess: CountGuess
  readonly #combinations: WordCombinations
  /** Found by less than what was tried since: more than that never finds fewer. */ #least = 0
  /** What was tried when that was counted. */ #triedThen = 0

  constructor(query: TextQuery, words: KnownWords, documents: number, counted: Counted, guess: CountGuess) {
    this.#query = query
    this.#words = words
    this.#counted = counted
    this.#guess = guess
    const count = (): number => this.#count()
    this.#combinations = new WordCombinations(
      query,
      new AskingWords(query, words, candidatesMax(documents, query)),
      { match: (matched, dropped) => this.#add(matched, dropped) },
      count
    )
  }
  /** Everything that was guessed is noted in what is open. */
  run(): this {
    try {
      this.#climb()
    } catch (error) {
      if (error !== ENOUGH) throw error
    }
    return this
  }
  /** What leads to documents, as far as that is known. */
  get fruitful(): ReadonlyArray<Tried> {
    return this.tried.filter((one) => !this.#barren.has(one))
  }
  get isSettled(): boolean {
    return this.openCounts.size === 0 && this.openPairs.size === 0 && !this.#words.hasQuestions
  }

  #climb(): void {
    const query = this.#query
    const tokens = queryTokens(query.tokens)
    const variants = query.synonyms.map((synonym) => queryTokens(synonym.tokens))
    this.#combinations.search(tokens, [], NO_RULES, false)
    this.#respell()
    for (const variant of variants) this.#combinations.search(variant, [], NO_RULES, true)
    this.#fewer([tokens, ...variants])
    this.#infix()
  }
  #respell(): void {
    const query = this.#query
    if (query.splitJoinTokens === "off" || (query.splitJoinTokens === "fallback" && this.#count() > 0)) return
    const respelled = respell(query.tokens, this.#words, (field, left, right) =>
      this.#areNeighbours({ field, left, right })
    )
    if (respelled === undefined) return
    const last = query.tokens.at(-1)
    const tokens = queryTokens(respelled).map((token) => ({ ...token, isLast: token.isLast && token.text === last }))
    this.#combinations.search(tokens, [], NO_RULES, false)
  }
  #fewer(lists: ReadonlyArray<ReadonlyArray<QueryToken>>): void {
    const query = this.#query
    const wantsMore = (): boolean => query.exhaustive || this.#count() < query.dropTokensThreshold
    if (!wantsMore()) return
    for (const [i, list] of lists.entries())
      for (const { dropped, kept } of fewerTokens(list, query.dropTokensMode, wantsMore))
        this.#combinations.search(kept, dropped, NO_RULES, i > 0)
  }
  #infix(): void {
    const [wanted] = this.#query.tokens
    const wasEmpty = this.#query.fields.some(({ infix }) => infix === "fallback") && this.#count() === 0
    for (const [field, { infix }] of this.#query.fields.entries()) {
      if (infix === "off" || (infix === "fallback" && !wasEmpty)) continue
      const words = this.#wordsAround(field, wanted)
      if (words.length > 0) this.tried.push({ kind: "infix", field, words })
    }
  }
  #wordsAround(field: number, wanted: string): string[] {
    const { maxExtraPrefix, maxExtraSuffix } = this.#query
    const table = this.#words.columns[0][field]
    if (table === undefined || this.#words.fields[field].infix !== true) return []
    const found: Array<{ word: string; frequency: number }> = []
    for (let term = 0; term < table.terms.size; term++) {
      const word = table.terms.text(term)
      const at = word.indexOf(wanted)
      if (at < 0 || at > maxExtraPrefix || word.length - at - wanted.length > maxExtraSuffix) continue
      found.push({ word, frequency: table.frequency(term) })
    }
    return found
      .sort((a, b) => b.frequency - a.frequency)
      .slice(0, INFIX_WORDS_MAX)
      .map(({ word }) => word)
  }

  #add(words: ReadonlyArray<MatchedWord>, dropped: ReadonlyArray<QueryToken>): void {
    if (this.tried.length === TRIED_MAX) {
      this.isTooWide = true
      throw ENOUGH
    }
    this.tried.push({ kind: "words", words, dropped: dropped.map(({ text }) => text) })
  }
  #count(): number {
    if (this.tried.length === 0) return 0
    const key = triedKey(this.tried)
    const known = this.#counted.counts.get(key)
    if (known !== undefined) {
      if (known === this.#least) for (const one of this.tried.slice(this.#triedThen)) this.#barren.add(one)
      this.#triedThen = this.tried.length
      return (this.#least = known)
    }
    if (!this.openCounts.has(key)) {
      // Counts beyond this are not worth a request of their own.
      if (!this.#guess.isEnough && this.openCounts.size === this.#guess.most) throw ENOUGH
      this.openCounts.set(key, this.fruitful)
    }
    return this.#guess.isEnough ? Infinity : this.#least
  }
  #areNeighbours(pair: Pair): boolean {
    const key = pairKey(pair)
    const known = this.#counted.neighbours.get(key)
    if (known === undefined) this.openPairs.set(key, pair)
    return known ?? false
  }
}
