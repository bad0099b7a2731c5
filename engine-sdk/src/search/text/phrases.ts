/**
 * Quoted phrases (`docs/contract/text.md#queries`): the documents that contain them, and their score if the query has
 * nothing else.
 */
import type { TextQuery } from "../../plan.ts"
import { andInto, bitsOf, hasAnyBit, hasBit, orInto, type Bits } from "../../index/bits.ts"
import { encodeUtf8 } from "../../index/bytes.ts"
import { phraseBits } from "../../index/places.ts"
import type { CollectionReader, SegmentView } from "../../index/reader.ts"
import { spend } from "../../budget/cutoff.ts"
import { record, type SegmentMatches } from "./segment-matches.ts"

const PHRASE_SCORE = 100_000

/**
 * Documents of one segment that have all phrases in one field. A phrase that no document of the collection has in a
 * field is ignored there.
 */
export const phraseMatches = (reader: CollectionReader, query: TextQuery, view: SegmentView): Bits => {
  const all = bitsOf(view.segment.docs)
  for (const { field } of query.fields) {
    const column = view.segment.text(field)
    if (column === undefined) continue
    let inField: Bits | undefined
    for (const phrase of query.phrases) {
      const tokens = phrase.map(encodeUtf8)
      const exists = reader.views.some(({ segment }) => {
        const other = segment.text(field)
        return other !== undefined && hasAnyBit(phraseBits(other, tokens, segment.docs))
      })
      if (!exists) continue
      const bits = phraseBits(column, tokens, view.segment.docs)
      inField = inField === undefined ? bits : andInto(inField, bits)
    }
    if (inField !== undefined) orInto(all, inField)
  }
  return all
}

/** Matches and scores a query of phrases only: the score is a constant plus the weight of the best field. */
export const scorePhrases = (query: TextQuery, matches: ReadonlyArray<SegmentMatches>): void => {
  for (const match of matches) {
    for (const { field, weight } of query.fields) {
      const column = match.view.segment.text(field)
      if (column === undefined) continue
      let bits: Bits | undefined
      for (const phrase of query.phrases) {
        const here = phraseBits(column, phrase.map(encodeUtf8), match.view.segment.docs)
        if (!hasAnyBit(here)) continue
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
