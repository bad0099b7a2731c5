/**
 * Words of a vocabulary within an edit distance of a typed word. The vocabulary is sorted, so neighbours share prefixes
 * and with them rows of the distance matrix; if a prefix is already too far, all words with it are skipped.
 */
import { spend } from "../budget/cutoff.ts"
import type { TextColumn } from "./columns.ts"
import type { StringTable } from "./string-table.ts"

const FAR = 99
let rows = new Uint8Array(64 * 64)
/** Smallest distance of any prefix up to each depth. */
let nearest = new Uint8Array(256)

/**
 * Calls `visit` with every term whose distance to `token` is exactly `cost`, in term order. An adjacent transposition
 * counts as one edit, except of the first two letters (as recorded). With `prefix`, the distance of a term is that of
 * its nearest prefix that is not shorter than the token. A cost of 0 is a plain lookup. Ends early when the search's
 * time runs out. Cost: O(terms with a near prefix · (2·cost + 1)) plus one byte read per skipped term.
 */
export const expandTerm = (
  column: Pick<TextColumn, "terms" | "shared">,
  token: Uint8Array,
  cost: number,
  prefix: boolean,
  visit: (term: number) => void
): void => {
  if (cost === 0) {
    visitContinuations(column.terms, token, prefix, visit)
    return
  }
  const { terms, shared } = column
  const columns = token.length,
    width = columns + 1
  const depthMost = columns + cost
  if ((depthMost + 2) * width > rows.length) rows = new Uint8Array((depthMost + 2) * width * 2)
  if (depthMost + 2 > nearest.length) nearest = new Uint8Array(depthMost * 2)
  const row = rows
  const near = nearest
  for (let c = 0; c <= columns; c++) row[c] = c
  near[0] = FAR
  const { bytes, offsets, size } = terms
  /** Rows up to this depth are still valid from the previous word. */ let valid = 0
  for (let term = 0; term < size;) {
    const start = offsets[term]
    const length = offsets[term + 1] - start
    const most = Math.min(length, depthMost)
    let depth = Math.min(valid, term === 0 ? 0 : shared[term], most)
    let dead = 0
    if (spend(8 + (most - depth) * 4)) return
    for (; depth < most; depth++) {
      const d = depth + 1,
        here = d * width
      const low = Math.max(0, d - cost),
        high = Math.min(columns, d + cost)
      if (low > 0) row[here + low - 1] = FAR
      const least = fillRow(row, here, width, d, low, high, cost, token, bytes, start + depth)
      if (high < columns) row[here + high + 1] = FAR
      const final = high === columns && d >= columns ? row[here + columns] : FAR
      near[d] = final < near[d - 1] ? final : near[d - 1]
      if (least > cost) {
        dead = d
        break
      }
    }
    if (dead > 0) {
      valid = dead - 1
      // No word with this prefix gets nearer, so all of them share the nearest distance so far.
      const isNear = prefix && near[dead - 1] === cost
      do {
        if (isNear) visit(term)
        term++
        if (spend(1)) return
      } while (term < size && shared[term] >= dead)
      continue
    }
    valid = most
    if (prefix) {
      const isNear =
        (length < columns ? (columns - length <= cost ? row[length * width + columns] : FAR) : near[most]) === cost
      do {
        if (isNear) visit(term)
        term++
      } while (length >= depthMost && term < size && shared[term] >= depthMost)
      continue
    }
    if (length <= depthMost && Math.abs(length - columns) <= cost && row[length * width + columns] === cost) visit(term)
    term++
    if (length > depthMost) while (term < size && shared[term] > depthMost) term++
  }
}

/** Visits terms without a typo: the token itself, or all that start with it. */
const visitContinuations = (
  terms: StringTable,
  token: Uint8Array,
  prefix: boolean,
  visit: (term: number) => void
): void => {
  const from = terms.lowerBound(token)
  if (!prefix) {
    if (terms.find(token) >= 0) visit(from)
    return
  }
  for (let term = from, end = terms.prefixEnd(token, from); term < end; term++) {
    if (spend(2)) return
    visit(term)
  }
}

/**
 * Fills cells `low` to `high` of the row at `here`. The row belongs to the `d`th letter of a word, which is at `at` in
 * `bytes`. Returns the smallest cell.
 */
const fillRow = (
  row: Uint8Array,
  here: number,
  width: number,
  d: number,
  low: number,
  high: number,
  cost: number,
  token: Uint8Array,
  bytes: Uint8Array,
  at: number
): number => {
  const byte = bytes[at],
    above = here - width
  let least = FAR
  for (let c = low; c <= high; c++) {
    if (c === 0) {
      row[here] = d
      least = d
      continue
    }
    const wanted = token[c - 1]
    let value = row[above + c - 1] + (byte === wanted ? 0 : 1)
    // At the right edge of the band, the cell above lies outside it.
    if (c < d + cost) {
      const up = row[above + c] + 1
      if (up < value) value = up
    }
    const left = row[here + c - 1] + 1
    if (left < value) value = left
    if (c > 1 && d > 2 && byte === token[c - 2] && bytes[at - 1] === wanted && byte !== wanted) {
      const swapped = row[above - width + c - 2] + 1
      if (swapped < value) value = swapped
    }
    row[here + c] = value
    if (value < least) least = value
  }
  return least
}
