/**
 * Which words of the vocabulary a typed word may stand for (`docs/contract/matching.md#candidate-words`): the word
 * itself, words it is a prefix of, and words some edits away, best first and bounded in number.
 */
import type { TextQuery } from "../../plan.ts"
import { compareBytes, decodeUtf8, encodeUtf8, passingUtf8 } from "../../index/bytes.ts"
import type { TextColumn } from "../../index/columns.ts"
import { expandTerm } from "../../index/expand.ts"
import type { StringTable } from "../../index/string-table.ts"
import { WALKED, walkOrder } from "../../compat/walk-order.ts"
import type { TermLookup } from "./term-lookup.ts"

/** The vocabulary of one field, independent of where its documents are. */
export type WordColumn = Pick<TextColumn, "terms" | "shared" | "best" | "frequency">
/** What choosing words needs from an index. */
export interface WordLookup extends Pick<
  TermLookup,
  "fields" | "byBestValue" | "isRestricted" | "termsOf" | "fieldsHolding" | "worthOf" | "isUsable"
> {
  /** By segment and field. */ readonly columns: ReadonlyArray<ReadonlyArray<WordColumn | undefined>>
}

/** With several segments, this many words of each are examined, because worth is summed over all segments. */
const SUMMED_TERMS = 256

/** A word as it was typed. */
export interface QueryToken {
  readonly text: string
  readonly bytes: Uint8Array
  readonly isLast: boolean
}
export const queryTokens = (tokens: ReadonlyArray<string>): QueryToken[] =>
  tokens.map((text, i) => ({ text, bytes: encodeUtf8(text), isLast: i === tokens.length - 1 }))

export class CandidateWords {
  private readonly query: TextQuery
  private readonly lookup: WordLookup
  readonly most: number

  /** `most`: maximum words of one token at one cost. */
  constructor(query: TextQuery, lookup: WordLookup, most: number) {
    this.query = query
    this.lookup = lookup
    this.most = most
  }

  /** Costs at which a token is looked up, in this order. */
  costsOf(token: QueryToken, isSynonym: boolean): number[] {
    const { query } = this
    const length = token.bytes.length
    let most = length < query.minLen1Typo ? 0 : length < query.minLen2Typo ? 1 : 2
    if (isSynonym) most = 0
    if (!query.typosForNumericalTokens && /^\d+$/.test(token.text)) most = 0
    if (!query.typosForAlphaNumericalTokens && /[^\p{L}\p{N}\p{M}]/u.test(token.text)) most = 0
    return most === 0 ? [0] : most === 1 ? [0, 1] : [0, 1, 2]
  }

  /**
   * Words for one token at one cost, over fields by weight. For the last word, candidates that occur after `previous`,
   * the word before it, are preferred. Words in `seen` are left out, and those found are added to it.
   */
  wordsOf(token: QueryToken, cost: number, previous: string | undefined, seen: Set<string>): ReadonlyArray<string> {
    const words: string[] = []
    const order = this.query.fields.map((_field, i) => i)
    if (previous !== undefined) {
      for (const field of this.lookup.fieldsHolding(previous)) {
        this.collectWords(field, token, cost, previous, words, seen)
        if (words.length >= this.most) return words
      }
      if (order.length === 1 && words.length > 0) return words
    }
    for (const field of order) {
      if (words.length >= this.most) break
      this.collectWords(field, token, cost, undefined, words, seen)
    }
    return words
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
    const locale = this.lookup.fields[field].locale
    const typos = locale === "zh" || locale === "ja" || locale === "ko" ? 0 : asked.numTypos
    if (cost > typos) return
    const isPrefix = asked.prefix && token.isLast
    if (cost === 0 && !isPrefix) this.collectTyped(field, token, previous, words, seen)
    else if (cost > 0 || !this.collectWalked(field, token, previous, words, seen))
      this.collectExpanded(field, token, cost, isPrefix, previous, words, seen)
  }

  /** The word as it was typed. */
  private collectTyped(
    field: number,
    token: QueryToken,
    previous: string | undefined,
    words: string[],
    seen: Set<string>
  ): void {
    if (seen.has(token.text)) return
    const { lookup } = this
    const terms = lookup.termsOf(token.text)
    const width = lookup.fields.length
    for (let s = 0; s < lookup.columns.length; s++) {
      const term = terms[s * width + field]
      if (term < 0 || !lookup.isUsable(s, field, term, previous)) continue
      seen.add(token.text)
      words.push(token.text)
      return
    }
  }

  /**
   * Words some edits away, or completions of a prefix: those with the highest worth; equal ones in alphabetical order.
   */
  private collectExpanded(
    field: number,
    token: QueryToken,
    cost: number,
    isPrefix: boolean,
    previous: string | undefined,
    words: string[],
    seen: Set<string>
  ): void {
    const { lookup, most } = this
    const worths = new Map<string, number>()
    let exact: string | undefined
    for (let s = 0; s < lookup.columns.length; s++) {
      const column = lookup.columns[s][field]
      if (column === undefined) continue
      this.addBestTerms(s, field, column, token, cost, isPrefix, previous, seen.size, worths)
      if (cost === 0 && exact === undefined) {
        const term = column.terms.find(token.bytes)
        if (term >= 0 && lookup.isUsable(s, field, term, previous)) exact = token.text
      }
    }
    // The worth of a word does not depend on where its documents are, so segments in which none of them can be used
    // count too.
    if (lookup.columns.length > 1 && (previous !== undefined || lookup.isRestricted))
      for (const word of worths.keys()) worths.set(word, lookup.worthOf(field, passingUtf8(word)))
    // The word as typed comes first and takes one of the slots.
    let taken = 0
    if (exact !== undefined && !seen.has(exact)) {
      seen.add(exact)
      words.push(exact)
      taken++
    }
    const ordered = [...worths].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))
    for (const [word] of ordered) {
      if (taken >= most) break
      if (seen.has(word)) continue
      seen.add(word)
      words.push(word)
      taken++
    }
  }

  /** Adds the best words of one segment and their worth in it. `seenCount`: number of words that are known already. */
  private addBestTerms(
    s: number,
    field: number,
    column: WordColumn,
    token: QueryToken,
    cost: number,
    isPrefix: boolean,
    previous: string | undefined,
    seenCount: number,
    worths: Map<string, number>
  ): void {
    const { lookup } = this
    const { byBestValue } = lookup
    // A word's worth is its sum over segments, so with several segments more than the best of each are examined.
    const size = this.most + seenCount
    const top = new BestTerms(lookup.columns.length === 1 ? size : Math.max(size, SUMMED_TERMS))
    expandTerm(column, token.bytes, cost, isPrefix, (term) => {
      const worth = byBestValue && column.best !== undefined ? column.best[term] : column.frequency(term)
      if (top.wants(worth) && lookup.isUsable(s, field, term, previous)) top.add(term, worth)
    })
    const { bytes, offsets } = column.terms
    for (let i = 0; i < top.size; i++) {
      const word = decodeUtf8(bytes, offsets[top.terms[i]], offsets[top.terms[i] + 1])
      const known = worths.get(word)
      const worth = top.worths[i]
      worths.set(word, known === undefined ? worth : byBestValue ? Math.max(known, worth) : known + worth)
    }
  }

  /**
   * Completions of a prefix in the order in which the reference engine visits them (`compat/walk-order.ts`), if not all
   * fit and it visits them all: it stops at four times the candidates. If there are more, equal ones are taken in
   * alphabetical order, and false is returned. O(candidates · log terms) per segment.
   */
  private collectWalked(
    field: number,
    token: QueryToken,
    previous: string | undefined,
    words: string[],
    seen: Set<string>
  ): boolean {
    const { lookup, most } = this
    const known = new Map<string, Uint8Array>()
    const ranges: Array<{ terms: StringTable; from: number; end: number }> = []
    let total = 0
    for (const columns of lookup.columns) {
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
    const isRestricted = previous !== undefined || lookup.isRestricted
    const isUsable = ({ text, bytes }: { readonly text: string; readonly bytes: Uint8Array }): boolean =>
      !seen.has(text) &&
      (!isRestricted ||
        lookup.columns.some((columns, s) => {
          const term = columns[field]?.terms.find(bytes) ?? -1
          return term >= 0 && lookup.isUsable(s, field, term, previous)
        }))
    const byField = lookup.byBestValue && lookup.columns.some((columns) => columns[field]?.best !== undefined)
    const order = walkOrder(
      found.map(({ bytes }) => bytes),
      found.map(({ bytes }) => lookup.worthOf(field, bytes)),
      byField ? "best" : "nothing",
      (i) => found[i].text !== token.text && isUsable(found[i])
    )
    // The word as typed comes first and takes one of the slots.
    const exact = found.findIndex(({ text }) => text === token.text)
    const chosen = exact >= 0 && isUsable(found[exact]) ? [exact, ...order] : order
    for (const i of chosen.slice(0, most)) {
      seen.add(found[i].text)
      words.push(found[i].text)
    }
    return true
  }
}

/** The `most` terms with the highest worth, unordered until read. */
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
