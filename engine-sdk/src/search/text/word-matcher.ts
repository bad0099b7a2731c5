/**
 * Finds the documents that contain every word of one combination in some field
 * (`docs/contract/matching.md#field-score`). If only the best are requested, documents are found here and scored later,
 * all combinations together (`top-k-scorer.ts`); else they are scored as they are found.
 */
import type { TextQuery } from "../../plan.ts"
import { spend } from "../../budget/cutoff.ts"
import { bestByColumn } from "./best-by-column.ts"
import { addDocs, addFirstDocs, listOfSet, matchingDocs, type PostingList } from "./candidates.ts"
import type { QueryToken } from "./candidate-words.ts"
import { addSet, commonDocs, countWithin, staysSet } from "./common-words.ts"
import { scoreHigh, scoreLow } from "./field-score.ts"
import { marks, PostingRows, postingRows } from "./posting-rows.ts"
import { RecordScorer, type CombinationScoring, type PostingCursor, type RecordRules } from "./record-scorer.ts"
import { record, scoreOnlyBest, type SegmentMatches } from "./segment-matches.ts"
import type { TermLookup } from "./term-lookup.ts"
import { SCORE_STEPS, scoreTopK, type Score, type TieColumn, type TopK } from "./top-k-scorer.ts"
import { LISTS_MAX, tokensOf, type UnscoredMatches } from "./upper-bounds.ts"

/** Maximum dropped words that are looked up in addition to those that were kept. */
export const DROP_TOKENS_MAX = 20

/** A word that was looked up, and its relation to what was typed. */
export interface MatchedWord {
  readonly word: string
  readonly typed: string
  readonly cost: number
  readonly isPrefix: boolean
}
/** The words behind a score, which highlighting marks. */
export interface Combination {
  readonly words: ReadonlyArray<MatchedWord>
  readonly dropped: ReadonlyArray<string>
}
/** A combination with its terms (`TermLookup.termsOf`). */
interface LookedUp {
  readonly words: ReadonlyArray<MatchedWord>
  readonly terms: ReadonlyArray<ReadonlyArray<number>>
  readonly droppedTerms: ReadonlyArray<ReadonlyArray<number>>
  readonly scoring: CombinationScoring
}

/** Postings of one document by field; filled and read for one document at a time. */
const fieldPostings: Int32Array[] = []

export class WordMatcher {
  /** Combinations with matches, in the order in which they were tried. */
  readonly combinations: Combination[] = []
  private readonly query: TextQuery
  private readonly lookup: TermLookup
  private readonly matches: ReadonlyArray<SegmentMatches>
  private readonly scorer: RecordScorer
  private readonly topK: TopK | undefined
  private readonly unscored: UnscoredMatches[] = []

  /** If `topK` is undefined, every document gets its score. */
  constructor(query: TextQuery, lookup: TermLookup, matches: ReadonlyArray<SegmentMatches>, topK: TopK | undefined) {
    this.query = query
    this.lookup = lookup
    this.matches = matches
    this.scorer = new RecordScorer(query)
    this.topK = topK
    if (topK !== undefined) scoreOnlyBest(matches)
  }

  /** Adds the documents with all `words`; `dropped` ones are optional and count if they occur. */
  match(words: ReadonlyArray<MatchedWord>, dropped: ReadonlyArray<QueryToken>, rules: RecordRules): void {
    const { lookup, matches } = this
    let cost = 0
    for (const word of words) cost += 2 * word.cost + (word.isPrefix ? 1 : 0)
    const texts = [...words.map(({ word }) => word), ...dropped.map(({ text }) => text)]
    const combination: LookedUp = {
      words,
      terms: words.map(({ word }) => lookup.termsOf(word)),
      droppedTerms: dropped.slice(0, DROP_TOKENS_MAX).map(({ text }) => lookup.termsOf(text)),
      scoring: {
        words: words.length,
        cost,
        mayBeExact: words.length === 1 && cost === 0,
        repeats: texts.length - new Set(texts).size,
        rules
      }
    }
    const isDeferrable = this.topK !== undefined && rules.synonym === undefined
    let hasMatches = false
    for (let s = 0; s < matches.length; s++) {
      const lists = isDeferrable ? this.listsOf(s, combination) : undefined
      const isFound =
        lists !== undefined && lists.length <= LISTS_MAX
          ? this.findUnscored(s, lists, combination)
          : this.findScored(s, combination)
      if (isFound) hasMatches = true
    }
    // Only words with matches are highlighted.
    if (hasMatches) this.combinations.push({ words, dropped: dropped.map(({ text }) => text) })
  }

  /** A word found by typo or completion must also be allowed in the field. */
  private isAsked(word: MatchedWord, field: number): boolean {
    const asked = this.query.fields[field]
    return word.cost <= asked.numTypos && (!word.isPrefix || asked.prefix)
  }

  // ---- found now, scored later --------------------------------------------------------------------------------------

  /**
   * The lists of one segment: words in order, fields within a word, then dropped words. Empty if a required word is
   * absent.
   */
  private listsOf(s: number, { droppedTerms, terms, words }: LookedUp): PostingList[] {
    const columns = this.lookup.columns[s]
    const width = columns.length
    const lists: PostingList[] = []
    for (let t = 0; t < words.length; t++) {
      const before = lists.length
      for (let f = 0; f < width; f++) {
        const term = terms[t][s * width + f]
        if (term >= 0 && this.isAsked(words[t], f)) lists.push({ word: t, field: f, column: columns[f]!, term })
      }
      if (lists.length === before) return []
    }
    // Dropped words are optional; if they occur, they count as typed.
    for (let d = 0; d < droppedTerms.length; d++)
      for (let f = 0; f < width; f++) {
        const term = droppedTerms[d][s * width + f]
        if (term >= 0) lists.push({ word: words.length + d, field: f, column: columns[f]!, term })
      }
    return lists
  }

  private findUnscored(s: number, lists: ReadonlyArray<PostingList>, { scoring }: LookedUp): boolean {
    if (lists.length === 0) return false
    const match = this.matches[s]
    let postings = match.view.segment.docs >>> 5
    for (const { column, term } of lists) postings += column.frequency(term) >>> 2
    if (spend(postings)) return false
    const size = match.view.segment.docs
    const common = commonDocs(lists, scoring.words, match.allowed, size)
    const found = common === undefined ? 0 : countWithin(common)
    if (common !== undefined && staysSet(found, size)) {
      match.count += addSet(common, match.found)
      match.docs = undefined
      this.unscored.push({ s, lists, scoring, docs: undefined })
      return true
    }
    const docs =
      common === undefined
        ? matchingDocs(lists, scoring.words, match.allowed, size, match.space.lists)
        : listOfSet(common, found, match.space.lists)
    if (docs === undefined || docs.length === 0) return false
    // As long as all matches arrived as lists, facets count over these lists.
    if (match.count === 0) {
      if (common === undefined) addFirstDocs(docs, match.found)
      else addSet(common, match.found)
      match.docs = [docs]
      match.count = docs.length
    } else {
      const fresh = addDocs(docs, match.found, match.space.lists)
      if (fresh.length > 0) match.docs?.push(fresh)
      match.count += fresh.length
    }
    this.unscored.push({ s, lists, scoring, docs })
    return true
  }

  /** Scores all found documents that can be among the best. Call it once, after all words. */
  scoreFound(): void {
    if (this.topK === undefined || this.unscored.length === 0) return
    const score = this.rowScorer()
    if (this.topK.first !== undefined) this.scoreBestByColumn(this.topK.first, this.topK.k, score)
    else
      scoreTopK(
        this.unscored,
        this.topK,
        this.matches,
        this.query.fields.map(({ weight }) => weight),
        this.query.prioritizeNumMatchingFields,
        score
      )
  }
  /** Composes the score of a document from its row of postings. */
  private rowScorer(): Score {
    const { scorer } = this
    const { columns } = this.lookup
    const width = this.query.fields.length
    while (fieldPostings.length < width) fieldPostings.push(new Int32Array(LISTS_MAX))
    const postings = fieldPostings,
      held = new Array<number>(width).fill(0)
    return (one, doc, row, mark) => {
      const { lists, s, scoring } = one
      held.fill(0)
      for (let bit = 0; bit < lists.length; bit++) {
        if ((mark & (1 << bit)) === 0) continue
        const { field } = lists[bit]
        postings[field][held[field]++] = postingRows[row + bit]
      }
      scorer.composeScore(doc, columns[s], postings, held, scoring, tokensOf(one, mark))
    }
  }
  /** Scores all documents that may be among the k best by a column that comes before any score. */
  private scoreBestByColumn(columns: ReadonlyArray<TieColumn>, k: number, score: Score): void {
    const { matches } = this
    const best = bestByColumn(matches, columns, k)
    for (const one of this.unscored) {
      const { lists, s, scoring } = one
      const match = matches[s]
      const { docs: size } = match.view.segment
      const docs = matchingDocs(lists, scoring.words, best[s], size, match.space.lists)
      if (docs === undefined) continue
      const rows = new PostingRows(lists, scoring.words, docs, size)
      for (let i = 0; i < docs.length; i++) {
        if (spend(SCORE_STEPS)) return
        const mark = rows.isMarked ? marks[i] : (1 << lists.length) - 1
        rows.fill(i, docs[i], mark)
        score(one, docs[i], i * lists.length, mark)
        record(match, docs[i], scoreHigh, scoreLow)
      }
    }
  }

  // ---- scored as they are found -------------------------------------------------------------------------------------

  private findScored(s: number, { droppedTerms, scoring, terms, words }: LookedUp): boolean {
    const columns = this.lookup.columns[s]
    const match = this.matches[s]
    const width = columns.length
    const lists: PostingCursor[][] = []
    let lead = 0,
      leadSize = Infinity
    for (let t = 0; t < words.length; t++) {
      const own: PostingCursor[] = []
      let size = 0
      for (let f = 0; f < width; f++) {
        const term = terms[t][s * width + f]
        if (term < 0 || !this.isAsked(words[t], f)) continue
        const column = columns[f]!
        own.push({ field: f, column, at: column.starts[term], end: column.starts[term + 1] })
        size += column.frequency(term)
      }
      lists.push(own)
      if (size < leadSize) {
        leadSize = size
        lead = t
      }
    }
    if (leadSize === 0) return false
    if (words.length === 1 && droppedTerms.length === 0)
      return lists[0].length === 1
        ? this.scorer.scoreList(match, lists[0][0], scoring)
        : this.scorer.scoreLists(match, lists[0], scoring)
    const extra = droppedTerms.map((own) => this.cursorsOf(s, own))
    return this.scorer.scoreAll(match, columns, lists, lead, extra, scoring)
  }
  /** A dropped word counts in every field that has it. */
  private cursorsOf(s: number, terms: ReadonlyArray<number>): PostingCursor[] {
    const columns = this.lookup.columns[s]
    const width = columns.length
    const cursors: PostingCursor[] = []
    for (let f = 0; f < width; f++) {
      const term = terms[s * width + f]
      if (term < 0) continue
      const column = columns[f]!
      cursors.push({ field: f, column, at: column.starts[term], end: column.starts[term + 1] })
    }
    return cursors
  }
}
