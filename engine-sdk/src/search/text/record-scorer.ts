/**
 * Scores documents from the postings of their words (`docs/contract/matching.md#field-score`): one word in one field,
 * one word in several fields, or several required words. This is the innermost loop of a search that scores everything,
 * so nothing is allocated per document.
 */
import type { TextQuery } from "../../plan.ts"
import { hasBit } from "../../index/bits.ts"
import type { TextColumn } from "../../index/columns.ts"
import { spend } from "../../budget/cutoff.ts"
import { firstFrom } from "./candidates.ts"
import {
  composeMaxScore,
  composeMaxWeight,
  composeSumScore,
  scoreHigh,
  scoreLow,
  scoreMany,
  scoreSingle,
  type ScoreRules
} from "./field-score.ts"
import { record, type SegmentMatches } from "./segment-matches.ts"

/** Documents examined between two checks of the time budget. */
const BLOCK_DOCS = 4_096,
  BLOCK_MASK = BLOCK_DOCS - 1

/** Read position in a list of postings. */
export interface PostingCursor {
  readonly field: number
  readonly column: TextColumn
  at: number
  readonly end: number
}
export interface RecordRules extends ScoreRules {
  /** Minimum of `tokens_matched`, if synonyms are involved. */ readonly matchedTokens: number | undefined
}
/** What all documents of a combination of words have in common. */
export interface CombinationScoring {
  /** Number of words that a document must contain. */ readonly words: number
  /** Cost of edits and completions over all words. */ readonly cost: number
  /** Whether there is one word, and it matched as typed. */ readonly mayBeExact: boolean
  /** Words that equal another word and share its positions. */ readonly repeats: number
  readonly rules: RecordRules
}

export class RecordScorer {
  private readonly query: TextQuery

  constructor(query: TextQuery) {
    this.query = query
  }

  /** Scores one word in one field: without positions there are only two scores, so none is computed per document. */
  scoreList(match: SegmentMatches, list: PostingCursor, scoring: CombinationScoring): boolean {
    const { cost, mayBeExact, rules } = scoring
    const tokens = tokensMatched(1, rules)
    const { allowed } = match
    const { column, at, end } = list
    const { weight } = this.query.fields[list.field]
    let known = -1,
      high = 0,
      low = 0
    let hasMatches = false
    for (let posting = at; posting < end; posting++) {
      if ((posting & BLOCK_MASK) === 0 && spend(BLOCK_DOCS * 4)) return hasMatches
      const doc = column.docs[posting]
      if (allowed !== undefined && (allowed[doc >>> 5] & (1 << (doc & 31))) === 0) continue
      hasMatches = true
      const score = scoreSingle(column, posting, doc, cost, mayBeExact, rules)
      if (score !== known) {
        known = score
        this.composeRecord(tokens, score, weight, score, weight, weight * score, 1)
        high = scoreHigh
        low = scoreLow
      }
      record(match, doc, high, low)
    }
    return hasMatches
  }
  /**
   * Scores one word in several fields: the lists are walked together, and documents with the same inputs share a
   * composed score.
   */
  scoreLists(match: SegmentMatches, lists: ReadonlyArray<PostingCursor>, scoring: CombinationScoring): boolean {
    const { allowed } = match
    const { fields } = this.query
    const { cost, mayBeExact, rules } = scoring
    const tokens = tokensMatched(1, rules)
    const n = lists.length
    const docs = lists.map(({ column }) => column.docs)
    const at = Int32Array.from(lists, (list) => list.at)
    const heads = Float64Array.from(lists, (list) => (list.at < list.end ? list.column.docs[list.at] : Infinity))
    let hasMatches = false
    let knownBest = -1,
      knownSum = -1,
      knownFields = -1,
      knownHeaviest = -1,
      high = 0,
      low = 0
    for (;;) {
      let doc = heads[0]
      for (let i = 1; i < n; i++) if (heads[i] < doc) doc = heads[i]
      if (doc === Infinity || spend(n * 4)) return hasMatches
      const isAllowed = allowed === undefined || (allowed[doc >>> 5] & (1 << (doc & 31))) !== 0
      let best = 0,
        bestWeight = 0,
        heaviest = -1,
        heaviestScore = 0,
        sum = 0,
        found = 0
      for (let i = 0; i < n; i++) {
        if (heads[i] !== doc) continue
        if (isAllowed) {
          const { weight } = fields[lists[i].field]
          const score = scoreSingle(lists[i].column, at[i], doc, cost, mayBeExact, rules)
          found++
          sum += weight * score
          if (score > best) {
            best = score
            bestWeight = weight
          }
          if (weight > heaviest || (weight === heaviest && score > heaviestScore)) {
            heaviest = weight
            heaviestScore = score
          }
        }
        heads[i] = ++at[i] < lists[i].end ? docs[i][at[i]] : Infinity
      }
      if (!isAllowed) continue
      hasMatches = true
      if (best !== knownBest || sum !== knownSum || found !== knownFields || heaviest !== knownHeaviest) {
        knownBest = best
        knownSum = sum
        knownFields = found
        knownHeaviest = heaviest
        this.composeRecord(tokens, best, bestWeight, heaviestScore, heaviest, sum, found)
        high = scoreHigh
        low = scoreLow
      }
      record(match, doc, high, low)
    }
  }
  /**
   * Scores several words: the lists of `lead`, the rarest word, are walked, and the others are advanced to its
   * documents. Words of `extra` are optional and count if they occur.
   */
  scoreAll(
    match: SegmentMatches,
    columns: ReadonlyArray<TextColumn | undefined>,
    lists: ReadonlyArray<ReadonlyArray<PostingCursor>>,
    lead: number,
    extra: ReadonlyArray<ReadonlyArray<PostingCursor>>,
    scoring: CombinationScoring
  ): boolean {
    const { allowed } = match
    let hasMatches = false
    const leading = lists[lead]
    const width = this.query.fields.length
    /** Current postings per field, in word order. */
    const postings = Array.from({ length: width }, () => new Int32Array(lists.length + extra.length))
    const held = new Array<number>(width).fill(0)
    for (;;) {
      let doc = -1
      for (const list of leading)
        if (list.at < list.end) {
          const d = list.column.docs[list.at]
          if (doc < 0 || d < doc) doc = d
        }
      if (doc < 0 || spend(lists.length * 4 + leading.length)) return hasMatches
      let isMatch = allowed === undefined || hasBit(allowed, doc)
      if (isMatch) for (let t = 0; t < lists.length && isMatch; t++) if (t !== lead) isMatch = advance(lists[t], doc)
      if (isMatch) {
        held.fill(0)
        for (let t = 0; t < lists.length; t++)
          for (const list of lists[t])
            if (list.at < list.end && list.column.docs[list.at] === doc)
              postings[list.field][held[list.field]++] = list.at
        let droppedFound = 0
        for (const list of extra) {
          if (!advance(list, doc)) continue
          droppedFound++
          for (const one of list)
            if (one.at < one.end && one.column.docs[one.at] === doc) postings[one.field][held[one.field]++] = one.at
        }
        const tokens = tokensMatched(lists.length + droppedFound, scoring.rules)
        this.composeScore(doc, columns, postings, held, scoring, tokens)
        record(match, doc, scoreHigh, scoreLow)
        hasMatches = true
      }
      for (const list of leading) if (list.at < list.end && list.column.docs[list.at] === doc) list.at++
    }
  }
  /**
   * Composes the record score of a document from its postings per field (`held` gives their number) into `scoreHigh`
   * and `scoreLow`. `tokens`: its `tokens_matched`.
   */
  composeScore(
    doc: number,
    columns: ReadonlyArray<TextColumn | undefined>,
    postings: ReadonlyArray<Int32Array>,
    held: ReadonlyArray<number>,
    scoring: CombinationScoring,
    tokens: number
  ): void {
    const { query } = this
    const { cost, mayBeExact, rules } = scoring
    let best = 0,
      bestWeight = 0,
      heaviest = -1,
      heaviestScore = 0,
      sum = 0,
      fields = 0
    for (let f = 0; f < held.length; f++) {
      const n = held[f]
      if (n === 0) continue
      const { weight } = query.fields[f]
      const score =
        n === 1
          ? scoreSingle(columns[f]!, postings[f][0], doc, cost, mayBeExact, rules)
          : scoreMany(columns[f]!, postings[f], n, doc, cost, rules)
      fields++
      sum += weight * score
      if (score > best) {
        best = score
        bestWeight = weight
      }
      if (weight > heaviest || (weight === heaviest && score > heaviestScore)) {
        heaviest = weight
        heaviestScore = score
      }
    }
    this.composeRecord(tokens, best, bestWeight, heaviestScore, heaviest, sum, fields)
  }

  private composeRecord(
    tokens: number,
    best: number,
    bestWeight: number,
    heaviestScore: number,
    heaviest: number,
    sum: number,
    fields: number
  ): void {
    const { query } = this
    const counted = query.prioritizeNumMatchingFields ? Math.min(7, fields) : 0
    if (query.textMatchType === "max_score") composeMaxScore(tokens, best, bestWeight, counted)
    else if (query.textMatchType === "max_weight") composeMaxWeight(tokens, heaviestScore, heaviest, counted)
    else composeSumScore(sum, counted)
  }
}

/** `tokens_matched` of a document in which `found` words were found. */
export const tokensMatched = (found: number, rules: RecordRules): number =>
  Math.min(15, Math.max(rules.matchedTokens ?? 0, found))

/** Advances every list to the first posting at or after `doc`; true if one of them is at it. */
const advance = (lists: ReadonlyArray<PostingCursor>, doc: number): boolean => {
  let isHere = false
  for (let i = 0; i < lists.length; i++) {
    const list = lists[i]
    const { docs } = list.column
    const at = firstFrom(docs, list.at, list.end, doc)
    list.at = at
    if (at < list.end && docs[at] === doc) isHere = true
  }
  return isHere
}
