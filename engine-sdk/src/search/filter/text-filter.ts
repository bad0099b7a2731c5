/**
 * Filters on texts (engine-contract 7.2): values are compared by their tokens, a value that ends in a star by the words
 * that continue its last one.
 */
import type { StringFilter } from "../../plan.ts"
import { bitsOf, type Bits } from "../../index/bits.ts"
import { compareBytes, encodeUtf8 } from "../../index/bytes.ts"
import type { TextColumn } from "../../index/columns.ts"
import { expandTerm } from "../../index/expand.ts"
import { hasPlace, intersectTerms, isPhraseAt } from "../../index/places.ts"
import type { CollectionReader } from "../../index/reader.ts"
import type { Segment } from "../../index/segment.ts"
import { spendInFilter } from "../../budget/cutoff.ts"
import { WALKED, walkOrder } from "../../compat/walk-order.ts"

/** Steps of looking a value up. */
const VALUE_STEPS = 16

export class TextFilters {
  private readonly reader: CollectionReader
  /** Completions of a prefix value are chosen over all segments, once. */
  private readonly completions = new Map<string, ReadonlyArray<Uint8Array>>()
  constructor(reader: CollectionReader) {
    this.reader = reader
  }
  /** A fresh set of the documents with one of the values. Deleted documents may be in it. */
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
      for (const word of this.completionsOf(
        filter.field,
        value.tokens[tokens.length - 1],
        last,
        filter.prefixCandidates
      )) {
        matchTokens(column, [...tokens.slice(0, -1), word], value.match === "equals" ? "starts" : value.match, bits)
      }
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
    const ordered = [...words]
      .map(([word, worth]) => ({ bytes: encodeUtf8(word), worth }))
      .sort((a, b) => compareBytes(a.bytes, 0, a.bytes.length, b.bytes, 0, b.bytes.length))
    // Of equals those that the reference meets first, where it meets them all; else those first in the alphabet.
    const order =
      ordered.length > most && ordered.length <= most * WALKED
        ? walkOrder(
            ordered.map(({ bytes }) => bytes),
            ordered.map(({ worth }) => worth),
            "best",
            () => true
          ).map((i) => ordered[i])
        : ordered.sort((a, b) => b.worth - a.worth)
    const best = order.slice(0, most).map(({ bytes }) => bytes)
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
