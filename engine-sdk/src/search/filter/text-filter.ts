/**
 * Filters on strings (`docs/contract/filters.md#strings`): values are compared by their tokens; a value that ends in a
 * star matches the words that complete its last token.
 */
import type { StringFilter } from "../../filter.ts"
import { bitsOf, type Bits } from "../../index/bits.ts"
import { encodeUtf8 } from "../../index/bytes.ts"
import type { TextColumn } from "../../index/columns.ts"
import { expandTerm } from "../../index/expand.ts"
import { hasPlace, intersectTerms, isPhraseAt } from "../../index/places.ts"
import type { CollectionReader } from "../../index/reader.ts"
import type { Segment } from "../../index/segment.ts"
import { spendInFilter } from "../../budget/cutoff.ts"
import { bestCompletions } from "../text/completions.ts"

/** Cost of looking up a value, in steps. */
const VALUE_STEPS = 16

export class TextFilters {
  private readonly reader: CollectionReader
  /** Completions of a prefix value are chosen once, over all segments. */
  private readonly completions = new Map<string, ReadonlyArray<Uint8Array>>()
  constructor(reader: CollectionReader) {
    this.reader = reader
  }
  /** A fresh set of the documents with one of the values. It may contain deleted documents. */
  bits(filter: StringFilter, segment: Segment): Bits {
    const bits = bitsOf(segment.docs)
    const column = segment.text(filter.field)
    if (column === undefined) return bits
    for (const value of filter.values) {
      spendInFilter(VALUE_STEPS + value.tokens.length)
      if (value.tokens.length === 0) continue
      const tokens = value.tokens.map(encodeUtf8)
      if (!value.prefix) {
        matchTokens(column, tokens, value.match, bits)
        continue
      }
      const last = tokens[tokens.length - 1]
      const words =
        value.words?.map(encodeUtf8) ??
        this.completionsOf(filter.field, value.tokens[tokens.length - 1], last, filter.prefixCandidates)
      for (const word of words)
        matchTokens(column, [...tokens.slice(0, -1), word], value.match === "equals" ? "starts" : value.match, bits)
    }
    return bits
  }

  private completionsOf(field: string, text: string, token: Uint8Array, most: number): ReadonlyArray<Uint8Array> {
    const key = `${field}\n${text}`
    const known = this.completions.get(key)
    if (known !== undefined) return known
    const words = new Map<string, number>()
    for (const { segment } of this.reader.views) {
      const column = segment.text(field)
      if (column !== undefined)
        expandTerm(column, token, 0, true, (term) => {
          spendInFilter(VALUE_STEPS)
          const word = column.terms.text(term)
          words.set(word, (words.get(word) ?? 0) + column.frequency(term))
        })
    }
    const best = bestCompletions(words, most).map(encodeUtf8)
    this.completions.set(key, best)
    return best
  }
}

const matchTokens = (
  column: TextColumn,
  tokens: ReadonlyArray<Uint8Array>,
  match: "contains" | "equals" | "phrase" | "starts",
  into: Bits
): void => {
  const terms = tokens.map((token) => column.terms.find(token))
  if (terms.includes(-1)) return
  const all = (test: Parameters<typeof intersectTerms>[2]): void => {
    intersectTerms(column, terms, test, into)
    spendInFilter(0)
  }
  if (match === "contains") return all(undefined)
  if (match === "phrase") return all((_doc, postings) => isPhraseAt(column, postings))
  const isStart = match === "starts"
  all((doc, postings) => {
    const elements = column.elementStarts === undefined ? 1 : column.elementStarts[doc + 1] - column.elementStarts[doc]
    for (let element = 0; element < elements; element++) {
      if (!isStart && column.lengthOf(doc, element) !== terms.length) continue
      let all = true
      for (let i = 0; i < terms.length && all; i++) all = hasPlace(column, postings[i], element * 0x10000 + i)
      if (all) return true
    }
    return false
  })
}
