/**
 * The relevance ranking as a part of a search: it decides which documents match, and what each scores. Matches are
 * scored by BM25F over the terms of the query; the best are then examined word by word (pairs, share of the title) and
 * compared with each other (diffusion). Filters, other sort keys, facets, groups and pages are handled by the
 * execution, as for the engine-compatible scoring.
 */
import { andInto } from "../../index/bits.ts"
import type { CollectionReader } from "../../index/reader.ts"
import type { RelevanceQuery, TextMatchInfo } from "../../plan.ts"
import type { Marker } from "../highlight/highlight-text.ts"
import { isOver, spend } from "../../budget/cutoff.ts"
import { scoreOnlyBest, type SegmentMatches } from "../text/segment-matches.ts"
import { BestDocuments, lookedFor } from "./best-documents.ts"
import { CloseLook } from "./close-look.ts"
import { EveryDocument } from "./every-document.ts"
import { Lexicon } from "./lexicon.ts"
import { markerOf } from "./marking.ts"
import { COMBINED_TERMS_MAX, MatchedSets, sharesOf } from "./matched-sets.ts"
import { streamNumbers, TermResolver, type QueryTerms } from "./query-terms.ts"
import { scoreMatches } from "./score-matches.ts"
import { TermSets } from "./term-sets.ts"
import { idfOf, LengthNorms } from "./weighting.ts"

/** Cost, in steps, of one spelling of the query before any document is examined. */
const VARIANT_STEPS = 256
const COORDINATED_TERMS_MAX = 3

export class RelevanceSearch {
  private asked: ReadonlyArray<QueryTerms> = []
  /** Term numbers in the word streams, by segment, unit and term; computed for the first hit. */
  private readonly numbers: number[][] = []
  private readonly query: RelevanceQuery
  private readonly matches: ReadonlyArray<SegmentMatches>
  private readonly lexicon: Lexicon
  private readonly norms: LengthNorms
  /** Whether the order begins with the score; if not, the costly last steps are left out. */
  private readonly ordersByScore: boolean
  /** Number of top positions by score that are requested; documents that cannot be among them need no score. */
  private readonly shown: number
  constructor(
    reader: CollectionReader,
    query: RelevanceQuery,
    matches: ReadonlyArray<SegmentMatches>,
    ordersByScore: boolean,
    shown: number
  ) {
    this.query = query
    this.matches = matches
    this.ordersByScore = ordersByScore
    this.shown = shown
    this.lexicon = new Lexicon(reader, query.units)
    this.norms = new LengthNorms(query.units, this.lexicon.lengthMeans)
  }

  /** Fills the matches. Returns false if the text has only stop words, in which case this ranking does not apply. */
  run(): boolean {
    const resolver = new TermResolver(this.lexicon, this.query)
    const asked = [this.query.text, ...this.query.variants].flatMap((text, i) =>
      i > 0 && spend(VARIANT_STEPS) ? [] : (resolver.resolve(text) ?? [])
    )
    if (asked.length === 0) return false
    this.asked = asked
    for (const terms of asked) {
      if (spend(VARIANT_STEPS)) break
      if (terms.terms.length > 0) this.search(terms)
    }
    return true
  }

  /** Finds the words that highlighting marks. */
  marker(): Marker {
    return markerOf(this.asked, this.query.units[0].locale)
  }
  /**
   * How much of the query the matched words account for: 0 if no word was matched or replaced, 1 if all were. A
   * corrected word counts in full: if it counted half, product queries with typos would lose .037 nDCG@10 of .780, and
   * those of Cranfield would gain .002.
   */
  certainty(): number {
    const { terms, unknown } = this.asked[0]
    const known = terms.reduce((sum, { count }) => sum + count, 0)
    return known === 0 ? 0 : known / (known + unknown)
  }
  /** Words of the query that no document has, each with the roots that replaced it, best first. */
  misspelt(): ReadonlyMap<string, ReadonlyArray<string>> {
    return new Map(
      this.asked[0].terms.flatMap(({ misspelt, stems }) => (misspelt === undefined ? [] : [[misspelt, stems]]))
    )
  }
  /** The parts of a hit's score, under the names that the engine-compatible ranking uses; scores are millionths. */
  infoOf(score: bigint, s: number, doc: number): TextMatchInfo {
    const { units } = this.lexicon
    const { terms } = this.asked[0]
    const matched = units.map((_unit, u) => terms.filter((_term, t) => this.holds(s, doc, u, t)))
    const tokens = new Set(matched.flat())
    return {
      best_field_score: score.toString(),
      best_field_weight: Math.round(
        units.reduce((most, { weight }, u) => (matched[u].length > 0 ? Math.max(most, weight) : most), 0)
      ),
      fields_matched: matched.filter((own) => own.length > 0).length,
      num_tokens_dropped: terms.length - tokens.size,
      score: score.toString(),
      tokens_matched: tokens.size,
      typo_prefix_score: [...tokens].some(({ factor }) => factor < 1) ? 1 : 0
    }
  }

  private holds(s: number, doc: number, u: number, t: number): boolean {
    const { segments, units } = this.lexicon
    const { terms } = this.asked[0]
    const at = (s * units.length + u) * terms.length + t
    const wanted = (this.numbers[at] ??= streamNumbers(terms[t], s, u, units.length))
    const { stream, streamStarts } = segments[s][u]
    const end = streamStarts[doc + 1]
    if (wanted.length === 0 || spend((end - streamStarts[doc]) * wanted.length)) return false
    for (let p = streamStarts[doc]; p < end; p++) if (wanted.includes(stream[p])) return true
    return false
  }

  private search(asked: QueryTerms): void {
    const { compounds, terms } = asked
    const sets = new TermSets(this.lexicon, terms)
    const idfs = terms.map((_term, t) => idfOf(sets.frequency(t), this.lexicon.docs))
    const weights = terms.map(({ count }, t) => idfs[t] * count)
    const total = weights.reduce((sum, weight) => sum + weight, 0)
    const isBaseline = this.query.ranking === "bm25"
    const coordinates = !isBaseline && terms.length > 1 && terms.length <= COORDINATED_TERMS_MAX
    const looksClosely = !isBaseline && this.ordersByScore
    const areCombined = compounds.length === 0 && terms.length <= COMBINED_TERMS_MAX
    const looked = looksClosely ? lookedFor(terms.length) : 0
    const keepsAll = !looksClosely || this.shown > looked || !areCombined || this.asked.length > 1
    const best = new BestDocuments(keepsAll, looked)
    if (areCombined) {
      const needsAny = isBaseline || terms.length === 1
      if (!keepsAll) scoreOnlyBest(this.matches)
      this.scoreCombined(asked, sets, weights, total, { any: needsAny, coordinates }, best, keepsAll)
    } else {
      const needs = { share: !isBaseline && terms.length > 1, whole: !this.query.mayDropWords, coordinates }
      new EveryDocument(this.lexicon, this.norms, this.matches).score(asked, idfs, total, needs, best)
    }
    if (looksClosely && !isOver()) {
      const candidates = best.best()
      const look = new CloseLook(this.lexicon, this.norms, asked, sets, keepsAll ? Infinity : this.shown)
      look.at(candidates, best.cut)
      best.settle(candidates)
    }
    spend(best.size * 4)
    best.record(this.matches)
  }
  /** Scores the documents with all terms, or enough of those that miss the least. */
  private scoreCombined(
    { terms }: QueryTerms,
    sets: TermSets,
    weights: ReadonlyArray<number>,
    total: number,
    needs: { readonly any: boolean; readonly coordinates: boolean },
    best: BestDocuments,
    keepsAll: boolean
  ): void {
    const { lexicon, matches, norms } = this
    const matched = new MatchedSets(
      sets,
      terms.length,
      matches.map(({ view }) => ({ docs: view.segment.docs, deleted: view.deleted }))
    )
    if (needs.any) matched.addAny()
    else matched.addRichest(weights, total, this.query.mayDropWords)
    const scored = {
      lexicon,
      norms,
      terms,
      factors: terms.map(({ factor }, t) => factor * weights[t]),
      // 1 for documents that have the whole query.
      coordination:
        needs.coordinates && !matched.isWhole
          ? Array.from(sharesOf(weights), (share) => Math.sqrt(Math.min(1, share / total)))
          : undefined
    }
    matches.forEach((match, s) => {
      const set = matched.sets[s]
      if (match.allowed !== undefined) andInto(set, match.allowed)
      const most = terms.map((_term, t) => sets.count(t, s)).reduce(matched.isWhole ? minOf : sumOf)
      best.beginSegment()
      const count = scoreMatches(scored, s, set, most, best)
      if (!keepsAll) {
        match.found.set(set)
        match.count = count
      }
    })
  }
}

const minOf = (a: number, b: number): number => Math.min(a, b)
const sumOf = (a: number, b: number): number => a + b
