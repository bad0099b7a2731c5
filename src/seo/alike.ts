/**
 * Which values stand for the same documents, and which occur together, computed over numbered documents. Pure; both are
 * generators that yield where others may use the thread.
 */
import { createHash } from "node:crypto"

/** From this similarity on, two pages count as showing the same. */
export const ALIKE = 0.9
/** A document with more values than this reveals nothing about any two of them. */
const VALUES_PER_DOCUMENT_MAX = 50
const YIELD_EVERY = 200

/** Ids as sorted numbers, so that fifty thousand lists of them fit into memory. */
export const printsOf = (ids: ReadonlyArray<string>): Uint32Array =>
  Uint32Array.from(ids, (id) => createHash("md5").update(id).digest().readUInt32LE(0)).sort()

/** Jaccard similarity of two sorted lists. */
export const jaccard = (a: Uint32Array, b: Uint32Array): number => {
  let both = 0
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    if (a[i] === b[j]) {
      both++
      i++
      j++
    } else if (a[i]! < b[j]!) i++
    else j++
  }
  const either = a.length + b.length - both
  return either === 0 ? 0 : both / either
}

export interface Counted {
  readonly count: number
  readonly prints: Uint32Array
}
/** The first numbers of a list. Two lists can only be similar if these prefixes share a number. */
const prefixOf = ({ prints }: Counted): Uint32Array =>
  prints.subarray(0, prints.length - Math.ceil(ALIKE * prints.length) + 1)
/** A cheap check by counts first: a small subset of a large list is not similar to it. */
const mayBeAlike = (a: Counted, b: Counted): boolean => Math.min(a.count, b.count) >= ALIKE * Math.max(a.count, b.count)

/**
 * For each page, the index of an earlier, similar page that is itself no duplicate. `pages` are sorted largest first,
 * so that the larger one stays. Only pages that share a number of their prefixes are compared.
 */
export function* duplicatesOf(pages: ReadonlyArray<Counted>): Generator<void, ReadonlyMap<number, number>> {
  const found = new Map<number, number>()
  const leaders = new Map<number, Array<number>>()
  for (const [at, page] of pages.entries()) {
    if (at % YIELD_EVERY === YIELD_EVERY - 1) yield
    const prefix = prefixOf(page)
    const candidates = new Set<number>()
    for (const print of prefix)
      for (const leader of leaders.get(print) ?? [])
        if (candidates.size < VALUES_PER_DOCUMENT_MAX && mayBeAlike(pages[leader]!, page)) candidates.add(leader)
    const leader = [...candidates].find((each) => jaccard(pages[each]!.prints, page.prints) >= ALIKE)
    if (leader !== undefined) {
      found.set(at, leader)
      continue
    }
    for (const print of prefix) {
      const known = leaders.get(print)
      if (known === undefined) leaders.set(print, [at])
      else known.push(at)
    }
  }
  return found
}

/** For each page, the indexes of other pages that share documents with it, those that share most first. */
export function* metTogether(
  pages: ReadonlyArray<Counted>,
  most: number
): Generator<void, ReadonlyArray<ReadonlyArray<number>>> {
  const byDocument = new Map<number, Array<number>>()
  for (const [at, { prints }] of pages.entries()) {
    if (at % YIELD_EVERY === 0) yield
    for (const print of prints) {
      const known = byDocument.get(print)
      if (known === undefined) byDocument.set(print, [at])
      else if (known.length < VALUES_PER_DOCUMENT_MAX) known.push(at)
    }
  }
  const related: Array<ReadonlyArray<number>> = []
  for (const [at, { prints }] of pages.entries()) {
    if (at % YIELD_EVERY === 0) yield
    const shared = new Map<number, number>()
    for (const print of prints)
      for (const other of byDocument.get(print) ?? []) if (other !== at) shared.set(other, (shared.get(other) ?? 0) + 1)
    related.push(
      [...shared]
        .sort(([a, n], [b, m]) => m - n || a - b)
        .slice(0, most)
        .map(([other]) => other)
    )
  }
  return related
}
