/**
 * Compiles checked filters to queries (`docs/contract/filters.md`). Filters that the cluster cannot run have already
 * been refused (`refusals.ts`).
 */
import type { Filter, GeoArea, NumberFilter, StringFilter } from "../filter.ts"
import { BEGINNING_MAX } from "./mapping.ts"
import { storedId, storedWord, storedWords, type Placement } from "./placement.ts"
import { slotsFor, type SlotTable } from "./slots.ts"
import { wholeWord } from "./stored-form.ts"

export interface QueryScope {
  readonly placement: Placement
  readonly slots: SlotTable
}
export const NOTHING = { match_none: {} }
export const EVERYTHING = { match_all: {} }

export const anyOf = (queries: ReadonlyArray<object>): object =>
  queries.length === 0
    ? NOTHING
    : queries.length === 1
      ? queries[0]
      : { bool: { should: queries, minimum_should_match: 1 } }
export const allOf = (queries: ReadonlyArray<object>): object =>
  queries.length === 0 ? EVERYTHING : queries.length === 1 ? queries[0] : { bool: { filter: queries } }

export const compileFilter = (scope: QueryScope, filter: Filter): object => {
  switch (filter.kind) {
    case "and":
      return allOf([compileFilter(scope, filter.left), compileFilter(scope, filter.right)])
    case "or":
      return anyOf([compileFilter(scope, filter.left), compileFilter(scope, filter.right)])
    case "not":
      return { bool: { must_not: [compileFilter(scope, filter.filter)] } }
    case "all":
      return EVERYTHING
    case "none":
      return NOTHING
    case "ids":
      return { ids: { values: filter.ids.map((id) => storedId(scope.placement, id)) } }
    case "string":
      return compileString(scope, filter)
    case "number":
      return compileNumber(scope, filter)
    case "bool": {
      const slot = slotsFor(scope.slots, filter.field)?.boolean
      return slot === undefined ? NOTHING : { terms: { [slot]: filter.values } }
    }
    case "geo": {
      const slot = slotsFor(scope.slots, filter.field)?.point
      return slot === undefined ? NOTHING : anyOf(filter.areas.map((area) => compileArea(slot, area)))
    }
    case "geo_contains":
    case "element":
    case "join":
      throw new Error(`a filter of kind ${filter.kind} must be refused before it is compiled`)
  }
}

const compileString = ({ placement, slots }: QueryScope, { field, values }: StringFilter): object => {
  const own = slotsFor(slots, field)
  if (own?.words === undefined || own.whole === undefined) return NOTHING
  const { whole, words } = own
  const exact: string[] = []
  const others: object[] = []
  for (const { tokens, match, prefix, words: chosen } of values) {
    if (tokens.length === 0) continue
    if (prefix && chosen !== undefined) {
      others.push(chosenQuery(placement, { whole, words }, { tokens, match, chosen }))
      continue
    }
    if (match === "equals" && !prefix) exact.push(wholeWord(placement, tokens))
    else if (match === "equals") others.push({ prefix: { [whole]: { value: wholeWord(placement, tokens) } } })
    else if (match === "phrase" && !prefix) others.push({ match_phrase: { [words]: storedWords(placement, tokens) } })
    else
      others.push(
        allOf(tokens.map((token, i) => wordQuery(placement, words, token, prefix && i === tokens.length - 1)))
      )
  }
  return anyOf([...(exact.length === 0 ? [] : [{ terms: { [whole]: exact } }]), ...others])
}
/** Matches a value whose last token stands for one of `chosen`. */
const chosenQuery = (
  placement: Placement,
  { whole, words }: { readonly whole: string; readonly words: string },
  {
    chosen,
    match,
    tokens
  }: Pick<StringFilter["values"][number], "match" | "tokens"> & { readonly chosen: ReadonlyArray<string> }
): object => {
  const before = tokens.slice(0, -1)
  if (match === "contains")
    return allOf([
      ...before.map((token) => wordQuery(placement, words, token, false)),
      { terms: { [words]: chosen.map((word) => storedWord(placement, word)) } }
    ])
  const values = chosen.map((word) => [...before, word])
  if (match === "phrase")
    return anyOf(values.map((value) => ({ match_phrase: { [words]: storedWords(placement, value) } })))
  const wholes = values.map((value) => wholeWord(placement, value))
  return anyOf([
    { terms: { [whole]: wholes } },
    // More words may follow the value.
    ...wholes.map((value) => ({ prefix: { [whole]: { value: `${value} ` } } }))
  ])
}
/** Matches documents with a word or, if `isBeginning`, with a word that starts with it. */
export const wordQuery = (placement: Placement, slot: string, word: string, isBeginning: boolean): object => {
  const value = storedWord(placement, word)
  if (!isBeginning) return { term: { [slot]: { value } } }
  return [...word].length <= BEGINNING_MAX ? { term: { [`${slot}.p`]: { value } } } : { prefix: { [slot]: { value } } }
}

const compileNumber = ({ slots }: QueryScope, { field, ranges }: NumberFilter): object => {
  const slot = slotsFor(slots, field)?.number
  if (slot === undefined) return NOTHING
  const single: Array<number | string> = []
  const others: object[] = []
  for (const { min, max, minOpen, maxOpen } of ranges) {
    if (min === max && minOpen !== true && maxOpen !== true) single.push(numeral(min))
    else
      others.push({
        range: {
          [slot]: {
            ...(min === -Infinity ? {} : { [minOpen === true ? "gt" : "gte"]: numeral(min) }),
            ...(max === Infinity ? {} : { [maxOpen === true ? "lt" : "lte"]: numeral(max) })
          }
        }
      })
  }
  // A range without ends matches every document that has a value.
  const whole = others.map((range) => (isUnbounded(range, slot) ? { exists: { field: slot } } : range))
  return anyOf([...(single.length === 0 ? [] : [{ terms: { [slot]: single } }]), ...whole])
}
const isUnbounded = (range: object, slot: string): boolean =>
  Object.keys((range as { range: Record<string, object> }).range[slot] ?? {}).length === 0
/** The cluster reads 64-bit integers from strings. */
const numeral = (value: number | bigint): number | string => (typeof value === "bigint" ? value.toString() : value)

const compileArea = (slot: string, area: GeoArea): object =>
  area.kind === "radius"
    ? { geo_distance: { distance: `${area.radius_m}m`, [slot]: { lat: area.lat, lon: area.lng } } }
    : { geo_polygon: { [slot]: { points: area.points.map(([lat, lon]) => ({ lat, lon })) } } }
