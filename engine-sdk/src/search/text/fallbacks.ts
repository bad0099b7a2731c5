/**
 * What is tried if the words as typed find too little (`docs/contract/matching.md#fallbacks`): other spellings by
 * joining and splitting words, fewer words, and infix matches.
 */
import type { TextQuery } from "../../plan.ts"
import { hasBit } from "../../index/bits.ts"
import { isPhraseAt, someWithAll } from "../../index/places.ts"
import { spend } from "../../budget/cutoff.ts"
import type { QueryToken } from "./candidate-words.ts"
import { countMatches, record, type SegmentMatches } from "./segment-matches.ts"
import { WORD_STEPS, type TermLookup } from "./term-lookup.ts"
import { DROP_TOKENS_MAX } from "./word-matcher.ts"

const SPLIT_TOKENS_MAX = 5
const INFIX_SCORE = 100

/** Whether a live document has two words next to each other in a field. */
type AreNeighbours = (field: number, left: string, right: string) => boolean
/** The first spelling, with two words joined or one split in two, that exists in the first field that has one. */
export const respell = (
  tokens: ReadonlyArray<string>,
  lookup: Pick<TermLookup, "fields" | "exists">,
  areNeighbours: AreNeighbours
): string[] | undefined => {
  for (let field = 0; field < lookup.fields.length; field++) {
    const whole = tokens.join("")
    if (tokens.length > 1 && lookup.exists(field, whole)) return [whole]
    const most = Math.min(SPLIT_TOKENS_MAX, tokens.length)
    if (tokens.length > 2) {
      for (let i = 1; i < most; i++) {
        const joined = tokens[i - 1] + tokens[i]
        if (lookup.exists(field, joined)) return [...tokens.slice(0, i - 1), joined, ...tokens.slice(i + 1)]
      }
    }
    for (let i = 0; i < most; i++) {
      const token = tokens[i]
      for (let cut = token.length - 1; cut > 0; cut--) {
        const left = token.slice(0, cut),
          right = token.slice(cut)
        if (lookup.exists(field, left) && lookup.exists(field, right) && areNeighbours(field, left, right))
          return [...tokens.slice(0, i), left, right, ...tokens.slice(i + 1)]
      }
    }
  }
  return undefined
}
export const neighboursIn =
  (lookup: TermLookup, matches: ReadonlyArray<SegmentMatches>): AreNeighbours =>
  (field, left, right) => {
    const width = lookup.fields.length
    return matches.some(({ view }, s) => {
      const a = lookup.termsOf(left)[s * width + field],
        b = lookup.termsOf(right)[s * width + field]
      if (a < 0 || b < 0) return false
      const column = lookup.columns[s][field]!
      return someWithAll(
        column,
        [a, b],
        (doc, postings) => !(view.deleted !== undefined && hasBit(view.deleted, doc)) && isPhraseAt(column, postings)
      )
    })
  }

/** The tokens that are kept, and the others. */
interface FewerTokens {
  readonly kept: ReadonlyArray<QueryToken>
  readonly dropped: ReadonlyArray<QueryToken>
}
/**
 * Yields ever fewer tokens, down to one, dropped from one side and then from the other. `wantsMore` is called before
 * each; when it returns false, only short queries that drop from both sides continue.
 */
export function* fewerTokens(
  all: ReadonlyArray<QueryToken>,
  mode: TextQuery["dropTokensMode"],
  wantsMore: () => boolean
): Generator<FewerTokens> {
  const tokens = all.slice(0, DROP_TOKENS_MAX)
  if (tokens.length < 2) return
  const bothSides = mode.kind === "both_sides" && tokens.length <= mode.tokens_max
  let fromRight = mode.kind !== "left_to_right"
  let droppedCount = 0,
    directionsDone = 0
  while (wantsMore() || bothSides) {
    if (droppedCount >= tokens.length - 1) {
      fromRight = !fromRight
      droppedCount = 0
      directionsDone++
    }
    if (directionsDone >= 2) return
    droppedCount++
    const cut = fromRight ? tokens.length - droppedCount : droppedCount
    yield fromRight
      ? { kept: tokens.slice(0, cut), dropped: tokens.slice(cut) }
      : { kept: tokens.slice(cut), dropped: tokens.slice(0, cut) }
  }
}

/** Fields that are searched by infix: some always, others only if nothing was found otherwise. */
export const infixFields = (
  query: TextQuery,
  lookup: TermLookup,
  matches: ReadonlyArray<SegmentMatches>
): ReadonlyArray<number> => {
  const wasEmpty = countMatches(matches) === 0
  return lookup.fields.flatMap((field, f) => {
    const mode = query.fields[f].infix
    return mode === "off" || (mode === "fallback" && !wasEmpty) || !field.infix ? [] : [f]
  })
}
/** Adds documents with a word that contains `wanted`. False when time has run out. Cost: O(terms of the field). */
export const matchInfix = (
  wanted: string,
  f: number,
  query: TextQuery,
  lookup: TermLookup,
  matches: ReadonlyArray<SegmentMatches>
): boolean => {
  for (let s = 0; s < matches.length; s++) {
    const column = lookup.columns[s][f]
    if (column === undefined) continue
    const match = matches[s]
    for (let term = 0; term < column.terms.size; term++) {
      if (spend(WORD_STEPS + column.frequency(term))) return false
      const word = column.terms.text(term)
      const at = word.indexOf(wanted)
      if (at < 0 || at > query.maxExtraPrefix || word.length - at - wanted.length > query.maxExtraSuffix) continue
      for (let p = column.starts[term]; p < column.starts[term + 1]; p++) {
        const doc = column.docs[p]
        if ((match.allowed === undefined || hasBit(match.allowed, doc)) && !hasBit(match.found, doc))
          record(match, doc, 0, INFIX_SCORE)
      }
    }
  }
  return true
}
