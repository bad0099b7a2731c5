/**
 * Examines the best documents word by word: pairs of words, how much of the title the query covers and, for longer
 * queries, which documents they resemble.
 */
import { spend } from "../../budget/cutoff.ts"
import { DIFFUSED_TERMS_MIN, UNKNOWN, type Candidate } from "./best-documents.ts"
import { diffuse } from "./diffusion.ts"
import type { Lexicon } from "./lexicon.ts"
import { pairsOf, type WordPair } from "./pairs.ts"
import { streamNumbers, type QueryTerm, type QueryTerms } from "./query-terms.ts"
import type { TermSets } from "./term-sets.ts"
import { PARTS } from "./unit-index.ts"
import type { LengthNorms } from "./weighting.ts"

const DIFFUSION_SHARE = 0.5
const DIFFUSION_WORD_STEPS = 4
const TITLE_SHARE = 0.15

export class CloseLook {
  private readonly lexicon: Lexicon
  private readonly norms: LengthNorms
  private readonly asked: QueryTerms
  private readonly pairs: ReadonlyArray<WordPair>
  /** Number of documents that will be shown. */ private readonly wanted: number
  constructor(lexicon: Lexicon, norms: LengthNorms, asked: QueryTerms, sets: TermSets, wanted: number) {
    this.lexicon = lexicon
    this.norms = norms
    this.asked = asked
    this.pairs = pairsOf(lexicon, asked, sets)
    this.wanted = wanted
  }
  /** Sets the final scores of the best documents; the others have at most the score `rest`. */
  at(best: Candidate[], rest: number): void {
    const { terms } = this.asked
    // 0 for up to two terms, a half for three, 1 for four or more.
    const gate = Math.min(1, Math.max(0, (terms.length + 1 - DIFFUSED_TERMS_MIN) / 2))
    const titles = new Titles(this.lexicon, terms)
    for (const candidate of best) {
      for (const pair of this.pairs) candidate.score += pair.gainOf(candidate)
      candidate.score *= 1 + TITLE_SHARE * titles.share(candidate)
    }
    if (gate === 0 || best.length < 3) return
    this.spread(DIFFUSION_SHARE * gate, bestFirst(best), rest)
  }

  /** Diffuses the scores among the best, which stay ahead of the rest. */
  private spread(share: number, best: ReadonlyArray<Candidate>, rest: number): void {
    const { segments } = this.lexicon
    let words = 0
    for (const { doc, s } of best)
      for (const { streamStarts } of segments[s]) words += streamStarts[doc + 1] - streamStarts[doc]
    // Once the documents' vectors are read, diffusion runs without interruption and does not check the time.
    if (spend(words * DIFFUSION_WORD_STEPS)) return
    const scores = diffuse(this.lexicon, this.norms, best, share, this.wanted)
    let least = Infinity
    for (const score of scores) if (score !== UNKNOWN && score < least) least = score
    const lift = Math.max(0, rest - least)
    best.forEach((candidate, i) => {
      candidate.score = scores[i] === UNKNOWN ? UNKNOWN : scores[i] + lift
    })
  }
}
/** Titles that consist of the query's words score higher. The title is the unit with the greatest weight. */
class Titles {
  private readonly lexicon: Lexicon
  private readonly units: ReadonlyArray<number>
  /** The terms' numbers in the word streams, by segment and title unit. */
  private readonly wanted: ReadonlyArray<ReadonlyArray<ReadonlyArray<number>>>
  constructor(lexicon: Lexicon, terms: ReadonlyArray<QueryTerm>) {
    this.lexicon = lexicon
    const { units } = lexicon
    const heaviest = units.reduce((most, { weight }) => Math.max(most, weight), 0)
    const titles = units.flatMap(({ weight }, u) => (weight === heaviest ? [u] : []))
    this.units = titles
    this.wanted = lexicon.segments.map((_own, s) =>
      titles.map((u) => terms.flatMap((term) => streamNumbers(term, s, u, units.length)))
    )
  }
  /** The share of the title's words that are in the query, 0 to 1. */
  share({ doc, s }: Candidate): number {
    let words = 0,
      matched = 0
    for (let k = 0; k < this.units.length; k++) {
      const { lengths, stream, streamStarts } = this.lexicon.segments[s][this.units[k]]
      const wanted = this.wanted[s][k]
      words += lengths[doc]
      if (spend(lengths[doc] * wanted.length)) continue
      for (let p = streamStarts[doc], end = streamStarts[doc + 1]; p < end && stream[p] !== PARTS; p++)
        if (wanted.includes(stream[p])) matched++
    }
    return words === 0 ? 0 : Math.min(1, matched / words)
  }
}

/** Scores with the candidate's index in the lowest byte: the difference is lost in rounding, and numbers sort fast. */
const keys = new Float64Array(256),
  halves = new Uint32Array(keys.buffer)
/** At most 256 candidates, best first; of equal ones, those that came first. */
const bestFirst = (candidates: ReadonlyArray<Candidate>): Candidate[] => {
  const size = candidates.length
  for (let i = 0; i < size; i++) {
    keys[i] = candidates[i].score
    halves[2 * i] = (halves[2 * i] & ~255) | (255 - i)
  }
  keys.subarray(0, size).sort()
  const sorted: Candidate[] = []
  for (let i = size - 1; i >= 0; i--) sorted.push(candidates[255 - (halves[2 * i] & 255)])
  return sorted
}
