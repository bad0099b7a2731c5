/**
 * Combinations whose words are all common. Their documents are a set, joined 32 at a time. It stays a set, so that no
 * work is done for a document unless it may be among the best (`field-slices.ts`).
 */
import { popcount32, type Bits, type ReadonlyBits } from "../../index/bits.ts"
import { jointSet, rarestWord, type DocumentSet, type PostingList } from "./candidates.ts"

/** A combination stays a set if its rarest word, and the documents that remain, cover this share of a segment. */
const COMMON_FACTOR = 24
/** Smaller segments keep no sets of words: building some for a search costs as much as they save. */
const COMMON_DOCS_MIN = 32_768
/** Maximum number of fields that contain all words; with n such fields, 2^n slices are examined. */
const COMPLETE_FIELDS_MAX = 4

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
  if (lists.some(({ word }) => word >= words)) return undefined
  const { lead, size } = rarestWord(lists, words)
  if (size * COMMON_FACTOR < docsOfSegment) return undefined
  if (completeFields(lists, words).size > COMPLETE_FIELDS_MAX) return undefined
  return jointSet(lists, words, lead, allowed, docsOfSegment)
}
/** Whether so many documents remain that listing them one by one does not pay off. */
export const staysSet = (count: number, docsOfSegment: number): boolean => count * COMMON_FACTOR >= docsOfSegment

export const countWithin = ({ masks, size }: DocumentSet): number => {
  let total = 0
  for (let i = 0; i < size; i++) total += popcount32(masks[i])
  return total
}
/** Adds the documents; returns how many were new. */
export const addSet = ({ blocks, masks, size }: DocumentSet, found: Bits): number => {
  let fresh = 0
  for (let i = 0; i < size; i++) {
    const w = blocks[i],
      before = found[w]
    found[w] = before | masks[i]
    fresh += popcount32(masks[i] & ~before)
  }
  return fresh
}
