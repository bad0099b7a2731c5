/**
 * Parses `vector_query` and the vector part of a sort key (`docs/contract/vectors.md`). Mostly syntax; whether the
 * field is a vector field of the right size is also checked here, because the messages belong to the grammar.
 */
import { fail, invalid, ok, type Result } from "../errors.ts"
import type { VectorQuery } from "../plan.ts"
import type { CollectionSchema, Field } from "../schema.ts"
import { fieldNamed } from "./query-context.ts"
import { closingOf, isDecimal, splitOutside, unquote } from "./text-scanner.ts"
import { splitOption } from "./geo-filter.ts"

export const DEFAULT_EF = 10
export const DEFAULT_ALPHA = 0.3
/** A parsed vector query before the search sets `k`; `queries` are texts or an image that must be embedded first. */
export interface VectorRequest extends Omit<VectorQuery, "k"> {
  readonly k: number | undefined
  readonly queries: ReadonlyArray<string>
  readonly queryWeights: ReadonlyArray<number>
}
const malformed = (detail?: string): Result<never> =>
  fail(invalid(`Malformed vector query string${detail === undefined ? "." : `: ${detail}`}`, "vector_query"))
const MALFORMED_VALUE = "one of the vector values is not a float."

/** `matchAll`: q is `*`; an empty vector then needs an id. Undefined for an empty text. O(text). */
export const parseVectorQuery = (
  text: string,
  schema: CollectionSchema,
  matchAll: boolean
): Result<VectorRequest | undefined> => {
  if (text.trim() === "") return ok(undefined)
  const colon = text.indexOf(":")
  const open = text.indexOf("(", colon)
  // A missing closing parenthesis is tolerated, as in the reference engine.
  const end = open < 0 ? -1 : closingOf(text, open)
  if (
    colon <= 0 ||
    open < 0 ||
    text.slice(colon + 1, open).trim() !== "" ||
    (end >= 0 && text.slice(end + 1).trim() !== "")
  )
    return malformed()
  const body = text.slice(open + 1, end < 0 ? text.length : end)
  if (!body.trim().startsWith("[")) return malformed()
  const parts = splitOutside(body, ",")
  const vector = numbersOf(parts[0])
  if (vector === undefined) return malformed(MALFORMED_VALUE)
  const name = text.slice(0, colon).trim()
  const field = fieldNamed(schema, name)
  const draft: Draft = {
    field: name,
    vector: vector.length === 0 ? undefined : vector,
    alpha: DEFAULT_ALPHA,
    distanceThreshold: undefined,
    flatSearchCutoff: 0,
    ef: DEFAULT_EF,
    rerankHybridMatches: false,
    k: undefined,
    queries: [],
    queryWeights: []
  }
  for (const part of parts.slice(1)) {
    const error = option(draft, part)
    if (error !== undefined) return malformed(error === "" ? undefined : error)
  }
  if (field === undefined || field.num_dim === 0)
    return fail(invalid(`Field \`${name}\` does not have a vector query index.`, "vector_query"))
  return checked(draft, field, matchAll)
}
type Draft = { -readonly [K in keyof VectorRequest]: VectorRequest[K] }
const numbersOf = (text: string): number[] | undefined => {
  const trimmed = text.trim()
  if (!trimmed.startsWith("[") || !trimmed.endsWith("]")) return undefined
  const inner = trimmed.slice(1, -1).trim()
  if (inner === "") return []
  const items = inner.split(",").map((item) => item.trim())
  return items.every(isDecimal) ? items.map(Number) : undefined
}
/** Reads one option; returns an error message, "" for the generic one. */
const option = (draft: Draft, part: string): string | undefined => {
  const [key, value] = splitOption(part)
  switch (key) {
    case "k":
      if (!/^\d+$/.test(value)) return "`k` parameter must be an integer."
      draft.k = Number(value) === 0 ? undefined : Math.min(Number(value), 1_000_000)
      return undefined
    case "id":
      draft.likeId = unquote(value)
      return undefined
    case "alpha":
      if (!isDecimal(value) || Number(value) < 0 || Number(value) > 1)
        return "`alpha` parameter must be a float between 0.0-1.0."
      draft.alpha = Number(value)
      return undefined
    case "distance_threshold":
      if (!isDecimal(value)) return "`distance_threshold` parameter must be a float."
      draft.distanceThreshold = Number(value)
      return undefined
    case "flat_search_cutoff":
      if (!/^\d+$/.test(value)) return "`flat_search_cutoff` parameter must be an integer."
      draft.flatSearchCutoff = Number(value)
      return undefined
    case "ef":
      if (!/^\d+$/.test(value) || Number(value) === 0) return "`ef` parameter must be a positive integer."
      draft.ef = Number(value)
      return undefined
    case "queries": {
      if (!value.startsWith("[") || !value.endsWith("]")) return ""
      draft.queries = splitOutside(value.slice(1, -1), ",").map(unquote)
      return undefined
    }
    case "query_weights": {
      const weights = numbersOf(value)
      if (weights === undefined) return "`query_weights` parameter must be an array of floats."
      draft.queryWeights = weights
      return undefined
    }
    case "image":
      draft.queries = [unquote(value)]
      return undefined
    default:
      return ""
  }
}
const checked = (draft: Draft, field: Field, matchAll: boolean): Result<VectorRequest> => {
  if (draft.queries.length > 0 && field.embed === undefined)
    return fail(invalid("`queries` parameter is only supported for auto-embedding fields.", "vector_query"))
  if (draft.queryWeights.length > 0) {
    if (draft.queryWeights.length !== draft.queries.length)
      return malformed("`queries` and `query_weights` must be of the same length.")
    if (Math.abs(draft.queryWeights.reduce((sum, weight) => sum + weight, 0) - 1) > 1e-3)
      return malformed("`query_weights` must sum to 1.0.")
  }
  if (
    draft.vector === undefined &&
    draft.likeId === undefined &&
    draft.queries.length === 0 &&
    field.embed === undefined &&
    matchAll
  ) {
    return fail(invalid("When a vector query value is empty, an `id` parameter must be present.", "vector_query"))
  }
  if (draft.vector !== undefined && draft.vector.length !== field.num_dim)
    return fail(invalid(`Query field \`${field.name}\` must have ${field.num_dim} dimensions.`, "vector_query"))
  return ok(draft)
}
