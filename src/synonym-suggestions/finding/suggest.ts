/**
 * Which words mean the same, derived from words that find nothing, the words that visitors used instead, and the
 * similarity of their contexts. A word that a search finds in any case is not a synonym. Pure.
 */
import type { AskedQuery, Reformulated } from "./reformulations.ts"
import type { TermVectors } from "./term-vectors.ts"
import { isFoundAnyway, wordsOf } from "./words.ts"

export interface Suggestion {
  readonly term: string
  /** Best first. */ readonly synonyms: ReadonlyArray<string>
  readonly evidence: {
    readonly searches: number
    readonly zero_hit_rate: number
    /** Visitors who used one of the synonyms instead. */ readonly reformulations: number
    /** Similarity of the first synonym's context, 0..1. */ readonly similarity: number
  }
  readonly score: number
}

const TERM_WORDS_MAX = 3
const SYNONYMS_MAX = 3
const SUGGESTIONS_MAX = 500
const ZERO_HIT_RATE_MIN = 0.5
/** Minimum number of visitors; two may agree by chance. */
const VISITORS_MIN = 3
/** The least share of a term's replacements that chose this one, with 90 % confidence. */
const SHARE_MIN = 0.33
/** How much more often a query must replace this term than other terms, because popular queries follow every query. */
const LIFT_MIN = 3
/** Weight relative to reformulations. Different contexts make it likely that the next query was for something else. */
const SIMILARITY_WEIGHT = 0.3

/** The least share that `n` of `total` makes likely (Wilson score interval). */
export const leastShare = (n: number, total: number): number => {
  const z = 1.28
  const share = n / total
  const middle = share + (z * z) / (2 * total)
  const half = z * Math.sqrt((share * (1 - share)) / total + (z * z) / (4 * total * total))
  return (middle - half) / (1 + (z * z) / total)
}
/** The words that differ between two queries, if something was replaced. */
export const replaced = (
  from: string,
  to: string
): readonly [term: ReadonlyArray<string>, by: ReadonlyArray<string>] | undefined => {
  const [a, b] = [wordsOf(from), wordsOf(to)]
  const common = new Set(a.filter((word) => b.includes(word)))
  const [term, by] = [a.filter((word) => !common.has(word)), b.filter((word) => !common.has(word))]
  const isTerm = (words: ReadonlyArray<string>) => words.length > 0 && words.length <= TERM_WORDS_MAX
  return isTerm(term) && isTerm(by) ? [term, by] : undefined
}

interface Replacements {
  readonly words: ReadonlyArray<string>
  total: number
  readonly by: Map<string, { readonly words: ReadonlyArray<string>; n: number }>
}
const replacementsOf = (pairs: ReadonlyArray<Reformulated>) => {
  const terms = new Map<string, Replacements>()
  const targets = new Map<string, number>()
  let all = 0
  for (const { from, to, visitors } of pairs) {
    const found = replaced(from, to)
    if (found === undefined) continue
    const [words, by] = found
    const [term, other] = [words.join(" "), by.join(" ")]
    const own = terms.get(term) ?? {
      words,
      total: 0,
      by: new Map<string, { readonly words: ReadonlyArray<string>; n: number }>()
    }
    terms.set(term, own)
    own.total += visitors
    const known = own.by.get(other)
    if (known === undefined) own.by.set(other, { words: by, n: visitors })
    else known.n += visitors
    targets.set(other, (targets.get(other) ?? 0) + visitors)
    all += visitors
  }
  return { terms, targets, all }
}
/** Searches whose query contains a term, and how many of them found nothing. */
const askedOf = (queries: ReadonlyArray<AskedQuery>, terms: ReadonlySet<string>) => {
  const asked = new Map<string, { searches: number; zero_hits: number }>()
  for (const { q, searches, zero_hits } of queries) {
    const words = wordsOf(q)
    const own = new Set<string>()
    for (let n = 1; n <= TERM_WORDS_MAX; n++)
      for (let at = 0; at + n <= words.length; at++) own.add(words.slice(at, at + n).join(" "))
    for (const term of own) {
      if (!terms.has(term)) continue
      const known = asked.get(term) ?? { searches: 0, zero_hits: 0 }
      known.searches += searches
      known.zero_hits += zero_hits
      asked.set(term, known)
    }
  }
  return asked
}
const rounded = (n: number): number => Math.round(n * 1e4) / 1e4

/** Best first. */
export const suggestionsOf = (
  queries: ReadonlyArray<AskedQuery>,
  pairs: ReadonlyArray<Reformulated>,
  vectors: TermVectors
): ReadonlyArray<Suggestion> => {
  const { all, targets, terms } = replacementsOf(pairs)
  const asked = askedOf(queries, new Set([...terms.keys(), ...targets.keys()]))
  const zeroRate = (term: string): number => {
    const { searches, zero_hits } = asked.get(term) ?? { searches: 0, zero_hits: 0 }
    return searches === 0 ? 0 : zero_hits / searches
  }
  const suggestions: Array<Suggestion> = []
  for (const [term, { by, total, words }] of terms) {
    const zero_hit_rate = zeroRate(term)
    if (zero_hit_rate < ZERO_HIT_RATE_MIN) continue
    const good = Array.from(by, ([other, { n, words: otherWords }]) => {
      const similarity = Math.max(0, vectors.similarity(words, otherWords) ?? 0)
      const share = leastShare(n, total)
      const lift = n / total / (targets.get(other)! / all)
      const isGood =
        n >= VISITORS_MIN &&
        share >= SHARE_MIN &&
        (lift >= LIFT_MIN || terms.size < LIFT_MIN) &&
        zeroRate(other) < ZERO_HIT_RATE_MIN &&
        !isFoundAnyway(words, otherWords)
      return { other, n, similarity, score: isGood ? share + SIMILARITY_WEIGHT * similarity : 0 }
    })
      .filter(({ score }) => score > 0)
      .sort((x, y) => y.score - x.score || (x.other < y.other ? -1 : 1))
      .slice(0, SYNONYMS_MAX)
    const [best] = good
    if (best === undefined) continue
    suggestions.push({
      term,
      synonyms: good.map(({ other }) => other),
      evidence: {
        searches: asked.get(term)?.searches ?? 0,
        zero_hit_rate: rounded(zero_hit_rate),
        reformulations: good.reduce((sum, { n }) => sum + n, 0),
        similarity: rounded(best.similarity)
      },
      score: rounded(best.score)
    })
  }
  return suggestions
    .sort((a, b) => b.score - a.score || b.evidence.searches - a.evidence.searches || (a.term < b.term ? -1 : 1))
    .slice(0, SUGGESTIONS_MAX)
}
