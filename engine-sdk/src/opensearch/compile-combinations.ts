/**
 * Combinations of known words as one query; those that differ in one word form one clause. The worths only determine
 * the window that is scored again (`window.ts`). Pure.
 */
import type { TextQuery } from "../plan.ts"
import type { MatchedWord } from "../search/text/word-matcher.ts"
import type { Tried } from "./climb.ts"
import { type QueryScope } from "./compile-filter.ts"
import { bestOf, searchedSlots, union, WORTH, worth, type SearchedSlot } from "./compile-text.ts"
import { storedWord, type Placement } from "./placement.ts"

type WordsTried = Extract<Tried, { kind: "words" }>
/** For each position, the words that may occur there. */
interface Choice {
  readonly places: ReadonlyArray<ReadonlyArray<MatchedWord>>
  readonly dropped: ReadonlyArray<string>
}

export const triedQuery = (scope: QueryScope, query: TextQuery, tried: ReadonlyArray<Tried>): object => {
  const fields = searchedSlots(scope, query)
  const infix = tried.flatMap((one) => {
    if (one.kind !== "infix") return []
    const slot = fields[one.field]?.slot
    return slot === undefined ? [] : [worth(anyWord(scope.placement, slot, one.words), 1)]
  })
  const words = tried.flatMap((one) => (one.kind === "words" ? [one] : []))
  const queries = [...choicesOf(words).map((choice) => choiceQuery(scope.placement, fields, choice)), ...infix]
  return queries.length === 0 ? { match_none: {} } : union(queries)
}
/** Upper bound on the number of clauses of the query. */
export const clausesOf = ({ fields }: TextQuery, tried: ReadonlyArray<Tried>): number => {
  const words = tried.flatMap((one) => (one.kind === "words" ? [one] : []))
  const places = choicesOf(words).reduce((sum, { dropped, places: own }) => sum + own.length + dropped.length, 0)
  return tried.length - words.length + places * fields.length
}
/** Groups combinations by a varying first or last word, whichever yields fewer clauses. */
const choicesOf = (tried: ReadonlyArray<WordsTried>): Choice[] => {
  const byFirst = varying(tried, () => 0),
    byLast = varying(tried, ({ words }) => words.length - 1)
  return byFirst.length < byLast.length ? byFirst : byLast
}
const varying = (tried: ReadonlyArray<WordsTried>, placeOf: (one: WordsTried) => number): Choice[] => {
  const choices = new Map<string, { places: MatchedWord[][]; dropped: ReadonlyArray<string> }>()
  for (const one of tried) {
    const at = placeOf(one)
    const others = one.words.map(({ cost, isPrefix, word }, i) => (i === at ? "" : `${word} ${cost}${isPrefix}`))
    const key = `${others.join("\n")}\n\n${one.dropped.join("\n")}`
    const known = choices.get(key)
    if (known === undefined) choices.set(key, { places: one.words.map((word) => [word]), dropped: one.dropped })
    else known.places[at].push(one.words[at])
  }
  return [...choices.values()]
}
const choiceQuery = (
  placement: Placement,
  fields: ReadonlyArray<SearchedSlot | undefined>,
  { dropped, places }: Choice
): object => {
  const must = places.map((words) => bestOf(fields.flatMap((field) => wordClauses(placement, field, words))))
  if (must.length === 1 && dropped.length === 0) return must[0]
  const should = dropped.map((word) =>
    bestOf(
      fields.flatMap((field) =>
        field === undefined ? [] : [worth(anyWord(placement, field.slot, [word]), WORTH.exact + field.weight)]
      )
    )
  )
  return { bool: { must, ...(should.length === 0 ? {} : { should }) } }
}
/** A word found by an edit or as a completion must also be allowed in the field. */
const wordClauses = (
  placement: Placement,
  field: SearchedSlot | undefined,
  words: ReadonlyArray<MatchedWord>
): object[] => {
  if (field === undefined) return []
  const byWorth = new Map<number, string[]>()
  for (const { cost, isPrefix, word } of words) {
    if (cost > field.numTypos || (isPrefix && !field.prefix)) continue
    const value = cost > 0 ? WORTH.typo[cost as 1 | 2] : isPrefix ? WORTH.beginning : WORTH.exact
    byWorth.set(value, [...(byWorth.get(value) ?? []), word])
  }
  return [...byWorth].map(([value, own]) => worth(anyWord(placement, field.slot, own), value + field.weight))
}
const anyWord = (placement: Placement, slot: string, words: ReadonlyArray<string>): object => ({
  terms: { [slot]: [...new Set(words)].map((word) => storedWord(placement, word)) }
})
