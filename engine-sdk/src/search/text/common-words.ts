/**
 * Combinations whose every word is common: their documents are a set, joined 32 at a time, and stay one, so that
 * nothing is done for each of them unless it may be among the best (`field-slices.ts`).
 */
import { popcount32, type Bits, type ReadonlyBits } from "../../index/bits.ts"
import { andOf, setOfWord, spanOf, spareSets, type PostingList } from "./candidates.ts"

/** A combination stays a set where its rarest word, and what is left of it, is this share of a segment. */
const COMMON_FACTOR = 24
/** Smaller segments keep no sets of words: making some for a search costs what they save. */
const COMMON_DOCS_MIN = 32_768
/** Fields that hold all words, each alone, or several: 2 to that power of slices are looked through. */
const COMPLETE_FIELDS_MAX = 4

/** Documents as bits, between two words; what lies outside of them is anything. Good until sets are joined again. */
export interface DocumentSet {
  readonly bits: ReadonlyBits
  readonly from: number
  readonly end: number
}
/** Lists of each field, where all words of the combination have one in it. */
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
/** Documents that hold every word in some field; undefined where lists are nearer. No word was dropped. */
export const commonDocs = (
  lists: ReadonlyArray<PostingList>,
  words: number,
  allowed: ReadonlyBits | undefined,
  docsOfSegment: number
): DocumentSet | undefined => {
  if (docsOfSegment < COMMON_DOCS_MIN) return undefined
  const sizes = new Float64Array(words)
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
/** True where so many are left that they are not worth being told one by one. */
export const staysSet = (count: number, docsOfSegment: number): boolean => count * COMMON_FACTOR >= docsOfSegment

export const countWithin = ({ bits, end, from }: DocumentSet): number => {
  let total = 0
  for (let w = from; w < end; w++) total += popcount32(bits[w])
  return total
}
/** Adds them; answers how many were not there before. */
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
