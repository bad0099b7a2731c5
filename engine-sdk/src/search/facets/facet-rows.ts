/** What facets count, and what is counted of a value before it is shown. */
import type { TokenSpan } from "../../analysis/tokens.ts"
import type { Bits } from "../../index/bits.ts"
import { compareUtf8, encodeUtf8 } from "../../index/bytes.ts"
import type { SegmentView } from "../../index/reader.ts"
import type { TokenMatcher } from "../highlight/highlight-text.ts"

/** What is counted: documents of one segment, or with groups the group number of each document. */
export interface FacetedSet {
  readonly view: SegmentView
  readonly bits: Bits
  readonly groupOf?: (doc: number) => number
  /** Every live document: counts of the whole segment are kept with it. */ readonly isAll?: boolean
  /** Bits that are set, where that is known. */ readonly count?: number
  /** The same documents as numbers, each once, where they are at hand. */ docs?: ReadonlyArray<Uint32Array>
  /** Live documents that are not in it, where these are the fewer. */ others?: Uint32Array
}

export interface Counted {
  count: number
  /** The value's number in the dictionary of the field, where it was counted by that. */ readonly value?: number
  /** One document that has it: where a parent object is read from. */ view: SegmentView
  doc: number
  /** Best sibling value, for `sort_by: field`. */ sibling?: number
}

/** `found`: what a facet query found in the value; marked only where it is shown. */
export interface Row {
  readonly value: string
  readonly counted: Counted
  readonly found?: { readonly spans: ReadonlyArray<TokenSpan>; readonly matcher: TokenMatcher }
}
export const rowsOf = (counted: ReadonlyMap<string, Counted>): Row[] =>
  [...counted].map(([value, entry]) => ({ value, counted: entry }))

/** Count descending, then shorter value first, then alphabetically later first (9.2). */
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
