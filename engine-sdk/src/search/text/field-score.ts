/**
 * How well one field of one document matches (`docs/contract/matching.md#field-score`): 48 bits kept in a double, so
 * that no object is allocated per document. The composition into the 64-bit record score, as two halves, is here too.
 */
import { SPILLED, type TextColumn } from "../../index/columns.ts"

/** Maximum number of positions that a window of words spans. */
export const WINDOW = 10
const TOKENS_MAX = 16
const TWO_4 = 16,
  TWO_11 = 2048,
  TWO_12 = 4096,
  TWO_16 = 65536,
  TWO_24 = 16777216,
  TWO_32 = 4294967296,
  TWO_40 = 1099511627776

/** Number of words of the query, of this variant, and of the longest spelling. */
interface SynonymLengths {
  readonly query: number
  readonly variant: number
  readonly longest: number
}
export interface ScoreRules {
  readonly exactMatch: boolean
  readonly tokenPosition: boolean
  /** 0 for synonyms under `demote_synonym_match`, else 1. */ readonly synonymBit: 0 | 1
  /** Set for a synonym variant, so that it ranks like an equally complete direct match. */ readonly synonym:
    | SynonymLengths
    | undefined
}

/** Positions of each token within the current element. */
const places: Int32Array[] = Array.from({ length: TOKENS_MAX }, () => new Int32Array(64))
const counts = new Int32Array(TOKENS_MAX)
const heads = new Int32Array(TOKENS_MAX)
const all: Int32Array[] = Array.from({ length: TOKENS_MAX }, () => new Int32Array(64))
const allCounts = new Int32Array(TOKENS_MAX)
let bestWords = 0,
  bestDistance = 0,
  bestLast = 0

/**
 * Finds the densest window (positions at most ten apart): most words, then least spread, then first. Sets the three
 * results above.
 */
const findWindow = (tokens: number): void => {
  bestWords = 0
  bestDistance = 0
  bestLast = 0
  for (let t = 0; t < tokens; t++) heads[t] = counts[t] > 0 ? 0 : -1
  for (;;) {
    let first = -1,
      start = 0
    for (let t = 0; t < tokens; t++) {
      if (heads[t] < 0) continue
      const at = places[t][heads[t]]
      if (first < 0 || at < start) {
        first = t
        start = at
      }
    }
    if (first < 0) return
    let words = 0,
      last = start
    for (let t = 0; t < tokens; t++) {
      if (heads[t] < 0) continue
      const at = places[t][heads[t]]
      if (at - start <= WINDOW) {
        words++
        if (at > last) last = at
      }
    }
    if (words > bestWords || (words === bestWords && last - start < bestDistance)) {
      bestWords = words
      bestDistance = last - start
      bestLast = last
    }
    if (bestWords === tokens && bestDistance < tokens) {
      if (bestDistance === tokens - 1 || bestDistance === 0) return
    }
    if (++heads[first] >= counts[first]) heads[first] = -1
  }
}

const compose = (
  words: number,
  unique: number,
  cost: number,
  distance: number,
  isExact: boolean,
  last: number,
  rules: ScoreRules
): number =>
  words * TWO_40 +
  unique * TWO_32 +
  (255 - cost) * TWO_24 +
  Math.max(0, 100 - distance) * TWO_16 +
  (isExact ? TWO_12 : 0) +
  (rules.tokenPosition ? Math.max(0, 255 - last) * TWO_4 : 0) +
  rules.synonymBit
/** The window's score; a synonym with all its words present counts as the query's words. */
const composeWindow = (unique: number, tokens: number, cost: number, isExact: boolean, rules: ScoreRules): number => {
  const { synonym } = rules
  if (synonym === undefined || tokens !== synonym.variant)
    return compose(bestWords, unique, cost, bestDistance, isExact, bestLast, rules)
  return compose(
    synonym.query,
    synonym.query,
    cost,
    Math.floor((bestDistance * synonym.query) / synonym.longest),
    isExact,
    bestLast,
    rules
  )
}

/** Distinct words are at distinct positions. */
export const leastSpread = (tokens: number, repeats: number): number => Math.max(0, tokens - repeats - 1)
/**
 * The maximum score of a document with this many of the tokens in a field (no synonym). `repeats`: how many of the
 * tokens may equal another one and share its position.
 */
export const fieldScoreBound = (
  tokens: number,
  cost: number,
  repeats: number,
  isExact: boolean,
  rules: ScoreRules
): number => {
  const words = Math.min(tokens, WINDOW)
  const distance = tokens > WINDOW ? 0 : leastSpread(tokens, repeats)
  return compose(words, tokens, cost, distance, isExact && rules.exactMatch, 0, rules)
}

/**
 * The score of a field in which `tokens` words occur once each within `distance`, the last one at position `last` (no
 * synonym).
 */
export const scoreOnce = (
  tokens: number,
  cost: number,
  distance: number,
  isExact: boolean,
  last: number,
  rules: ScoreRules
): number => compose(tokens, tokens, cost, distance, isExact && rules.exactMatch, last, rules)

/**
 * The score of a field whose best window contains `words` of the `tokens` words, within `distance` and the last one at
 * position `last` (no synonym).
 */
export const scoreApart = (
  words: number,
  tokens: number,
  cost: number,
  distance: number,
  isExact: boolean,
  last: number,
  rules: ScoreRules
): number => compose(words, tokens, cost, distance, isExact && rules.exactMatch, last, rules)

/** The score of one matched token in the field. `mayBeExact`: the query has one word and it matched at no cost. */
export const scoreSingle = (
  column: TextColumn,
  posting: number,
  doc: number,
  cost: number,
  mayBeExact: boolean,
  rules: ScoreRules
): number => {
  let isExact = false
  const loc = column.locs[posting]
  let last = 0
  if (mayBeExact && rules.exactMatch) {
    if (column.lengths !== undefined) isExact = column.lengths[doc] === 1
    else if (loc < SPILLED) isExact = column.lengthOf(doc, loc >>> 16) === 1
    else
      for (let i = 1, at = loc - SPILLED, n = column.spill[at]; i <= n && !isExact; i++)
        isExact = column.lengthOf(doc, column.spill[at + i] >>> 16) === 1
  }
  if (rules.tokenPosition)
    last = ((loc < SPILLED ? loc : column.spill[loc - SPILLED + column.spill[loc - SPILLED]]) % 0x10000) + 1
  const { synonym } = rules
  if (synonym === undefined || synonym.variant > 1) return compose(1, 1, cost, 0, isExact, last, rules)
  return compose(synonym.longest, synonym.longest, cost, synonym.longest - 1, isExact, last, rules)
}

/** The score of several matched tokens in the field; for arrays, that of the best element. */
export const scoreMany = (
  column: TextColumn,
  postings: Int32Array,
  tokens: number,
  doc: number,
  cost: number,
  rules: ScoreRules
): number => {
  if (!column.isArray && tokens <= WINDOW && isOneWindow(column, postings, tokens)) {
    const isExact = rules.exactMatch && column.lengths![doc] === tokens && bestLast === tokens - 1
    return composeWindow(tokens, tokens, cost, isExact, rules)
  }
  const most = Math.min(tokens, WINDOW)
  for (let t = 0; t < most; t++) readPlaces(column, postings[t], t)
  if (column.isArray) return scoreElements(column, most, tokens, doc, cost, rules)
  for (let t = 0; t < most; t++) {
    const keep = places[t]
    places[t] = all[t]
    all[t] = keep
    counts[t] = allCounts[t]
  }
  findWindow(most)
  return composeWindow(tokens, tokens, cost, rules.exactMatch && isWhole(column.lengths![doc], most), rules)
}
/** In the common case, every word occurs once and all are in one window; then sets the three results above. */
const isOneWindow = (column: TextColumn, postings: Int32Array, tokens: number): boolean => {
  let first = Infinity,
    last = -1
  for (let t = 0; t < tokens; t++) {
    const loc = column.locs[postings[t]]
    if (loc >= SPILLED) return false
    if (loc < first) first = loc
    if (loc > last) last = loc
  }
  if (last - first > WINDOW) return false
  bestWords = tokens
  bestDistance = last - first
  bestLast = last
  return true
}
/** Reads all positions of a token, over all elements. */
const readPlaces = (column: TextColumn, posting: number, t: number): void => {
  const loc = column.locs[posting]
  if (loc < SPILLED) {
    all[t][0] = loc
    allCounts[t] = 1
    return
  }
  const at = loc - SPILLED,
    n = column.spill[at]
  if (n > all[t].length) all[t] = new Int32Array(n * 2)
  for (let i = 0; i < n; i++) all[t][i] = column.spill[at + 1 + i]
  allCounts[t] = n
}
/** How far the positions of each token have been read. */
const cursor = new Int32Array(TOKENS_MAX)
/** The score of the best element. */
const scoreElements = (
  column: TextColumn,
  most: number,
  tokens: number,
  doc: number,
  cost: number,
  rules: ScoreRules
): number => {
  let best = 0
  for (;;) {
    // Go to the next element that contains any of the tokens; `cursor` walks each token's positions in order.
    let element = -1
    for (let t = 0; t < most; t++) {
      const from = cursor[t]
      if (from < allCounts[t]) {
        const e = all[t][from] >>> 16
        if (element < 0 || e < element) element = e
      }
    }
    if (element < 0) break
    const present = readElement(element, most)
    findWindow(present)
    const isExact = rules.exactMatch && isWhole(column.lengthOf(doc, element), present)
    const score = composeWindow(bestWords, tokens, cost, isExact, rules)
    if (score > best) best = score
  }
  cursor.fill(0)
  return best
}
/** Reads the positions in one element of the tokens that occur in it; returns how many do. */
const readElement = (element: number, most: number): number => {
  let present = 0
  for (let t = 0; t < most; t++) {
    let n = 0
    while (cursor[t] < allCounts[t] && all[t][cursor[t]] >>> 16 === element) {
      if (n >= places[present].length) {
        const wider = new Int32Array(n * 2)
        wider.set(places[present])
        places[present] = wider
      }
      places[present][n++] = all[t][cursor[t]++] & 0xffff
    }
    if (n > 0) counts[present++] = n
  }
  return present
}

/** The value consists only of matched words: it has as many words as were found, and one of them is its last. */
const isWhole = (length: number, present: number): boolean => {
  if (length !== present || bestWords !== present) return false
  for (let t = 0; t < present; t++) if (places[t][counts[t] - 1] === length - 1) return true
  return false
}

// ---- the record score as two halves --------------------------------------------------------------------------------

/** Upper half (bits 32 and up) and lower half of the record score composed last. */
export let scoreHigh = 0
export let scoreLow = 0
const split = (tokens: number, body: number, unit: number, rest: number): void => {
  // Computes body · unit + rest, plus tokens in bits 59-62; unit is a power of two and body below 2^53.
  const perHigh = TWO_32 / unit
  const high = Math.floor(body / perHigh)
  scoreLow = (body - high * perHigh) * unit + rest
  scoreHigh = tokens * 134217728 + high
}
export const composeMaxScore = (tokens: number, best: number, weight: number, fields: number): void =>
  split(tokens, best, TWO_11, weight * 8 + fields)
export const composeMaxWeight = (tokens: number, best: number, weight: number, fields: number): void => {
  split(tokens, best, 8, fields)
  scoreHigh += weight * 524288
}
/** Sums carry no count of matched words, as in recorded answers. */
export const composeSumScore = (sum: number, fields: number): void => split(0, sum, 8, fields)
export const scoreAsBigInt = (high: number, low: number): bigint => (BigInt(high) << 32n) + BigInt(low)
