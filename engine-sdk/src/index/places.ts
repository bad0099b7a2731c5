/** Token positions in a document: `element << 16 | position`, read from postings without allocation. */
import { bitsOf, setBit, type Bits } from "./bits.ts"
import { SPILLED, type TextColumn } from "./columns.ts"
import { spend } from "../budget/cutoff.ts"

/** Whether the posting has this position. */
export const hasPlace = (column: TextColumn, posting: number, place: number): boolean => {
  const loc = column.locs[posting]
  if (loc < SPILLED) return loc === place
  const at = loc - SPILLED,
    n = column.spill[at]
  for (let i = 1; i <= n; i++)
    if (column.spill[at + i] === place) {
      spend(i >>> 2)
      return true
    }
  spend(n >>> 2)
  return false
}
/** Calls `visit` with each position of a posting, in order; stops when it returns true, and returns whether it did. */
const somePlace = (column: TextColumn, posting: number, visit: (place: number) => boolean): boolean => {
  const loc = column.locs[posting]
  if (loc < SPILLED) return visit(loc)
  const at = loc - SPILLED
  for (let i = 1, n = column.spill[at]; i <= n; i++) if (visit(column.spill[at + i])) return true
  return false
}

/**
 * Documents that contain all of `terms` in one column and satisfy `test`, which receives the postings in term order.
 */
export const intersectTerms = (
  column: TextColumn,
  terms: ReadonlyArray<number>,
  test: ((doc: number, postings: ReadonlyArray<number>) => boolean) | undefined,
  into: Bits
): void => {
  if (terms.length === 0) return
  if (terms.length === 1 && test === undefined) {
    const { docs, starts } = column
    if (spend(column.frequency(terms[0]))) return
    for (let p = starts[terms[0]], end = starts[terms[0] + 1]; p < end; p++) setBit(into, docs[p])
    return
  }
  someWithAll(column, terms, (doc, postings) => {
    if (test === undefined || test(doc, postings)) setBit(into, doc)
    return false
  })
}
/**
 * Visits documents that contain all of `terms` in one column until a visit returns true; returns whether one did. Cost:
 * O(rarest postings · terms · log postings). Stops when time runs out; the caller must report the result as incomplete.
 */
export const someWithAll = (
  column: TextColumn,
  terms: ReadonlyArray<number>,
  visit: (doc: number, postings: ReadonlyArray<number>) => boolean
): boolean => {
  let lead = 0
  for (let i = 1; i < terms.length; i++) if (column.frequency(terms[i]) < column.frequency(terms[lead])) lead = i
  const postings = new Array<number>(terms.length)
  for (let p = column.starts[terms[lead]], end = column.starts[terms[lead] + 1]; p < end; p++) {
    const doc = column.docs[p]
    if (spend(terms.length * 8)) return false
    let all = true
    for (let i = 0; i < terms.length; i++) {
      const posting = i === lead ? p : column.posting(terms[i], doc)
      if (posting < 0) {
        all = false
        break
      }
      postings[i] = posting
    }
    if (all && visit(doc, postings)) return true
  }
  return false
}

/** Whether the tokens are adjacent, in order, in one element. */
export const isPhraseAt = (column: TextColumn, postings: ReadonlyArray<number>): boolean =>
  somePlace(column, postings[0], (place) => {
    for (let i = 1; i < postings.length; i++) if (!hasPlace(column, postings[i], place + i)) return false
    return true
  })

/** Documents that have the phrase in this column. */
export const phraseBits = (column: TextColumn, tokens: ReadonlyArray<Uint8Array>, docs: number): Bits => {
  const bits = bitsOf(docs)
  const terms = tokens.map((token) => column.terms.find(token))
  if (!terms.includes(-1))
    intersectTerms(
      column,
      terms,
      tokens.length > 1 ? (_doc, postings) => isPhraseAt(column, postings) : undefined,
      bits
    )
  return bits
}
