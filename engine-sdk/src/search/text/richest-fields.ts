/**
 * The fields that contain the most words of a document decide its score. If each word occurs there once, the score
 * follows directly; otherwise it is bounded without reading all positions, and the bound excludes most documents.
 */
import { SPILLED } from "../../index/columns.ts"
import { leastSpread, scoreApart, scoreOnce, WINDOW } from "./field-score.ts"
import { postingRows } from "./posting-rows.ts"
import type { UnscoredMatches, UpperBounds } from "./upper-bounds.ts"

/** For the document examined last: the best field's score or a bound on it, its weight, and whether these are final. */
export let richestScore = 0
export let richestWeight = 0
export let isScored = false

/** Positions of the words that occur once, ascending. */
const once = new Int32Array(WINDOW)
let windowWords = 0,
  windowDistance = 0,
  windowLast = 0
/** Finds the densest window of the first `n` positions as `field-score.ts` does: most words, least spread, first. */
const findWindowOnce = (n: number): void => {
  windowWords = 0
  for (let from = 0; from < n; from++) {
    const start = once[from]
    let to = from
    while (to + 1 < n && once[to + 1] - start <= WINDOW) to++
    const words = to - from + 1,
      distance = once[to] - start
    if (words < windowWords || (words === windowWords && distance >= windowDistance)) continue
    windowWords = words
    windowDistance = distance
    windowLast = once[to]
  }
}

/** Examines the best fields of a document whose row contains the postings of `bounds.richest[mark]`. */
export const boundRichest = (
  one: UnscoredMatches,
  doc: number,
  row: number,
  { richestCount, richestFields, richestFrom, secondMost, weights }: UpperBounds,
  mark: number
): void => {
  const { lists } = one
  const from = richestFrom[mark],
    end = from + richestCount[mark]
  let best = -1,
    firstWeight = 0,
    highestWeight = 0
  isScored = true
  for (let at = from; at < end; at++) {
    const bits = richestFields[at]
    const score = scoreOrBound(one, doc, row, bits, secondMost[mark])
    const weight = weights[lists[31 - Math.clz32(bits)].field]
    if (score > best) {
      best = score
      firstWeight = highestWeight = weight
    } else if (score === best && weight > highestWeight) highestWeight = weight
  }
  richestScore = best
  // Among equal fields the first one counts; only scores show which fields are equal.
  richestWeight = isScored ? firstWeight : highestWeight
}
/** For one field, or several if others contain `second` words; `isScored` becomes false if the result is a bound. */
const scoreOrBound = (
  { lists, scoring }: UnscoredMatches,
  doc: number,
  row: number,
  bits: number,
  second: number
): number => {
  const { cost, repeats, rules } = scoring
  let first = SPILLED,
    last = -1,
    words = 0,
    bit = 0,
    single = 0,
    isSpilled = false
  for (let rest = bits; rest !== 0; rest &= rest - 1) {
    bit = 31 - Math.clz32(rest & -rest)
    const loc = lists[bit].column.locs[postingRows[row + bit]]
    words++
    if (loc >= SPILLED) {
      isSpilled = true
      continue
    }
    let at = single++
    for (; at > 0 && once[at - 1] > loc; at--) once[at] = once[at - 1]
    once[at] = loc
    if (loc < first) first = loc
    if (loc > last) last = loc
  }
  const { isArray, lengths } = lists[bit].column
  const mayBeExact = isArray || lengths![doc] === words
  const span = last < 0 ? 0 : last - first
  if (!isSpilled && !isArray && span <= WINDOW)
    return scoreOnce(words, cost, span, mayBeExact && last === words - 1, last, rules)
  if (span > WINDOW) {
    // Words that occur once and are far from each other share neither a window nor an element.
    findWindowOnce(single)
    const together = windowWords + words - single
    // Fewer words in another field may be closer together.
    const isBest = together >= second
    if (isBest && !isSpilled && !isArray)
      return scoreApart(windowWords, words, cost, windowDistance, false, windowLast, rules)
    isScored = false
    return scoreApart(isBest ? together : second, words, cost, 0, mayBeExact || !isBest, 0, rules)
  }
  isScored = false
  return scoreOnce(words, cost, Math.max(span, leastSpread(words, repeats)), mayBeExact, 0, rules)
}
