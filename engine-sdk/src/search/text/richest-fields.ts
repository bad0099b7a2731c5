/**
 * The fields that hold the most words of a document decide its score. Where each word stands there once, the score is
 * at hand; else what is known without reading all places bounds it, which most documents do not survive.
 */
import { SPILLED } from "../../index/columns.ts"
import { leastSpread, scoreApart, scoreOnce, WINDOW } from "./field-score.ts"
import { postingRows } from "./posting-rows.ts"
import type { UnscoredMatches, UpperBounds } from "./upper-bounds.ts"

/** Of the last document: the best field's score or a bound of it, its weight, and whether these are final. */
export let richestScore = 0
export let richestWeight = 0
export let isScored = false

/** Looks at a document whose row of postings holds those of `bounds.richest[mark]`. */
export const boundRichest = (
  one: UnscoredMatches,
  doc: number,
  row: number,
  { richestCount, richestFields, richestFrom, weights }: UpperBounds,
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
    const score = scoreOrBound(one, doc, row, bits)
    const weight = weights[lists[31 - Math.clz32(bits)].field]
    if (score > best) {
      best = score
      firstWeight = highestWeight = weight
    } else if (score === best && weight > highestWeight) highestWeight = weight
  }
  richestScore = best
  // Of equal fields the first counts; which of them are equal is only known of scores.
  richestWeight = isScored ? firstWeight : highestWeight
}
/** Of one field; `isScored` is lost where it is a bound. */
const scoreOrBound = ({ lists, scoring }: UnscoredMatches, doc: number, row: number, bits: number): number => {
  const { cost, repeats, rules } = scoring
  let first = SPILLED,
    last = -1,
    words = 0,
    bit = 0,
    isSpilled = false
  for (let rest = bits; rest !== 0; rest &= rest - 1) {
    bit = 31 - Math.clz32(rest & -rest)
    const loc = lists[bit].column.locs[postingRows[row + bit]]
    words++
    if (loc >= SPILLED) {
      isSpilled = true
      continue
    }
    if (loc < first) first = loc
    if (loc > last) last = loc
  }
  const { isArray, lengths } = lists[bit].column
  const mayBeExact = isArray || lengths![doc] === words
  const span = last < 0 ? 0 : last - first
  if (!isSpilled && !isArray && span <= WINDOW)
    return scoreOnce(words, cost, span, mayBeExact && last === words - 1, last, rules)
  isScored = false
  // Words that stand once and far from each other are in no window together, nor in one element.
  if (span > WINDOW) return scoreApart(words, cost, mayBeExact, rules)
  return scoreOnce(words, cost, Math.max(span, leastSpread(words, repeats)), mayBeExact, 0, rules)
}
