/**
 * Combinations whose words are all common. Their documents are a set, joined 32 at a time. It stays a set, so that no
 * work is done for a document unless it may be among the best (`field-slices.ts`).
 */
import { popcount32, type Bits, type ReadonlyBits } from "../../index/bits.ts"
import { andOf, setOfWord, spanOf, spareSets, type PostingList } from "./candidates.ts"

/** A combination stays a set if its rarest word, and the documents that remain, cover this share of a segment. */
const COMMON_FACTOR = 24
/** Smaller segments keep no sets of words: building some for a search costs as much as they save. */
const COMMON_DOCS_MIN = 32_768
/** Maximum number of fields that contain all words; with n such fields, 2^n slices are examined. */
const COMPLETE_FIELDS_MAX = 4

/** Documents as bits, valid between two set words; bits outside are undefined. Valid until sets are joined again. */
export interface DocumentSet {
  readonly bits: ReadonlyBits
  readonly from: number
  readonly end: number
}
/** Lists of each field in which all words of the combination occur. */
export const completeFields = (lists: ReadonlyArray<PostingList>, words: number): Map<number, PostingList[]> => {
  const fields = new Map<number, PostingList[]>()
  for (const list of lists) {
    const own = fields.get(list.field)
    if (own === undefined) fields.set(list.field, [list])
    else own.push(list)
  }
  for (const [field, own] of fields) if (own.length < words) fields.delete(field)
  return fields
}
/** Documents that contain every word in some field; undefined if lists are faster. Only used if no word was dropped. */
export const commonDocs = (
  lists: ReadonlyArray<PostingList>,
  words: number,
  allowed: ReadonlyBits | undefined,
  docsOfSegment: number
): DocumentSet | undefined => {
  if (docsOfSegment < COMMON_DOCS_MIN) return undefined
  const sizes = new Array<number>(words).fill(0)
  for (const { column, term, word } of lists) {
    if (word >= words) return undefined
    sizes[word] += column.frequency(term)
  }
  let lead = 0
  for (let word = 1; word < words; word++) if (sizes[word] < sizes[lead]) lead = word
  if (sizes[lead] * COMMON_FACTOR < docsOfSegment) return undefined
  if (completeFields(lists, words).size > COMPLETE_FIELDS_MAX) return undefined
  const [bits, other] = spareSets(docsOfSegment)
  const [from, end] = spanOf(lists, lead)
  let within = setOfWord(bits, lists, lead, from, end)
  for (let word = 0; word < words; word++)
    if (word !== lead) within = andOf(bits, within, setOfWord(other, lists, word, from, end), from, end)
  if (allowed !== undefined) within = andOf(bits, within, allowed, from, end)
  return { bits: within, from, end }
}
/** Whether so many documents remain that listing them one by one does not pay off. */
export const staysSet = (count: number, docsOfSegment: number): boolean => count * COMMON_FACTOR >= docsOfSegment

export const countWithin = ({ bits, end, from }: DocumentSet): number => {
  let total = 0
  for (let w = from; w < end; w++) total += popcount32(bits[w])
  return total
}
/** Adds the documents; returns how many were new. */
export const addSet = ({ bits, end, from }: DocumentSet, found: Bits): number => {
  let fresh = 0
  for (let w = from; w < end; w++) {
    const before = found[w],
      added = bits[w] & ~before
    if (added === 0) continue
    found[w] = before | added
    fresh += popcount32(added)
  }
  return fresh
}
