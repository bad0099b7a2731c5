/**
 * Upper bounds of scores. The mark of a document says which words occur in which of its fields, as a bit per list of
 * the combination; the mark alone bounds the score that the document can reach. Few distinct marks occur, so tables by
 * mark hold the bounds and how each compares with the threshold, the score that a document must exceed to be among the
 * best.
 */
import { slotOf } from "../../slots.ts"
import { fieldScoreBound, composeMaxScore, scoreHigh, scoreLow, WINDOW } from "./field-score.ts"
import type { PostingList } from "./candidates.ts"
import { tokensMatched, type CombinationScoring } from "./record-scorer.ts"

/** Maximum number of lists of one combination, one bit each. With more lists every match is scored. */
export const LISTS_MAX = 30
/** Up to this many lists a mark is used as its own number; with more, marks are numbered as they occur. */
const OWN_NUMBER_LISTS = 16
/** Number of marks that fit into the tables. */
export const MARKS = 1 << OWN_NUMBER_LISTS
export const isNumbered = ({ lists }: UnscoredMatches): boolean => lists.length > OWN_NUMBER_LISTS

/** Matches of one combination of words in one segment, not scored yet. */
export interface UnscoredMatches {
  readonly s: number
  /**
   * In the order of words, and of fields within a word; the index is the bit in a mark. Words from `scoring.words` on
   * were dropped: they count if they occur.
   */
  readonly lists: ReadonlyArray<PostingList>
  readonly scoring: CombinationScoring
  /**
   * Undefined if there are so many that they stay a set, which is recomputed from the lists' sets (`field-slices.ts`).
   */
  readonly docs: Uint32Array | undefined
}

/** How an upper bound compares with the threshold. `UNSEEN`: no document has the mark. */
const UNSEEN = 0
export const BELOW = 1,
  AT = 2,
  ABOVE = 3

// The tables take three megabytes, so all searches of the thread share them: searches do not overlap, and each clears
// what it wrote.
const plainHigh = new Float64Array(MARKS),
  plainLow = new Float64Array(MARKS),
  exactHigh = new Float64Array(MARKS),
  exactLow = new Float64Array(MARKS)
const listsOfMark = new Uint32Array(MARKS),
  slotOfMark = new Uint32Array(MARKS),
  slots = new Uint32Array(MARKS * 2)
let numbered = 0
const richest = new Uint32Array(MARKS),
  richestFrom = new Uint32Array(MARKS),
  richestCount = new Uint8Array(MARKS),
  secondMost = new Uint8Array(MARKS),
  fieldCounts = new Uint8Array(MARKS)
const exactVerdicts = new Uint8Array(MARKS),
  plainVerdicts = new Uint8Array(MARKS),
  isTop = new Uint8Array(MARKS)
const tokens = new Uint8Array(MARKS)
/** The marks that occur; their cells are cleared when the combination is done. */
const seen: number[] = []
/** By mark, for each field that contains the most words: its lists as bits. */
const richestFields: number[] = []

export const ALL_FIELDS = -1

export class UpperBounds {
  /** By mark: how the bound of documents with a field that consists of the words compares with the threshold. */
  readonly exactVerdicts = exactVerdicts
  /** By mark: the comparison for documents without such a field. */
  readonly plainVerdicts = plainVerdicts
  /** By mark: its lists, as bits. */
  readonly lists = listsOfMark
  /** 1 for the marks with the highest bound. */
  readonly isTop = isTop
  /** By mark: the lists, as bits, of the fields that contain the most words, if there are several; else 0. */
  readonly richest = richest
  /** The same by field, in the order of fields: `richestCount[mark]` entries from `richestFrom[mark]` on. */
  readonly richestFields: ReadonlyArray<number> = richestFields
  readonly richestFrom = richestFrom
  readonly richestCount = richestCount
  /** By mark: maximum words in each of the other fields. */
  readonly secondMost = secondMost
  /** By mark: number of fields that contain any word, if that number counts. */
  readonly fieldCounts = fieldCounts
  /** By mark: `tokens_matched` of its documents. */
  readonly tokens = tokens
  readonly seen: ReadonlyArray<number> = seen
  readonly weights: ReadonlyArray<number>
  private readonly countFields: boolean
  /** Words that each field contains, for the current mark. */ private readonly held: number[]

  /** `weights`: those of the query's fields. `countFields`: the number of matching fields is part of the score. */
  constructor(weights: ReadonlyArray<number>, countFields: boolean) {
    this.weights = weights
    this.countFields = countFields
    this.held = new Array<number>(weights.length).fill(0)
  }

  /** Computes the highest score that any document can have, into `scoreHigh` and `scoreLow`. */
  ofAll(one: UnscoredMatches): void {
    this.bound(one, (1 << one.lists.length) - 1, ALL_FIELDS)
  }
  /**
   * Fills the tables for the documents of `marks`, which is overwritten with the numbers of the marks; at most `MARKS`
   * different ones.
   */
  fill(one: UnscoredMatches, marks: Uint32Array, documents: number): void {
    const { words } = one.scoring
    const isWide = isNumbered(one)
    // If every word has one list, all documents have the same mark.
    if (one.lists.length === words) {
      const all = (1 << words) - 1
      this.fillMark(one, isWide ? numberOf(all) : all)
      return
    }
    let topHigh = -1,
      topLow = 0
    for (let i = 0; i < documents; i++) {
      if (isWide) marks[i] = numberOf(marks[i])
      const mark = marks[i]
      if (exactVerdicts[mark] !== UNSEEN) continue
      this.fillMark(one, mark)
      if (plainHigh[mark] > topHigh || (plainHigh[mark] === topHigh && plainLow[mark] > topLow)) {
        topHigh = plainHigh[mark]
        topLow = plainLow[mark]
      }
    }
    for (const mark of seen) if (plainHigh[mark] === topHigh && plainLow[mark] === topLow) isTop[mark] = 1
  }
  /** Clears the tables for the next combination. */
  clear(): void {
    for (const mark of seen) exactVerdicts[mark] = isTop[mark] = 0
    seen.length = richestFields.length = 0
    for (let mark = 0; mark < numbered; mark++) slots[slotOfMark[mark]] = 0
    numbered = 0
  }
  /** Compares all bounds with a new threshold. */
  compare(high: number, low: number): void {
    for (const mark of seen) {
      exactVerdicts[mark] = verdictOf(exactHigh[mark], exactLow[mark], high, low)
      plainVerdicts[mark] = verdictOf(plainHigh[mark], plainLow[mark], high, low)
    }
  }

  /** The number of a mark; fills the tables for it, if not done yet, and compares it with the threshold. */
  know(one: UnscoredMatches, lists: number, high: number, low: number): number {
    if (numbered === MARKS) this.clear()
    const mark = isNumbered(one) ? numberOf(lists) : lists
    if (exactVerdicts[mark] !== UNSEEN) return mark
    this.fillMark(one, mark)
    exactVerdicts[mark] = verdictOf(exactHigh[mark], exactLow[mark], high, low)
    plainVerdicts[mark] = verdictOf(plainHigh[mark], plainLow[mark], high, low)
    return mark
  }

  private fillMark(one: UnscoredMatches, mark: number): void {
    const { held } = this
    if (!isNumbered(one)) listsOfMark[mark] = mark
    const lists = listsOfMark[mark]
    exactVerdicts[mark] = plainVerdicts[mark] = ABOVE
    tokens[mark] = tokensOf(one, lists)
    seen.push(mark)
    this.bound(one, lists, 0)
    plainHigh[mark] = scoreHigh
    plainLow[mark] = scoreLow
    setRichest(one, mark, lists, held)
    fieldCounts[mark] = this.countFields ? Math.min(7, heldFields(held)) : 0
    this.bound(one, lists, possiblyWhole(one, lists))
    exactHigh[mark] = scoreHigh
    exactLow[mark] = scoreLow
  }

  /**
   * Computes the highest record score of a document with this mark whose `whole` fields (as bits) may consist of the
   * words, into `scoreHigh` and `scoreLow`.
   */
  bound(one: UnscoredMatches, mark: number, whole: number): void {
    const { held, weights } = this
    const { lists } = one
    const { cost, mayBeExact, repeats, rules } = one.scoring
    held.fill(0)
    for (let bit = 0; bit < lists.length; bit++) if ((mark & (1 << bit)) !== 0) held[lists[bit].field]++
    let best = 0,
      weight = 0,
      fields = 0
    for (let field = 0; field < held.length; field++) {
      if (held[field] === 0) continue
      fields++
      const score = fieldScoreBound(
        held[field],
        cost,
        repeats,
        (whole & (1 << (field & 31))) !== 0 && (held[field] > 1 || mayBeExact),
        rules
      )
      if (score > best || (score === best && weights[field] > weight)) {
        best = score
        weight = weights[field]
      }
    }
    composeMaxScore(tokensOf(one, mark), best, weight, this.countFields ? Math.min(7, fields) : 0)
  }
}

/** Numbers are assigned in sequence until the tables are cleared. */
const numberOf = (lists: number): number => {
  const slot = slotOf(slots, Math.imul(lists, 0x9e3779b1) >>> 15, (value) => listsOfMark[value - 1] === lists)
  if (slots[slot] !== 0) return slots[slot] - 1
  slots[slot] = numbered + 1
  slotOfMark[numbered] = slot
  listsOfMark[numbered] = lists
  return numbered++
}

export const verdictOf = (high: number, low: number, thresholdHigh: number, thresholdLow: number): number =>
  high > thresholdHigh || (high === thresholdHigh && low > thresholdLow)
    ? ABOVE
    : high === thresholdHigh && low === thresholdLow
      ? AT
      : BELOW
/** `tokens_matched`: the words of the combination, plus the dropped words in the mark. */
export const tokensOf = ({ lists, scoring: { rules, words } }: UnscoredMatches, mark: number): number => {
  let found = words,
    last = -1
  for (let bit = 0; bit < lists.length; bit++) {
    const { word } = lists[bit]
    if (word < words || word === last || (mark & (1 << bit)) === 0) continue
    last = word
    found++
  }
  return tokensMatched(found, rules)
}
const heldFields = (held: ReadonlyArray<number>): number => {
  let fields = 0
  for (let field = 0; field < held.length; field++) if (held[field] > 0) fields++
  return fields
}
const setRichest = ({ lists }: UnscoredMatches, mark: number, holding: number, held: ReadonlyArray<number>): void => {
  let most = 0,
    second = 0
  for (let field = 0; field < held.length; field++) if (held[field] > most) most = held[field]
  for (let field = 0; field < held.length; field++) if (held[field] < most && held[field] > second) second = held[field]
  secondMost[mark] = second
  richest[mark] = 0
  richestFrom[mark] = richestFields.length
  richestCount[mark] = 0
  if (most < 2 || most > WINDOW) return
  for (let field = 0; field < held.length; field++) {
    if (held[field] !== most) continue
    let bits = 0
    for (let bit = 0; bit < lists.length; bit++)
      if ((holding & (1 << bit)) !== 0 && lists[bit].field === field) bits |= 1 << bit
    richest[mark] |= bits
    richestCount[mark]++
    richestFields.push(bits)
  }
}
/**
 * Fields (as bits) where a document with the words may have a value of as many words as were found; an estimate from
 * the shortest values of each word.
 */
export const possiblyWhole = ({ lists }: UnscoredMatches, mark: number): number => {
  let whole = 0,
    impossible = 0
  for (let bit = 0; bit < lists.length; bit++) {
    if ((mark & (1 << bit)) === 0) continue
    const { column, field, term } = lists[bit]
    let words = 0
    for (let other = 0; other < lists.length; other++)
      if ((mark & (1 << other)) !== 0 && lists[other].field === field) words++
    whole |= 1 << (field & 31)
    if (column.shortestOf(term) > words) impossible |= 1 << (field & 31)
  }
  return whole & ~impossible
}
/** Fields (as bits) of the document with a value of as many words as were found in the field. */
export const wholeFields = ({ lists }: UnscoredMatches, mark: number, doc: number): number => {
  let whole = 0
  for (let bit = 0; bit < lists.length; bit++) {
    if ((mark & (1 << bit)) === 0) continue
    const { column, field } = lists[bit]
    const own = 1 << (field & 31)
    if ((whole & own) !== 0) continue
    let words = 0
    for (let other = 0; other < lists.length; other++)
      if ((mark & (1 << other)) !== 0 && lists[other].field === field) words++
    if (column.lengths !== undefined) {
      if (column.lengths[doc] === words || words > WINDOW) whole |= own
      continue
    }
    // An element may consist of fewer of the words than the field contains.
    for (let e = column.elementStarts![doc], end = column.elementStarts![doc + 1]; e < end; e++)
      if (column.elementLengths![e] <= words) whole |= own
  }
  return whole
}
