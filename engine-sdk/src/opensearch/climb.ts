/**
 * The ladder of a search for words (`docs/contract/matching.md#candidate-words`) over a vocabulary: which words are
 * searched together, and when that is enough. Only the cluster knows how many documents are found, so the ladder is
 * climbed again after each response; unknown counts are recorded and guessed. Otherwise pure.
 */
import type { TextQuery } from "../plan.ts"
import { type QueryToken, queryTokens } from "../search/text/candidate-words.ts"
import { fewerTokens, respell } from "../search/text/fallbacks.ts"
import type { RecordRules } from "../search/text/record-scorer.ts"
import { candidatesMax } from "../search/text/text-search.ts"
import { WordCombinations } from "../search/text/word-combinations.ts"
import type { MatchedWord } from "../search/text/word-matcher.ts"
import { AskingWords, type KnownWords } from "./known-words.ts"

/** Maximum combinations tried in one search. */
const TRIED_MAX = 1_000
/** Maximum words that contain another word, most frequent first. */
const INFIX_WORDS_MAX = 1_000

/** Either words that a document must all have, each in any field, or one of `words` in one field. */
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
/** Results that the cluster has returned so far. */
interface Counted {
  /** Number of documents, by `triedKey`. */ readonly counts: ReadonlyMap<string, number>
  /** Whether they are adjacent anywhere, by `pairKey`. */ readonly neighbours: ReadonlyMap<string, boolean>
}
/** How unknown counts are guessed: as enough, or up to `most` times as the last known count; then the climb stops. */
export type CountGuess = { readonly isEnough: true } | { readonly isEnough: false; readonly most: number }

/** Thrown to end a climb that has guessed often enough. */
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
  /** Those that are known to find nothing beyond what the ones before them find. */
  readonly #barren = new Set<Tried>()
  /** Counts that are not known, with what had been tried by then. */
  readonly openCounts = new Map<string, ReadonlyArray<Tried>>()
  readonly openPairs = new Map<string, Pair>()
  /** The search would need more combinations than are allowed. */ isTooWide = false
  readonly #query: TextQuery
  readonly #words: KnownWords
  readonly #counted: Counted
  readonly #guess: CountGuess
  readonly #combinations: WordCombinations
  /** The last known count; trying more never finds fewer documents. */ #least = 0
  /** Length of `tried` at the last known count. */ #triedThen = 0

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
  /** Climbs the ladder; every guess is recorded in `openCounts`, `openPairs` or the words' questions. */
  run(): this {
    try {
      this.#climb()
    } catch (error) {
      if (error !== ENOUGH) throw error
    }
    return this
  }
  /** The combinations that find documents, as far as known. */
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
      // Counts beyond this number do not justify another request.
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
