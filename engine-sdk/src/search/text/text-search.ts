/**
 * Finds and scores documents by words (`docs/contract/matching.md#candidate-words`): from the words as typed through
 * other spellings, synonyms and fewer words to infix matches. Every segment keeps its own scores; thresholds consider
 * all segments together, so the result does not depend on how documents are distributed over them.
 */
import type { TextQuery } from "../../plan.ts"
import { encodeUtf8 } from "../../index/bytes.ts"
import type { CollectionReader } from "../../index/reader.ts"
import { isOver } from "../../budget/cutoff.ts"
import { CandidateWords, queryTokens, type QueryToken } from "./candidate-words.ts"
import { fewerTokens, infixFields, matchInfix, neighboursIn, respell } from "./fallbacks.ts"
import { scorePhrases } from "./phrases.ts"
import type { RecordRules } from "./record-scorer.ts"
import { countMatches, type SegmentMatches } from "./segment-matches.ts"
import { TermLookup, type KnownTerms } from "./term-lookup.ts"
import type { TopK } from "./top-k-scorer.ts"
import { COMBINATIONS_EXHAUSTIVE, WordCombinations } from "./word-combinations.ts"
import { WordMatcher, type Combination } from "./word-matcher.ts"

/** From this many documents on, fewer candidates of a word are examined. */
const LARGE_COLLECTION_DOCS = 500_000
const CANDIDATES = 10,
  CANDIDATES_LARGE = 4

/** What a text search returns in addition to the matches. */
interface TextSearchOutcome {
  readonly combinations: ReadonlyArray<Combination>
  /** Terms of the words that were looked up. */ readonly knownTerms: KnownTerms | undefined
}

/**
 * Fills the matches. Phrases and exclusions must already be applied to `allowed`. `countResults` returns what
 * thresholds are compared with: documents, or groups when grouping. `topK`: the order is by text score and only the
 * best are needed; undefined = score everything.
 */
export const searchText = (
  reader: CollectionReader,
  query: TextQuery,
  matches: ReadonlyArray<SegmentMatches>,
  countResults: () => number,
  topK?: TopK
): TextSearchOutcome => {
  if (query.tokens.length === 0) {
    scorePhrases(query, matches)
    return { combinations: [{ words: [], dropped: [] }], knownTerms: undefined }
  }
  return new TextSearch(reader, query, matches, countResults, topK).run()
}

class TextSearch {
  private readonly query: TextQuery
  private readonly matches: ReadonlyArray<SegmentMatches>
  private readonly countResults: () => number
  private readonly lookup: TermLookup
  private readonly matcher: WordMatcher
  private readonly combinations: WordCombinations
  /** Number of tokens of the longest spelling. */ private readonly longest: number

  constructor(
    reader: CollectionReader,
    query: TextQuery,
    matches: ReadonlyArray<SegmentMatches>,
    countResults: () => number,
    topK: TopK | undefined
  ) {
    this.query = query
    this.matches = matches
    this.countResults = countResults
    this.lookup = new TermLookup(reader, query, matches)
    this.matcher = new WordMatcher(query, this.lookup, matches, query.textMatchType === "max_score" ? topK : undefined)
    const candidates = new CandidateWords(query, this.lookup, candidatesMax(reader.documentCount, query))
    this.combinations = new WordCombinations(query, candidates, this.matcher, countResults)
    this.longest = query.synonyms.reduce((most, { tokens }) => Math.max(most, tokens.length), query.tokens.length)
  }

  run(): TextSearchOutcome {
    const { query } = this
    const tokens = queryTokens(query.tokens)
    const variants = query.synonyms.map((synonym) => queryTokens(synonym.tokens))
    this.combinations.search(tokens, [], this.rulesFor(tokens.length, undefined, this.longest), false)
    this.searchRespelled()
    for (const variant of variants)
      if (!isOver())
        this.combinations.search(variant, [], this.rulesFor(variant.length, tokens.length, this.longest), true)
    this.searchFewer([tokens, ...variants])
    this.matcher.scoreFound()
    return { combinations: [...this.matcher.combinations, ...this.searchInfix()], knownTerms: this.lookup.knownTerms }
  }

  private searchRespelled(): void {
    const { query } = this
    const mode = query.splitJoinTokens
    if (mode !== "always" && (mode !== "fallback" || countMatches(this.matches) > 0)) return
    const respelled = respell(query.tokens, this.lookup, neighboursIn(this.lookup, this.matches))
    if (respelled === undefined) return
    // A joined or split word is complete; the last word remains a prefix only if it is as typed.
    const tokens = respelled.map((text, i) => ({
      text,
      bytes: encodeUtf8(text),
      isLast: i === respelled.length - 1 && text === query.tokens.at(-1)
    }))
    this.combinations.search(tokens, [], this.rulesFor(tokens.length, undefined, this.longest), false)
  }

  /** Drops words, first from the query and then from each synonym. */
  private searchFewer(lists: ReadonlyArray<ReadonlyArray<QueryToken>>): void {
    const { query } = this
    const wantsMore = (): boolean => query.exhaustive || this.countResults() < query.dropTokensThreshold
    if (!wantsMore()) return
    for (let q = 0; q < lists.length; q++)
      for (const { dropped, kept } of fewerTokens(lists[q], query.dropTokensMode, wantsMore)) {
        if (isOver()) return
        const rules = { ...this.rulesFor(kept.length, undefined, 0), matchedTokens: undefined }
        this.combinations.search(kept, dropped, rules, q > 0)
      }
  }

  /** One combination without words for each field that was searched. */
  private searchInfix(): Combination[] {
    const combinations: Combination[] = []
    for (const field of infixFields(this.query, this.lookup, this.matches)) {
      combinations.push({ words: [], dropped: [] })
      if (!matchInfix(this.query.tokens[0], field, this.query, this.lookup, this.matches)) break
    }
    return combinations
  }

  /** `synonymOf`: number of query words that a variant of `length` words stands for. */
  private rulesFor(length: number, synonymOf: number | undefined, longest: number): RecordRules {
    const { query } = this
    return {
      exactMatch: query.prioritizeExactMatch,
      tokenPosition: query.prioritizeTokenPosition,
      synonymBit: synonymOf !== undefined && query.demoteSynonymMatch ? 0 : 1,
      synonym: synonymOf === undefined ? undefined : { query: synonymOf, variant: length, longest },
      matchedTokens: query.synonyms.length > 0 ? longest : undefined
    }
  }
}

/** Maximum candidate words of one token at one cost. */
export const candidatesMax = (documents: number, query: TextQuery): number =>
  query.maxCandidates ??
  (query.exhaustive ? COMBINATIONS_EXHAUSTIVE : documents < LARGE_COLLECTION_DOCS ? CANDIDATES : CANDIDATES_LARGE)
