/** The sets that facets count, and the counts of a value before it is shown. */
import type { TokenSpan } from "../../analysis/text-tokens.ts"
import type { Bits } from "../../index/bits.ts"
import { compareUtf8, encodeUtf8 } from "../../index/bytes.ts"
import type { SegmentView } from "../../index/reader.ts"
import type { TokenMatcher } from "../highlight/highlight-text.ts"

/** What is counted: documents of one segment or, with grouping, the group number of each document. */
export interface FacetedSet {
  readonly view: SegmentView
  readonly bits: Bits
  readonly groupOf?: (doc: number) => number
  /** Every live document is in it: such counts are cached with the segment. */ readonly isAll?: boolean
  /** Number of set bits, if known. */ readonly count?: number
  /** The documents of the set as numbers, each once, if available. */ docs?: ReadonlyArray<Uint32Array>
  /** Live documents outside the set, if these are fewer. */ others?: Uint32Array
}

export interface Counted {
  count: number
  /** The value's number in the field's dictionary, if it was counted by number. */ readonly value?: number
  /** The view of one document that has the value; a parent object is read from it. */ view: SegmentView
  doc: number
  /** Best sibling value, for `sort_by: field`. */ sibling?: number
}

/** `found`: the match of a facet query in the value; it is highlighted only if the value is shown. */
export interface Row {
  readonly value: string
  readonly counted: Counted
  readonly found?: { readonly spans: ReadonlyArray<TokenSpan>; readonly matcher: TokenMatcher }
}
export const rowsOf = (counted: ReadonlyMap<string, Counted>): Row[] =>
  [...counted].map(([value, entry]) => ({ value, counted: entry }))

/** Orders by count descending, then shorter value first, then reverse alphabetically. */
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
