/**
 * Finding and scoring documents for words (engine-contract 5.1, 5.2): candidates per word and cost, combinations of
 * them, and the ladder of fallbacks (split and join, synonyms, dropped words, infix). Every segment keeps its own
 * scores; thresholds look at all segments together, so the result does not depend on how documents are spread over
 * them.
 */
import type { TextQuery } from "../../plan.ts"
import type { CollectionSchema, Field } from "../../schema.ts"
import { andInto, andNotInto, bitsOf, hasBit, orInto, setBit, type Bits, type ReadonlyBits } from "../../index/bits.ts"
import { compareBytes, decodeUtf8, encodeUtf8 } from "../../index/bytes.ts"
import type { TextColumn } from "../../index/columns.ts"
import { expandTerm } from "../../index/expand.ts"
import type { CollectionReader, SegmentView } from "../../index/reader.ts"
import type { StringTable } from "../../index/string-table.ts"
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
import { isOver, spend } from "../../budget/cutoff.ts"
import { isPhraseAt, intersectTerms, phraseBits } from "../../index/places.ts"
import { WALKED, walkOrder } from "../../compat/walk-order.ts"
import { addDocs, addFirstDocs, matchingDocs, type MarkedList } from "./candidates.ts"
import { postingRows } from "./posting-rows.ts"
import { MARKS_MAX, scoreBest, tokensOf, type Pending, type Wanted } from "./top-scores.ts"

const COMBINATIONS = 10
const COMBINATIONS_EXHAUSTIVE = 10_000
const TYPO_TOKENS_MAX = 30
const DROP_TOKENS_MAX = 20
const SPLIT_TOKENS_MAX = 5
const LARGE_COLLECTION = 500_000
const INFIX_SCORE = 100
const SUMMED_TERMS = 256
const PROBE_STEP = 61
const PHRASE_SCORE = 100_000
/**
 * What making a combination of words costs before any document is looked at, and a word of the vocabulary that is read.
 */
const COMBINATION_STEPS = 256,
  WORD_STEPS = 8
/** Documents that are looked at between two accounts of them. */
const BLOCK_DOCS = 4_096,
  BLOCK_MASK = BLOCK_DOCS - 1

/** A word that was looked up, and how it relates to what was typed. */
export interface MatchedWord {
  readonly word: string
  readonly typed: string
  readonly cost: number
  readonly isPrefix: boolean
}
/**
 * Index of a word's term at `segment · fields + field`, -1 where absent; undefined for a word that was not looked up.
 */
export type KnownTerms = (word: string) => Int32Array | undefined
/** The words behind a score: highlighting marks them. */
export interface Combination {
  readonly words: ReadonlyArray<MatchedWord>
  readonly dropped: ReadonlyArray<string>
}
interface QueryToken {
  readonly text: string
  readonly bytes: Uint8Array
  readonly isLast: boolean
}
interface Candidates {
  readonly token: QueryToken
  readonly cost: number
  readonly words: ReadonlyArray<string>
}
interface List {
  readonly field: number
  readonly column: TextColumn
  at: number
  readonly end: number
}

/** Result of the text part in one segment. */
export interface SegmentMatches {
  readonly view: SegmentView
  /** Documents a match may come from; undefined = all. */ readonly allowed: ReadonlyBits | undefined
  readonly found: Bits
  /**
   * Which score cells are valid: all of `found`, unless only the best were asked for; then every document that may be
   * among them.
   */
  scored: Bits
  /** The same documents in no order, where only the best were asked for. */ scoredDocs?: number[] | undefined
  high: Float64Array
  low: Float64Array
  count: number
  /** The found documents as numbers, each once, where they are at hand that way. */ docs?: Uint32Array[] | undefined
}

export const newMatches = (view: SegmentView, allowed: ReadonlyBits | undefined): SegmentMatches => {
  const n = view.segment.docs
  const cells = scratch.pop()
  const fits = cells !== undefined && cells.high.length >= n
  const found = emptyBits(n)
  return {
    view,
    allowed,
    found,
    scored: found,
    count: 0,
    high: fits ? cells.high : new Float64Array(n),
    low: fits ? cells.low : new Float64Array(n)
  }
}
/** Score cells are lent, not cleared: only cells of scored documents are ever read. Sets of documents are lent, too. */
const scratch: Array<{ high: Float64Array; low: Float64Array }> = []
const spareBits = new Map<number, Bits[]>()
const SCRATCH_MAX = 16
const emptyBits = (docs: number): Bits => {
  const bits = spareBits.get((docs + 31) >>> 5)?.pop()
  return bits === undefined ? bitsOf(docs) : bits.fill(0)
}
const keepBits = (bits: Bits): void => {
  const list = spareBits.get(bits.length)
  if (list !== undefined) {
    if (list.length < SCRATCH_MAX) list.push(bits)
  }
  // Sizes of segments that are gone must not pile up.
  else {
    if (spareBits.size >= SCRATCH_MAX) spareBits.delete(spareBits.keys().next().value!)
    spareBits.set(bits.length, [bits])
  }
}
/** To be called when nothing reads the matches any more. */
export const releaseMatches = (matches: ReadonlyArray<SegmentMatches>): void => {
  for (const { high, low, found, scored } of matches) {
    if (scratch.length < SCRATCH_MAX) scratch.push({ high, low })
    keepBits(found)
    if (scored !== found) keepBits(scored)
  }
  scratch.sort((a, b) => a.high.length - b.high.length)
}

export class TextSearch {
  readonly combinations: Combination[] = []
  private readonly reader: CollectionReader
  private readonly query: TextQuery
  private readonly matches: ReadonlyArray<SegmentMatches>
  private readonly fields: ReadonlyArray<Field>
  private readonly columns: ReadonlyArray<ReadonlyArray<TextColumn | undefined>>
  private readonly candidatesMax: number
  private readonly byBestValue: boolean
  private readonly termCache = new Map<string, Int32Array>()
  private readonly countResults: () => number
  private readonly wanted: Wanted | undefined
  private readonly pending: Pending[] = []

  /**
   * `countResults` is what thresholds compare: documents, or groups when grouping. `wanted`: the order is by text score
   * and only the best are looked at; undefined = score everything.
   */
  constructor(
    reader: CollectionReader,
    query: TextQuery,
    matches: ReadonlyArray<SegmentMatches>,
    countResults: () => number,
    wanted?: Wanted
  ) {
    this.reader = reader
    this.query = query
    this.matches = matches
    this.countResults = countResults
    this.wanted = query.textMatchType === "max_score" ? wanted : undefined
    if (this.wanted !== undefined)
      for (const match of matches) {
        match.scored = emptyBits(match.view.segment.docs)
        match.scoredDocs = []
      }
    this.fields = query.fields.map(({ field }) => fieldOf(reader.schema, field))
    this.columns = matches.map(({ view }) => query.fields.map(({ field }) => view.segment.text(field)))
    this.candidatesMax =
      query.maxCandidates ??
      (query.exhaustive ? COMBINATIONS_EXHAUSTIVE : reader.documentCount < LARGE_COLLECTION ? 10 : 4)
    this.byBestValue =
      reader.schema.default_sorting_field !== "" &&
      matches.some((_m, s) => this.columns[s].some((column) => column?.best !== undefined))
  }

  /** Fills the matches. Phrases and exclusions must already be part of `allowed`. */
  run(): void {
    const { query } = this
    const tokens = queryTokens(query.tokens)
    const variants = query.synonyms.map((synonym) => synonym.tokens)
    const longest = variants.reduce((most, variant) => Math.max(most, variant.length), tokens.length)
    if (tokens.length > 0) {
      this.searchTokens(tokens, [], this.rulesFor(tokens.length, undefined, longest), false)
      if (query.splitJoinTokens === "always" || (query.splitJoinTokens === "fallback" && this.total() === 0)) {
        const respelled = this.respell(query.tokens)
        if (respelled !== undefined)
          this.searchTokens(
            respelled.map((text) => ({ text, bytes: encodeUtf8(text), isLast: false })),
            [],
            this.rulesFor(respelled.length, undefined, longest),
            false
          )
      }
      for (const variant of variants)
        if (!isOver())
          this.searchTokens(queryTokens(variant), [], this.rulesFor(variant.length, tokens.length, longest), true)
      this.dropTokens([tokens, ...variants.map(queryTokens)])
      this.scorePending()
      this.infix()
    }
  }

  /** Documents with any of the phrases' words in no other order: what the contract calls a phrase search (4.4). */
  static phraseMatches(reader: CollectionReader, query: TextQuery, view: SegmentView): Bits {
    const all = bitsOf(view.segment.docs)
    for (const { field } of query.fields) {
      const column = view.segment.text(field)
      if (column === undefined) continue
      let inField: Bits | undefined
      for (const phrase of query.phrases) {
        const tokens = phrase.map(encodeUtf8)
        const exists = reader.views.some(({ segment }) => {
          const other = segment.text(field)
          return other !== undefined && hasAny(phraseBits(other, tokens, segment.docs))
        })
        if (!exists) continue
        const bits = phraseBits(column, tokens, view.segment.docs)
        inField = inField === undefined ? bits : andInto(inField, bits)
      }
      if (inField !== undefined) orInto(all, inField)
    }
    return all
  }

  /** Only phrases were asked: their score is a constant and the weight of the best field. */
  phrasesOnly(): void {
    const { query } = this
    this.combinations.push({ words: [], dropped: [] })
    for (let s = 0; s < this.matches.length; s++) {
      const match = this.matches[s]
      for (const { field, weight } of query.fields) {
        const column = match.view.segment.text(field)
        if (column === undefined) continue
        let bits: Bits | undefined
        for (const phrase of query.phrases) {
          const here = phraseBits(column, phrase.map(encodeUtf8), match.view.segment.docs)
          if (!hasAny(here)) continue
          bits = bits === undefined ? here : andInto(bits, here)
        }
        if (bits === undefined) continue
        spend(match.view.segment.docs)
        for (let doc = 0; doc < match.view.segment.docs; doc++)
          if (hasBit(bits, doc) && (match.allowed === undefined || hasBit(match.allowed, doc)))
            record(match, doc, 0, PHRASE_SCORE + weight)
      }
    }
  }

  private total(): number {
    let total = 0
    for (const match of this.matches) total += match.count
    return total
  }
  /** `synonymOf`: words of the query that a variant of `length` words stands for. */
  private rulesFor(length: number, synonymOf: number | undefined, longest: number): Scoring {
    const { query } = this
    return {
      exactMatch: query.prioritizeExactMatch,
      tokenPosition: query.prioritizeTokenPosition,
      synonymBit: synonymOf !== undefined && query.demoteSynonymMatch ? 0 : 1,
      synonym: synonymOf === undefined ? undefined : { query: synonymOf, variant: length, longest },
      matchedTokens: query.synonyms.length > 0 ? longest : undefined
    }
  }

  // ---- cost combinations (5.1)
  // ---------------------------------------------------------------------------------------

  private searchTokens(
    tokens: ReadonlyArray<QueryToken>,
    dropped: ReadonlyArray<QueryToken>,
    rules: Scoring,
    isSynonym: boolean
  ): void {
    const { query } = this
    const costs = tokens.map((token) => this.costsOf(token, isSynonym))
    const found = new Map<string, ReadonlyArray<string>>()
    const tried = new Set<string>()
    const limit = query.exhaustive ? COMBINATIONS_EXHAUSTIVE : COMBINATIONS
    let size = combinationCount(costs)
    for (let n = 0; n < size && n < limit; n++) {
      if (spend(COMBINATION_STEPS)) return
      const chosen = new Array<number>(costs.length)
      for (let i = costs.length - 1, rest = n; i >= 0; i--) {
        chosen[i] = costs[i][rest % costs[i].length]
        rest = Math.floor(rest / costs[i].length)
      }
      const candidates: Candidates[] = []
      // A word that is looked up serves one token of a combination only; remembered look-ups are exempt (as recorded).
      const taken = new Set<string>()
      let isRestarted = false
      for (let i = 0; i < tokens.length; i++) {
        const key = `${tokens[i].text}\n${chosen[i]}`
        let words = found.get(key)
        if (words === undefined) {
          const previous =
            i > 0 && i === tokens.length - 1 && dropped.length === 0 ? candidates[i - 1].words[0] : undefined
          words = this.candidateWords(tokens[i], chosen[i], previous, taken)
          if (words.length > 0) found.set(key, words)
        }
        if (words.length > 0) {
          candidates.push({ token: tokens[i], cost: chosen[i], words })
          continue
        }
        costs[i] = costs[i].filter((cost) => cost !== chosen[i])
        if (costs[i].length === 0) return
        n = -1
        size = combinationCount(costs)
        isRestarted = true
        break
      }
      if (!isRestarted) this.searchCandidates(candidates, dropped, rules, tried)
      if (!query.exhaustive && this.countResults() >= query.typoTokensThreshold) return
    }
  }

  private costsOf(token: QueryToken, isSynonym: boolean): number[] {
    const { query } = this
    const length = token.bytes.length
    let most = length < query.minLen1Typo ? 0 : length < query.minLen2Typo ? 1 : 2
    if (isSynonym) most = 0
    if (!query.typosForNumericalTokens && /^\d+$/.test(token.text)) most = 0
    if (!query.typosForAlphaNumericalTokens && /[^\p{L}\p{N}\p{M}]/u.test(token.text)) most = 0
    return most === 0 ? [0] : most === 1 ? [0, 1] : [0, 1, 2]
  }

  /** Words for one token at one cost: over fields by weight; the last word prefers what continues the one before it. */
  private candidateWords(
    token: QueryToken,
    cost: number,
    previous: string | undefined,
    seen: Set<string>
  ): ReadonlyArray<string> {
    const words: string[] = []
    const order = this.query.fields.map((_field, i) => i)
    if (previous !== undefined) {
      for (const field of this.fieldsHolding(previous)) {
        this.collectWords(field, token, cost, previous, words, seen)
        if (words.length >= this.candidatesMax) return words
      }
      if (order.length === 1 && words.length > 0) return words
    }
    for (const field of order) {
      if (words.length >= this.candidatesMax) break
      this.collectWords(field, token, cost, undefined, words, seen)
    }
    return words
  }
  /** Fields that hold a word, most documents first. */
  private fieldsHolding(word: string): number[] {
    const terms = this.termsOf(word)
    const width = this.fields.length
    const counted: Array<{ field: number; documents: number }> = []
    for (let field = 0; field < width; field++) {
      let documents = 0
      for (let s = 0; s < this.matches.length; s++) {
        const term = terms[s * width + field]
        if (term >= 0) documents += this.columns[s][field]!.frequency(term)
      }
      if (documents > 0) counted.push({ field, documents })
    }
    return counted.sort((a, b) => b.documents - a.documents || a.field - b.field).map(({ field }) => field)
  }

  /** Documents of a word over all segments, or the best value among them. */
  private worthOf(field: number, word: Uint8Array): number {
    let worth = 0
    for (let s = 0; s < this.matches.length; s++) {
      const column = this.columns[s][field]
      const term = column === undefined ? -1 : column.terms.find(word)
      if (term < 0) continue
      worth =
        this.byBestValue && column!.best !== undefined
          ? Math.max(worth, column!.best[term])
          : worth + column!.frequency(term)
    }
    return worth
  }

  private collectWords(
    field: number,
    token: QueryToken,
    cost: number,
    previous: string | undefined,
    words: string[],
    seen: Set<string>
  ): void {
    const asked = this.query.fields[field]
    const locale = this.fields[field].locale
    const typos = locale === "zh" || locale === "ja" || locale === "ko" ? 0 : asked.numTypos
    if (cost > typos) return
    const isPrefix = asked.prefix && token.isLast
    if (cost === 0 && !isPrefix) {
      if (seen.has(token.text)) return
      const terms = this.termsOf(token.text)
      for (let s = 0; s < this.matches.length; s++) {
        const term = terms[s * this.fields.length + field]
        if (term >= 0 && this.isUsable(s, field, term, previous)) {
          seen.add(token.text)
          words.push(token.text)
          return
        }
      }
      return
    }
    const most = this.candidatesMax
    if (cost === 0 && this.collectWalked(field, token, previous, words, seen)) return
    const merged = new Map<string, number>()
    let exact: string | undefined
    for (let s = 0; s < this.matches.length; s++) {
      const column = this.columns[s][field]
      if (column === undefined) continue
      // A word's worth is its sum over segments: with several, look at more than the best of each.
      const top = new BestTerms(this.matches.length === 1 ? most + seen.size : Math.max(most + seen.size, SUMMED_TERMS))
      expandTerm(column, token.bytes, cost, isPrefix, (term) => {
        const worth = this.byBestValue && column.best !== undefined ? column.best[term] : column.frequency(term)
        if (top.wants(worth) && this.isUsable(s, field, term, previous)) top.add(term, worth)
      })
      for (let i = 0; i < top.size; i++) {
        const word = decodeUtf8(
          column.terms.bytes,
          column.terms.offsets[top.terms[i]],
          column.terms.offsets[top.terms[i] + 1]
        )
        const known = merged.get(word)
        merged.set(
          word,
          known === undefined
            ? top.worths[i]
            : this.byBestValue
              ? Math.max(known, top.worths[i])
              : known + top.worths[i]
        )
      }
      if (cost === 0 && exact === undefined) {
        const term = column.terms.find(token.bytes)
        if (term >= 0 && this.isUsable(s, field, term, previous)) exact = token.text
      }
    }
    // What a word is worth does not depend on where its documents lie: segments in which none of them can be used count
    // too.
    if (
      this.matches.length > 1 &&
      (previous !== undefined || this.matches.some(({ allowed }) => allowed !== undefined))
    ) {
      for (const word of merged.keys()) merged.set(word, this.worthOf(field, encodeUtf8(word)))
    }
    // The word as it stands comes first and takes one of the places.
    let taken = 0
    if (exact !== undefined && !seen.has(exact)) {
      seen.add(exact)
      words.push(exact)
      taken++
    }
    const ordered = [...merged].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))
    for (const [word] of ordered) {
      if (taken >= most) break
      if (seen.has(word)) continue
      seen.add(word)
      words.push(word)
      taken++
    }
  }

  /**
   * Continuations of a prefix in the order in which the reference meets them (`walk-order.ts`), where some have to stay
   * out and it meets them all: it stops at four times the candidates. With more of them equals go by the alphabet here,
   * and false is answered. O(candidates · log terms) per segment.
   */
  private collectWalked(
    field: number,
    token: QueryToken,
    previous: string | undefined,
    words: string[],
    seen: Set<string>
  ): boolean {
    const most = this.candidatesMax
    const known = new Map<string, Uint8Array>()
    const ranges: Array<{ terms: StringTable; from: number; end: number }> = []
    let total = 0
    for (const columns of this.columns) {
      const terms = columns[field]?.terms
      if (terms === undefined) continue
      const from = terms.lowerBound(token.bytes),
        end = terms.prefixEnd(token.bytes, from)
      if (end - from > most * WALKED + 1) return false
      total += end - from
      ranges.push({ terms, from, end })
    }
    if (total <= most) return false
    for (const { terms, from, end } of ranges)
      for (let term = from; term < end; term++)
        known.set(terms.text(term), terms.bytes.subarray(terms.offsets[term], terms.offsets[term + 1]))
    if (known.size <= most || known.size > most * WALKED + 1) return false
    const found = [...known]
      .map(([text, bytes]) => ({ text, bytes }))
      .sort((a, b) => compareBytes(a.bytes, 0, a.bytes.length, b.bytes, 0, b.bytes.length))
    const isRestricted = previous !== undefined || this.matches.some(({ allowed }) => allowed !== undefined)
    const isUsable = ({ text, bytes }: { readonly text: string; readonly bytes: Uint8Array }): boolean =>
      !seen.has(text) &&
      (!isRestricted ||
        this.matches.some((_match, s) => {
          const term = this.columns[s][field]?.terms.find(bytes) ?? -1
          return term >= 0 && this.isUsable(s, field, term, previous)
        }))
    const byField = this.byBestValue && this.columns.some((columns) => columns[field]?.best !== undefined)
    const order = walkOrder(
      found.map(({ bytes }) => bytes),
      found.map(({ bytes }) => this.worthOf(field, bytes)),
      byField ? "best" : "nothing",
      (i) => found[i].text !== token.text && isUsable(found[i])
    )
    // The word as it stands comes first and takes one of the places.
    const exact = found.findIndex(({ text }) => text === token.text)
    const chosen = exact >= 0 && isUsable(found[exact]) ? [exact, ...order] : order
    for (const i of chosen.slice(0, most)) {
      seen.add(found[i].text)
      words.push(found[i].text)
    }
    return true
  }

  /** True when a live, allowed document has the term (and the previous word in the same field). */
  private isUsable(s: number, field: number, term: number, previous: string | undefined): boolean {
    const column = this.columns[s][field]!
    const { allowed } = this.matches[s]
    const before = previous === undefined ? undefined : this.documentsOf(s, field, previous)
    if (allowed === undefined && before === undefined) return true
    const { docs } = column,
      from = column.starts[term],
      end = column.starts[term + 1]
    // Documents that are alike lie together, so a few from everywhere mostly answer it.
    spend(4)
    for (let p = from; p < end; p += PROBE_STEP) if (passes(docs[p], allowed, before)) return true
    for (let p = from; p < end; p++) {
      if ((p & BLOCK_MASK) === 0 && spend(BLOCK_DOCS)) return false
      if (passes(docs[p], allowed, before)) return true
    }
    return false
  }
  private readonly documentCache = new Map<string, ReadonlyBits>()
  private documentsOf(s: number, field: number, word: string): ReadonlyBits {
    const column = this.columns[s][field]!,
      term = this.termsOf(word)[s * this.fields.length + field]
    const set = term < 0 ? undefined : column.setOf(term)
    if (set !== undefined) return set.bits
    const key = `${s}|${field}|${word}`
    let bits = this.documentCache.get(key)
    if (bits === undefined) {
      const own = bitsOf(this.matches[s].view.segment.docs)
      if (term >= 0) {
        const { docs, starts } = column
        for (let p = starts[term], end = starts[term + 1]; p < end; p++) setBit(own, docs[p])
      }
      this.documentCache.set(key, (bits = own))
    }
    return bits
  }
  readonly knownTerms: KnownTerms = (word) => this.termCache.get(word)
  /** Index of the word's term per segment and field, -1 where absent. */
  private termsOf(word: string): Int32Array {
    let terms = this.termCache.get(word)
    if (terms === undefined) {
      const bytes = encodeUtf8(word)
      const width = this.fields.length
      terms = new Int32Array(this.matches.length * width)
      for (let s = 0; s < this.matches.length; s++) {
        spend(width * WORD_STEPS)
        for (let f = 0; f < width; f++) terms[s * width + f] = this.columns[s][f]?.terms.find(bytes) ?? -1
      }
      this.termCache.set(word, terms)
    }
    return terms
  }

  // ---- word combinations
  // ---------------------------------------------------------------------------------------------

  private searchCandidates(
    candidates: ReadonlyArray<Candidates>,
    dropped: ReadonlyArray<QueryToken>,
    rules: Scoring,
    tried: Set<string>
  ): void {
    const total = candidates.length > TYPO_TOKENS_MAX ? 1 : candidates.reduce((n, { words }) => n * words.length, 1)
    const limit = this.query.exhaustive ? COMBINATIONS_EXHAUSTIVE : Math.max(COMBINATIONS, this.candidatesMax)
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
      this.searchWords(words, dropped, rules)
    }
  }

  /** Documents that hold every word in some field, scored (5.3, 5.4). */
  private searchWords(words: ReadonlyArray<MatchedWord>, dropped: ReadonlyArray<QueryToken>, rules: Scoring): void {
    let hasMatches = false
    const width = this.fields.length
    const termsOfWords = words.map(({ word }) => this.termsOf(word))
    const termsOfDropped = dropped.slice(0, DROP_TOKENS_MAX).map(({ text }) => this.termsOf(text))
    let cost = 0
    for (const word of words) cost += 2 * word.cost + (word.isPrefix ? 1 : 0)
    const mayBeExact = words.length === 1 && cost === 0
    for (let s = 0; s < this.matches.length; s++) {
      const isDeferred =
        this.wanted !== undefined && rules.synonym === undefined
          ? this.defer(s, words, termsOfWords, dropped, termsOfDropped, cost, mayBeExact, rules)
          : undefined
      if (isDeferred !== undefined) {
        if (isDeferred) hasMatches = true
        continue
      }
      const columns = this.columns[s]
      const lists: List[][] = []
      let lead = 0,
        leadSize = Infinity
      for (let t = 0; t < words.length; t++) {
        const own: List[] = []
        let size = 0
        for (let f = 0; f < width; f++) {
          const term = termsOfWords[t][s * width + f]
          if (term < 0) continue
          const asked = this.query.fields[f]
          // A word found by typo or completion still has to be allowed in this field.
          if (words[t].cost > asked.numTypos || (words[t].isPrefix && !asked.prefix)) continue
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
      if (leadSize === 0) continue
      if (words.length === 1 && lists[0].length === 1 && termsOfDropped.length === 0) {
        if (this.scoreList(this.matches[s], lists[0][0], cost, mayBeExact, rules)) hasMatches = true
        continue
      }
      if (words.length === 1 && termsOfDropped.length === 0) {
        if (this.scoreLists(this.matches[s], lists[0], cost, mayBeExact, rules)) hasMatches = true
        continue
      }
      const extra: List[][] = termsOfDropped.map((terms) => {
        const own: List[] = []
        for (let f = 0; f < width; f++) {
          const term = terms[s * width + f]
          if (term >= 0) {
            const column = columns[f]!
            own.push({ field: f, column, at: column.starts[term], end: column.starts[term + 1] })
          }
        }
        return own
      })
      if (
        this.intersect(this.matches[s], columns, lists, lead, extra, { cost, mayBeExact, rules, words: words.length })
      )
        hasMatches = true
    }
    // Only words that led somewhere are highlighted.
    if (hasMatches) this.combinations.push({ words, dropped: dropped.map(({ text }) => text) })
  }

  /**
   * Matches now, scores later: true when something matched, undefined when there are too many words and fields for it.
   */
  private defer(
    s: number,
    words: ReadonlyArray<MatchedWord>,
    termsOfWords: ReadonlyArray<Int32Array>,
    dropped: ReadonlyArray<QueryToken>,
    termsOfDropped: ReadonlyArray<Int32Array>,
    cost: number,
    mayBeExact: boolean,
    rules: Scoring
  ): boolean | undefined {
    const width = this.fields.length
    const lists: MarkedList[] = []
    for (let t = 0; t < words.length; t++) {
      const before = lists.length
      for (let f = 0; f < width; f++) {
        const term = termsOfWords[t][s * width + f]
        const asked = this.query.fields[f]
        // A word found by typo or completion still has to be allowed in this field.
        if (term >= 0 && words[t].cost <= asked.numTypos && (!words[t].isPrefix || asked.prefix))
          lists.push({ word: t, field: f, column: this.columns[s][f]!, term })
      }
      if (lists.length === before) return false
    }
    // Dropped words need not be there; where they are, they count as they stand.
    for (let d = 0; d < termsOfDropped.length; d++)
      for (let f = 0; f < width; f++) {
        const term = termsOfDropped[d][s * width + f]
        if (term >= 0) lists.push({ word: words.length + d, field: f, column: this.columns[s][f]!, term })
      }
    if (lists.length > MARKS_MAX) return undefined
    const match = this.matches[s]
    let postings = match.view.segment.docs >>> 5
    for (const { column, term } of lists) postings += column.frequency(term) >>> 2
    if (spend(postings)) return false
    const docs = matchingDocs(lists, words.length, match.allowed, match.view.segment.docs)
    if (docs === undefined) return false
    // Combinations that found everything so far have the lists that facets count over.
    if (match.count === 0) {
      addFirstDocs(docs, match.found)
      match.docs = [docs]
      match.count = docs.length
    } else {
      const fresh = addDocs(docs, match.found)
      if (fresh.length > 0) match.docs?.push(fresh)
      match.count += fresh.length
    }
    const texts = [...words.map(({ word }) => word), ...dropped.map(({ text }) => text)]
    const repeats = new Set(texts).size < texts.length
    this.pending.push({ s, lists, words: words.length, cost, mayBeExact, repeats, rules, docs })
    return true
  }
  private scorePending(): void {
    if (this.wanted === undefined || this.pending.length === 0) return
    const width = this.fields.length
    const postings = Array.from({ length: width }, () => new Int32Array(MARKS_MAX))
    const held = new Int32Array(width)
    scoreBest(
      this.pending,
      this.wanted,
      this.matches,
      this.query.fields.map(({ weight }) => weight),
      this.query.prioritizeNumMatchingFields,
      (one, i, mark) => {
        const { s, lists, cost, mayBeExact, rules, docs } = one
        held.fill(0)
        const row = i * lists.length
        for (let bit = 0; bit < lists.length; bit++) {
          if ((mark & (1 << bit)) === 0) continue
          const { field } = lists[bit]
          postings[field][held[field]++] = postingRows[row + bit]
        }
        this.composeScore(
          docs[i],
          this.columns[s],
          postings,
          held,
          { cost, mayBeExact, rules, words: tokensOf(one, mark) },
          0
        )
      }
    )
  }

  /** One word in one field: without positions there are only two scores, so none is computed per document. */
  private scoreList(match: SegmentMatches, list: List, cost: number, mayBeExact: boolean, rules: Scoring): boolean {
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
        this.composeRecord(
          Math.min(15, Math.max(rules.matchedTokens ?? 0, 1)),
          score,
          weight,
          score,
          weight,
          weight * score,
          1
        )
        high = scoreHigh
        low = scoreLow
      }
      record(match, doc, high, low)
    }
    return hasMatches
  }
  /** One word in several fields: the lists are walked together, and equal situations share a composed score. */
  private scoreLists(
    match: SegmentMatches,
    lists: ReadonlyArray<List>,
    cost: number,
    mayBeExact: boolean,
    rules: Scoring
  ): boolean {
    const { allowed } = match
    const { fields } = this.query
    const tokens = Math.min(15, Math.max(rules.matchedTokens ?? 0, 1))
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

  private intersect(
    match: SegmentMatches,
    columns: ReadonlyArray<TextColumn | undefined>,
    lists: ReadonlyArray<ReadonlyArray<List>>,
    lead: number,
    extra: ReadonlyArray<ReadonlyArray<List>>,
    scoring: DocumentScoring
  ): boolean {
    const { allowed } = match
    let hasMatches = false
    const leading = lists[lead]
    const width = this.fields.length
    /** Postings at hand per field, in word order. */
    const postings = Array.from({ length: width }, () => new Int32Array(lists.length + extra.length))
    const held = new Int32Array(width)
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
        this.score(match, doc, columns, postings, held, scoring, droppedFound)
        hasMatches = true
      }
      for (const list of leading) if (list.at < list.end && list.column.docs[list.at] === doc) list.at++
    }
  }

  private score(
    match: SegmentMatches,
    doc: number,
    columns: ReadonlyArray<TextColumn | undefined>,
    postings: ReadonlyArray<Int32Array>,
    held: Int32Array,
    scoring: DocumentScoring,
    droppedFound: number
  ): void {
    this.composeScore(doc, columns, postings, held, scoring, droppedFound)
    record(match, doc, scoreHigh, scoreLow)
  }
  /** The record score of a document from its postings per field, in `scoreHigh` and `scoreLow`. */
  private composeScore(
    doc: number,
    columns: ReadonlyArray<TextColumn | undefined>,
    postings: ReadonlyArray<Int32Array>,
    held: Int32Array,
    scoring: DocumentScoring,
    droppedFound: number
  ): void {
    const { query } = this
    const { rules } = scoring
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
          ? scoreSingle(columns[f]!, postings[f][0], doc, scoring.cost, scoring.mayBeExact, rules)
          : scoreMany(columns[f]!, postings[f], n, doc, scoring.cost, rules)
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
    const tokens = Math.min(15, Math.max(rules.matchedTokens ?? 0, scoring.words + droppedFound))
    this.composeRecord(tokens, best, bestWeight, heaviestScore, heaviest, sum, fields)
  }

  // ---- fallbacks (5.2)
  // -----------------------------------------------------------------------------------------------

  /** The first spelling with words glued together or one split in two that the first possible field knows. */
  private respell(tokens: ReadonlyArray<string>): string[] | undefined {
    for (let field = 0; field < this.fields.length; field++) {
      const exists = (word: string): boolean =>
        this.matches.some((_match, s) => this.termsOf(word)[s * this.fields.length + field] >= 0)
      const whole = tokens.join("")
      if (tokens.length > 1 && exists(whole)) return [whole]
      const most = Math.min(SPLIT_TOKENS_MAX, tokens.length)
      if (tokens.length > 2) {
        for (let i = 1; i < most; i++) {
          const joined = tokens[i - 1] + tokens[i]
          if (exists(joined)) return [...tokens.slice(0, i - 1), joined, ...tokens.slice(i + 1)]
        }
      }
      for (let i = 0; i < most; i++) {
        const token = tokens[i]
        for (let cut = token.length - 1; cut > 0; cut--) {
          const left = token.slice(0, cut),
            right = token.slice(cut)
          if (exists(left) && exists(right) && this.areNeighbours(field, left, right))
            return [...tokens.slice(0, i), left, right, ...tokens.slice(i + 1)]
        }
      }
    }
    return undefined
  }
  private areNeighbours(field: number, left: string, right: string): boolean {
    const width = this.fields.length
    return this.matches.some(({ view }, s) => {
      const a = this.termsOf(left)[s * width + field],
        b = this.termsOf(right)[s * width + field]
      if (a < 0 || b < 0) return false
      const bits = bitsOf(view.segment.docs)
      intersectTerms(
        this.columns[s][field]!,
        [a, b],
        (_doc, postings) => isPhraseAt(this.columns[s][field]!, postings),
        bits
      )
      return hasAny(view.deleted === undefined ? bits : andNotInto(bits, view.deleted))
    })
  }

  private dropTokens(lists: ReadonlyArray<ReadonlyArray<QueryToken>>): void {
    const { query } = this
    const wantsMore = (): boolean => query.exhaustive || this.countResults() < query.dropTokensThreshold
    if (!wantsMore()) return
    for (let q = 0; q < lists.length; q++) {
      const tokens = lists[q].slice(0, DROP_TOKENS_MAX)
      const mode = query.dropTokensMode
      const bothSides = mode.kind === "both_sides" && tokens.length <= mode.tokens_max
      let fromRight = mode.kind !== "left_to_right"
      let droppedCount = 0,
        directionsDone = 0
      while (wantsMore() || bothSides) {
        if (isOver()) return
        if (droppedCount >= tokens.length - 1) {
          fromRight = !fromRight
          droppedCount = 0
          directionsDone++
        }
        if (tokens.length < 2 || directionsDone >= 2) break
        const kept = fromRight ? tokens.slice(0, tokens.length - droppedCount - 1) : tokens.slice(droppedCount + 1)
        const dropped = fromRight ? tokens.slice(tokens.length - droppedCount - 1) : tokens.slice(0, droppedCount + 1)
        droppedCount++
        this.searchTokens(
          kept,
          dropped,
          { ...this.rulesFor(kept.length, undefined, 0), matchedTokens: undefined },
          q > 0
        )
      }
    }
  }

  private infix(): void {
    const { query } = this
    const wanted = query.tokens[0]
    if (wanted === undefined) return
    const wasEmpty = this.total() === 0
    for (let f = 0; f < this.fields.length; f++) {
      const mode = query.fields[f].infix
      if (mode === "off" || (mode === "fallback" && !wasEmpty) || !this.fields[f].infix) continue
      this.combinations.push({ words: [], dropped: [] })
      for (let s = 0; s < this.matches.length; s++) {
        const column = this.columns[s][f]
        if (column === undefined) continue
        const match = this.matches[s]
        for (let term = 0; term < column.terms.size; term++) {
          if (spend(WORD_STEPS + column.frequency(term))) return
          const word = column.terms.text(term)
          const at = word.indexOf(wanted)
          if (at < 0 || at > query.maxExtraPrefix || word.length - at - wanted.length > query.maxExtraSuffix) continue
          for (let p = column.starts[term]; p < column.starts[term + 1]; p++) {
            const doc = column.docs[p]
            if ((match.allowed === undefined || hasBit(match.allowed, doc)) && !hasBit(match.found, doc))
              record(match, doc, 0, INFIX_SCORE)
          }
        }
      }
    }
  }
}

interface DocumentScoring {
  readonly cost: number
  readonly mayBeExact: boolean
  readonly rules: Scoring
  readonly words: number
}
interface Scoring extends ScoreRules {
  /** What `tokens_matched` is at least, where synonyms take part. */ readonly matchedTokens: number | undefined
}

/** The `most` terms of the highest worth, in no order until read. */
class BestTerms {
  readonly terms: number[] = []
  readonly worths: number[] = []
  private readonly most: number
  constructor(most: number) {
    this.most = most
  }
  get size(): number {
    return this.terms.length
  }
  wants(worth: number): boolean {
    return this.terms.length < this.most || worth > this.worths[this.worths.length - 1]
  }
  /** Keeps descending order; equal worths stay in order of arrival. */
  add(term: number, worth: number): void {
    let at = this.terms.length
    if (at === this.most) at--
    while (at > 0 && this.worths[at - 1] < worth) {
      this.terms[at] = this.terms[at - 1]
      this.worths[at] = this.worths[at - 1]
      at--
    }
    this.terms[at] = term
    this.worths[at] = worth
  }
}

const passes = (doc: number, allowed: ReadonlyBits | undefined, before: ReadonlyBits | undefined): boolean =>
  (allowed === undefined || hasBit(allowed, doc)) && (before === undefined || hasBit(before, doc))

const record = (match: SegmentMatches, doc: number, high: number, low: number): void => {
  const word = doc >>> 5,
    bit = 1 << (doc & 31)
  // Both sets may be one and the same.
  const isScored = (match.scored[word] & bit) !== 0
  if ((match.found[word] & bit) === 0) {
    match.found[word] |= bit
    match.count++
    match.docs = undefined
  }
  if (isScored && (high < match.high[doc] || (high === match.high[doc] && low <= match.low[doc]))) return
  if (!isScored) match.scoredDocs?.push(doc)
  match.scored[word] |= bit
  match.high[doc] = high
  match.low[doc] = low
}
/**
 * Moves every list to the first posting at or behind `doc`; true when one of them is at it. Galloping, so long lists
 * are skipped.
 */
const advance = (lists: ReadonlyArray<List>, doc: number): boolean => {
  let isHere = false
  for (let i = 0; i < lists.length; i++) {
    const list = lists[i]
    const { docs } = list.column
    let at = list.at
    const { end } = list
    if (at < end && docs[at] < doc) {
      let step = 1
      while (at + step < end && docs[at + step] < doc) {
        at += step
        step *= 2
      }
      let high = Math.min(at + step, end)
      at++
      while (at < high) {
        const middle = (at + high) >>> 1
        if (docs[middle] < doc) at = middle + 1
        else high = middle
      }
      list.at = at
    }
    if (at < end && docs[at] === doc) isHere = true
  }
  return isHere
}
const queryTokens = (tokens: ReadonlyArray<string>): QueryToken[] =>
  tokens.map((text, i) => ({ text, bytes: encodeUtf8(text), isLast: i === tokens.length - 1 }))
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
const hasAny = (bits: Bits): boolean => {
  for (let i = 0; i < bits.length; i++) if (bits[i] !== 0) return true
  return false
}
const fieldOf = (schema: CollectionSchema, name: string): Field => {
  const field = schema.fields.find((candidate) => candidate.name === name)
  if (field === undefined) throw new Error(`plan names the unknown field ${name}`)
  return field
}
