/**
 * Compiles the words of a plan to queries: per word the best of all (field, kind of match), each worth a constant, so
 * that other tenants' words do not affect a score and shards agree. The worths only determine the window that this
 * package scores again (`window.ts`). Pure.
 */
import { encodeUtf8 } from "../index/bytes.ts"
import type { QueryField, TextQuery } from "../plan.ts"
import { allOf, anyOf, wordQuery, type QueryScope } from "./compile-filter.ts"
import { CLAUSES_MAX } from "./capabilities.ts"
import { KEY_LENGTH, storedWord, storedWords } from "./placement.ts"
import { slotsFor } from "./slots.ts"

/** Maximum words of a query that are searched; the scorer considers no more. */
const WORDS_MAX = 10
/** Words that a misspelled word may stand for, in one field. */
const EXPANSIONS_MAX = 10,
  EXPANSIONS_MIN = 2
/** Maximum respelled queries that are tried, and number of leading words that are joined or split. */
const SPELLINGS_MAX = 40,
  SPLIT_WORDS_MAX = 5

export type Typos = 0 | 1 | 2
export const WORTH = { exact: 96, beginning: 64, typo: [0, 32, 16] } as const

export interface SearchedSlot extends QueryField {
  readonly slot: string
}
/** The slots of the query's fields; undefined for a field that has no words here. */
export const searchedSlots = ({ slots }: QueryScope, { fields }: TextQuery): Array<SearchedSlot | undefined> =>
  fields.map((field) => {
    const slot = slotsFor(slots, field.field)?.words
    return slot === undefined ? undefined : { ...field, slot }
  })
const searched = (scope: QueryScope, query: TextQuery): SearchedSlot[] =>
  searchedSlots(scope, query).flatMap((field) => field ?? [])

/** Maximum typos in a word (`docs/contract/matching.md#candidate-words`). */
export const typosOf = (query: TextQuery, word: string): Typos => {
  if (!query.typosForNumericalTokens && /^\d+$/.test(word)) return 0
  if (!query.typosForAlphaNumericalTokens && /[^\p{L}\p{N}\p{M}]/u.test(word)) return 0
  const { length } = encodeUtf8(word)
  return length < query.minLen1Typo ? 0 : length < query.minLen2Typo ? 1 : 2
}

interface WordsAsked {
  readonly words: ReadonlyArray<string>
  readonly typos: Typos
  /** The last word may be unfinished. */ readonly mayContinue: boolean
}
/** Matches documents that have every word in some field. */
export const wordsQuery = (scope: QueryScope, query: TextQuery, { words, typos, mayContinue }: WordsAsked): object => {
  const fields = searched(scope, query)
  const kept = words.slice(0, WORDS_MAX)
  const expansions = Math.floor(CLAUSES_MAX / Math.max(1, 2 * fields.length * kept.length))
  const most = Math.max(EXPANSIONS_MIN, Math.min(EXPANSIONS_MAX, expansions))
  return {
    bool: {
      must: kept.map((word, i) =>
        bestOf(
          fields.flatMap((field) =>
            wordClauses(scope, query, field, word, typos, mayContinue && i === kept.length - 1, most)
          )
        )
      )
    }
  }
}
export const bestOf = (queries: ReadonlyArray<object>): object =>
  queries.length === 0 ? { match_none: {} } : { dis_max: { queries } }
export const worth = (filter: object, boost: number): object => ({ constant_score: { filter, boost } })
const wordClauses = (
  { placement }: QueryScope,
  query: TextQuery,
  { slot, weight, prefix, numTypos }: SearchedSlot,
  word: string,
  typos: Typos,
  mayContinue: boolean,
  max_expansions: number
): object[] => {
  const isBeginning = prefix && mayContinue
  const clauses = [worth(wordQuery(placement, slot, word, false), WORTH.exact + weight)]
  if (isBeginning) clauses.push(worth(wordQuery(placement, slot, word, true), WORTH.beginning + weight))
  const most = Math.min(typos, numTypos, typosOf(query, word))
  for (let edits = 1; edits <= most; edits++) {
    const fuzzy = {
      value: storedWord(placement, word),
      fuzziness: edits,
      prefix_length: KEY_LENGTH,
      max_expansions,
      transpositions: true
    }
    const boost = WORTH.typo[edits as 1 | 2] + weight
    clauses.push(worth({ fuzzy: { [slot]: fuzzy } }, boost))
    if (isBeginning) clauses.push(worth({ fuzzy: { [`${slot}.p`]: fuzzy } }, boost))
  }
  return clauses
}

/** Matches the words as typed, and their synonyms. */
export const spelledQuery = (scope: QueryScope, query: TextQuery, typos: Typos): object =>
  union([
    wordsQuery(scope, query, { words: query.tokens, typos, mayContinue: true }),
    ...query.synonyms.map(({ tokens }) =>
      wordsQuery(scope, query, { words: tokens, typos: 0, mayContinue: query.synonymPrefix })
    ),
    ...infixQueries(scope, query, "always")
  ])
export const union = (queries: ReadonlyArray<object>): object =>
  queries.length === 1 ? queries[0] : { dis_max: { queries } }

/** Queries with adjacent words joined, or with one word split into two adjacent ones. */
export const respelledQueries = (scope: QueryScope, query: TextQuery): object[] => {
  const { tokens } = query
  const spellings: Array<{ words: ReadonlyArray<string>; pair?: readonly [string, string] }> = []
  if (tokens.length > 1) spellings.push({ words: [tokens.join("")] })
  const most = Math.min(SPLIT_WORDS_MAX, tokens.length)
  if (tokens.length > 2)
    for (let i = 1; i < most; i++)
      spellings.push({ words: [...tokens.slice(0, i - 1), tokens[i - 1] + tokens[i], ...tokens.slice(i + 1)] })
  for (let i = 0; i < most; i++)
    for (let cut = tokens[i].length - 1; cut > 0; cut--)
      spellings.push({
        words: [...tokens.slice(0, i), ...tokens.slice(i + 1)],
        pair: [tokens[i].slice(0, cut), tokens[i].slice(cut)]
      })
  return spellings
    .slice(0, SPELLINGS_MAX)
    .map(({ words, pair }) =>
      allOf([
        ...(pair === undefined ? [] : [phraseQuery(scope, query, pair)]),
        ...(words.length === 0 ? [] : [wordsQuery(scope, query, { words, typos: 0, mayContinue: false })])
      ])
    )
}

/** Queries for words that contain the first word. */
export const infixQueries = (scope: QueryScope, query: TextQuery, mode: "always" | "fallback"): object[] => {
  const [word] = query.tokens
  if (word === undefined) return []
  const value = `${storedWord(scope.placement, "*")}${word.replaceAll(/[*?\\]/g, "\\$&")}*`
  return searched(scope, query)
    .filter(({ infix }) => infix === mode)
    .map(({ slot }) => worth({ wildcard: { [slot]: { value } } }, 1))
}

export const phraseQuery = (scope: QueryScope, query: TextQuery, words: ReadonlyArray<string>): object =>
  anyOf(searched(scope, query).map(({ slot }) => ({ match_phrase: { [slot]: storedWords(scope.placement, words) } })))
/** Matches documents that contain all phrases in one field. */
export const phrasesQuery = (scope: QueryScope, query: TextQuery): object =>
  anyOf(
    searched(scope, query).map(({ slot }) =>
      allOf(query.phrases.map((phrase) => ({ match_phrase: { [slot]: storedWords(scope.placement, phrase) } })))
    )
  )
export const isAboutWords = (query: TextQuery | undefined): query is TextQuery =>
  query !== undefined && query.tokens.length > 0
