/** Facet queries: values that contain the words typed into a facet's search box. */
import { analyzerOf } from "../../analysis/analyzer.ts"
import { damerauWithin } from "../../analysis/edit-distance.ts"
import type { FacetQuery } from "../../plan.ts"
import type { CollectionSchema } from "../../schema.ts"
import { spend } from "../../budget/cutoff.ts"
import type { TokenMatcher } from "../highlight/highlight-text.ts"
import type { Row } from "./facet-rows.ts"

/** Cost, in steps, of tokenizing a text (apart from its characters) and of comparing two words by edit distance. */
const TOKENIZING_STEPS = 64,
  EDITS_STEPS = 32

/**
 * Rows whose value contains every word of the query: without typos if there are any such rows, else with the fewest
 * typos that yield a match.
 */
export const matchingRows = (
  schema: CollectionSchema,
  name: string,
  rows: ReadonlyArray<Row>,
  query: FacetQuery
): Row[] => {
  const matched = matchingValues(
    schema,
    name,
    rows.map(({ value }) => value),
    query
  )
  return rows.flatMap((row): Row[] => {
    const found = matched.get(row.value)
    return found === undefined ? [] : [{ ...row, found }]
  })
}
/** Like `matchingRows`, for values without counts. */
export const matchingValues = (
  schema: CollectionSchema,
  name: string,
  values: ReadonlyArray<string>,
  query: FacetQuery
): ReadonlyMap<string, NonNullable<Row["found"]>> => {
  const matched = new Map<string, NonNullable<Row["found"]>>()
  const field = schema.fields.find((candidate) => candidate.name === name)
  if (field === undefined) return matched
  const analyzer = analyzerOf(schema, field)
  // Values not examined in time match nothing.
  const spans = values.map((value) =>
    spend(TOKENIZING_STEPS + value.length) ? [] : analyzer.tokenizeWithOffsets(value)
  )
  for (let typos = 0; typos <= query.numTypos; typos++) {
    const matcher = facetMatcher(query, typos)
    values.forEach((value, i) => {
      const words = new Set<number>()
      if (spend(4 + spans[i].length * query.tokens.length * (typos === 0 ? 1 : EDITS_STEPS))) return
      for (const { token } of spans[i]) {
        const match = matcher(token)
        if (match !== undefined) words.add(match.wanted)
      }
      if (words.size >= query.tokens.length) matched.set(value, { spans: spans[i], matcher })
    })
    if (matched.size > 0) return matched
  }
  return matched
}
const facetMatcher =
  (query: FacetQuery, typos: number): TokenMatcher =>
  (token) => {
    for (let i = 0; i < query.tokens.length; i++) {
      const wanted = query.tokens[i]
      const isLast = i === query.tokens.length - 1
      if (token === wanted) return { wanted: i, length: token.length }
      if (isLast && token.startsWith(wanted)) return { wanted: i, length: wanted.length }
      const most = Math.min(typos, wanted.length < 3 ? 0 : wanted.length < 7 ? 1 : 2)
      if (
        most > 0 &&
        (damerauWithin(wanted, token, most) ||
          (isLast && token.length > wanted.length && damerauWithin(wanted, token.slice(0, wanted.length), most)))
      )
        return { wanted: i, length: Math.min(wanted.length, token.length) }
    }
    return undefined
  }
