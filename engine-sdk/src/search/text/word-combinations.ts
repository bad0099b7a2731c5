/**
 * Which words are searched together (`docs/contract/matching.md#candidate-words`): combinations of token costs,
 * cheapest first, then the candidate words at these costs. The search ends once enough was found without more typos.
 */
import type { TextQuery } from "../../plan.ts"
import { spend } from "../../budget/cutoff.ts"
import type { CandidateWords, QueryToken } from "./candidate-words.ts"
import type { RecordRules } from "./record-scorer.ts"
import type { MatchedWord, WordMatcher } from "./word-matcher.ts"

const COMBINATIONS = 10
export const COMBINATIONS_EXHAUSTIVE = 10_000
/** If a query has more tokens than this, they are looked up as typed. */
const TYPO_TOKENS_MAX = 30
/** Cost, in steps, of a combination of words before any document is examined. */
const COMBINATION_STEPS = 256

interface Candidates {
  readonly token: QueryToken
  readonly cost: number
  readonly words: ReadonlyArray<string>
}

type WordChoice = Pick<CandidateWords, "costsOf" | "wordsOf" | "most">
/** Finds the documents of a combination. */
type Matching = Pick<WordMatcher, "match">

export class WordCombinations {
  private readonly query: TextQuery
  private readonly candidates: WordChoice
  private readonly matcher: Matching
  private readonly countResults: () => number

  /** `countResults` returns what thresholds are compared with: documents, or groups when grouping. */
  constructor(query: TextQuery, candidates: WordChoice, matcher: Matching, countResults: () => number) {
    this.query = query
    this.candidates = candidates
    this.matcher = matcher
    this.countResults = countResults
  }

  /** Searches for all `tokens`; `dropped` ones count if they occur. With `isSynonym`, typos are not allowed. */
  search(
    tokens: ReadonlyArray<QueryToken>,
    dropped: ReadonlyArray<QueryToken>,
    rules: RecordRules,
    isSynonym: boolean
  ): void {
    const { query } = this
    const costs = tokens.map((token) => this.candidates.costsOf(token, isSynonym))
    const found = new Map<string, ReadonlyArray<string>>()
    const tried = new Set<string>()
    const limit = query.exhaustive ? COMBINATIONS_EXHAUSTIVE : COMBINATIONS
    let size = combinationCount(costs)
    for (let n = 0; n < size && n < limit; n++) {
      if (spend(COMBINATION_STEPS)) return
      const chosen = nthCosts(costs, n)
      const candidates = this.candidatesAt(tokens, chosen, dropped.length === 0, found)
      if (candidates.length === tokens.length) this.searchCandidates(candidates, dropped, rules, tried)
      else {
        // The token has no words at this cost, so all combinations are enumerated again without the cost.
        const missing = candidates.length
        costs[missing] = costs[missing].filter((cost) => cost !== chosen[missing])
        if (costs[missing].length === 0) return
        n = -1
        size = combinationCount(costs)
      }
      if (!query.exhaustive && this.countResults() >= query.typoTokensThreshold) return
    }
  }

  /** Candidates of each token at its cost, up to the first token that has none; `found` caches them. */
  private candidatesAt(
    tokens: ReadonlyArray<QueryToken>,
    costs: ReadonlyArray<number>,
    isComplete: boolean,
    found: Map<string, ReadonlyArray<string>>
  ): Candidates[] {
    const candidates: Candidates[] = []
    // A word that is looked up serves only one token of a combination; cached lookups are exempt, as recorded.
    const taken = new Set<string>()
    for (let i = 0; i < tokens.length; i++) {
      const key = `${tokens[i].text}\n${costs[i]}`
      let words = found.get(key)
      if (words === undefined) {
        const previous = i > 0 && i === tokens.length - 1 && isComplete ? candidates[i - 1].words[0] : undefined
        words = this.candidates.wordsOf(tokens[i], costs[i], previous, taken)
        if (words.length > 0) found.set(key, words)
      }
      if (words.length === 0) return candidates
      candidates.push({ token: tokens[i], cost: costs[i], words })
    }
    return candidates
  }

  /** Searches every choice of one word per token; the first token's words change fastest. */
  private searchCandidates(
    candidates: ReadonlyArray<Candidates>,
    dropped: ReadonlyArray<QueryToken>,
    rules: RecordRules,
    tried: Set<string>
  ): void {
    const total = candidates.length > TYPO_TOKENS_MAX ? 1 : candidates.reduce((n, { words }) => n * words.length, 1)
    const limit = this.query.exhaustive ? COMBINATIONS_EXHAUSTIVE : Math.max(COMBINATIONS, this.candidates.most)
    for (let n = 0; n < total && n < limit; n++) {
      if (spend(COMBINATION_STEPS)) return
      const words: MatchedWord[] = []
      let rest = n
      for (const { token, cost, words: choices } of candidates) {
        const word = choices[rest % choices.length]
        rest = Math.floor(rest / choices.length)
        words.push({
          word,
          typed: token.text,
          cost,
          isPrefix: token.isLast && byteLength(word) > token.bytes.length + cost
        })
      }
      const key = words.map(({ word }) => word).join("\n")
      if (tried.has(key)) continue
      tried.add(key)
      this.matcher.match(words, dropped, rules)
    }
  }
}

/** The costs of the n-th combination; the last token's change fastest. */
const nthCosts = (costs: ReadonlyArray<ReadonlyArray<number>>, n: number): number[] => {
  const chosen = new Array<number>(costs.length)
  for (let i = costs.length - 1, rest = n; i >= 0; i--) {
    chosen[i] = costs[i][rest % costs[i].length]
    rest = Math.floor(rest / costs[i].length)
  }
  return chosen
}
const combinationCount = (costs: ReadonlyArray<ReadonlyArray<number>>): number =>
  costs.length > TYPO_TOKENS_MAX ? 1 : costs.reduce((n, list) => n * list.length, 1)
const byteLength = (text: string): number => {
  let n = 0
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i)
    n += c < 0x80 ? 1 : c < 0x800 ? 2 : c >= 0xd800 && c < 0xe000 ? 2 : 3
  }
  return n
}
