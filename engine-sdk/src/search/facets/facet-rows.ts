/** The sets that facets count, and the counts of a value before it is shown. */
import type { TokenSpan } from "../../analysis/tokens.ts"
import type { Bits } from "../../index/bits.ts"
import { compareUtf8, encodeUtf8 } from "../../index/bytes.ts"
import type { SegmentView } from "../../index/reader.ts"
import type { TokenMatcher } from "../highlight/highlight-text.ts"

/** What is counted: documents of one segment, or with grouping the group number of each document. */
export interface FacetedSet {
  readonly view: SegmentView
  readonly bits: Bits
  readonly groupOf?: (doc: number) => number
  /** Every live document: counts of the whole segment are cached with it. */ readonly isAll?: boolean
  /** Number of set bits, if known. */ readonly count?: number
  /** The same documents as numbers, each once, if available. */ docs?: ReadonlyArray<Uint32Array>
  /** Live documents that are not in the set, if these are fewer. */ others?: Uint32Array
}

export interface Counted {
  count: number
  /** The value's number in the field's dictionary, if it was counted by number. */ readonly value?: number
  /** One document that has the value: a parent object is read from it. */ view: SegmentView
  doc: number
  /** Best sibling value, for `sort_by: field`. */ sibling?: number
}

/** `found`: the match of a facet query in the value; it is marked only if the value is shown. */
export interface Row {
  readonly value: string
  readonly counted: Counted
  readonly found?: { readonly spans: ReadonlyArray<TokenSpan>; readonly matcher: TokenMatcher }
}
export const rowsOf = (counted: ReadonlyMap<string, Counted>): Row[] =>
  [...counted].map(([value, entry]) => ({ value, counted: entry }))

/** Count descending, then shorter value first, then alphabetically later first. */
export const compareCounts = (a: string, countA: number, b: string, countB: number): number => {
  if (countA !== countB) return countB - countA
  const lengthA = isAscii(a) ? a.length : encodeUtf8(a).length,
    lengthB = isAscii(b) ? b.length : encodeUtf8(b).length
  return lengthA !== lengthB ? lengthA - lengthB : compareUtf8(b, a)
}
const isAscii = (text: string): boolean => {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) >= 0x80) return false
  return true
}
