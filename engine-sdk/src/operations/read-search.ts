/**
 * The first half of `prepare`: reads and merges the request (request, scoped key, preset) and looks up its collection.
 * Nothing is planned yet, so a host can inspect the request and refuse it.
 */
import { isObject } from "../documents/json.ts"
import { fail, invalid, ok, type Result } from "../errors.ts"
import type { Filter } from "../filter.ts"
import { SHARED_PAGING } from "../query/compile-union.ts"
import { applyPreset, fillGaps, textParameters, type Parameters } from "../query/parameters.ts"
import type { CollectionInfo } from "../schema.ts"
import { parseBody, resolveCollection, type Body, type OperationContext, type QueryParameters } from "./operation.ts"
import type { Restrictions } from "./restrictions.ts"

const MULTI_SEARCHES_MAX = 50
/** The maximum to which a scoped key may raise the limit. */
const MULTI_SEARCHES_CEILING = 1_000

/** What a host adds to a search outside its parameters, so that no parameter can circumvent it. */
export interface SearchBounds {
  /** AND-ed as a tree, like the caller's own restrictions; also applies to pinned and injected documents. */
  readonly filter?: Filter | undefined
}
/** One search as requested, with its parameters merged. */
export interface SearchRequest {
  /** The name in the request: a collection or an alias. */
  readonly name: string
  readonly collection: CollectionInfo | undefined
  readonly parameters: Parameters
  /** The preset that the request names; if it exists, it is already merged. */ readonly preset?: string | undefined
  readonly bounds?: SearchBounds | undefined
}

/**
 * Parameters of one search as the compiler receives them: the request's, overridden by a scoped key's, with a preset's
 * as defaults. The `filter_by` of a scoped key is not among them: it is parsed separately and AND-ed as a tree
 * (`Reach.forcedFilter`), so that no text of the request can circumvent it.
 */
export const mergeSearchParameters = (
  context: OperationContext,
  sources: ReadonlyArray<{ readonly [name: string]: unknown }>,
  restrictions: Restrictions
): Result<Parameters> => {
  const merged = mergeSources(sources, restrictions)
  return merged.ok ? withPreset(context, merged.value) : merged
}
const withPreset = (context: OperationContext, merged: Parameters): Result<Parameters> =>
  applyPreset(merged, (name) => context.resources.get(context.namespace, "preset", name))
const mergeSources = (
  sources: ReadonlyArray<{ readonly [name: string]: unknown }>,
  restrictions: Restrictions
): Result<Parameters> => {
  let merged: Parameters = {}
  for (const [i, source] of sources.entries()) {
    const text = textParameters(source)
    if (!text.ok) return text
    const filled = i === 0 ? text : fillGaps(merged, text.value)
    if (!filled.ok) return filled
    merged = filled.value
  }
  if (restrictions.embedded !== undefined) {
    const {
      expires_at: _expires,
      limit_multi_searches: _limit,
      filter_by: _filter,
      ...embedded
    } = restrictions.embedded
    const text = textParameters(embedded)
    if (!text.ok) return text
    merged = { ...merged, ...text.value, ...narrowed(merged, text.value) }
  }
  return ok(merged)
}

/**
 * The request's field selection within a scoped key's. The key's fields are bounds (`field-bounds.ts`) within which the
 * request chooses.
 */
const narrowed = (asked: Parameters, { exclude_fields: hidden, include_fields: shown }: Parameters): Parameters => ({
  ...(shown === undefined || (asked.include_fields ?? "").trim() === ""
    ? {}
    : { include_fields: asked.include_fields! }),
  ...(hidden === undefined || (asked.exclude_fields ?? "").trim() === ""
    ? {}
    : { exclude_fields: `${hidden},${asked.exclude_fields}` })
})

/** Reads one search. Invalid if a parameter is not a scalar or is too long, or if `q` is missing. */
export const readSearch = (
  context: OperationContext,
  name: string,
  asked: { readonly [name: string]: unknown },
  restrictions: Restrictions
): Result<SearchRequest> => {
  const stated = mergeSources([asked], restrictions)
  if (!stated.ok) return stated
  const merged = withPreset(context, stated.value)
  if (!merged.ok) return merged
  if (merged.value.q === undefined && merged.value.voice_query === undefined)
    return fail(invalid("Parameter `q` is required.", "q"))
  const { preset } = stated.value
  return ok({ name, parameters: merged.value, preset, collection: resolveCollection(context, name) })
}

/**
 * How many searches one request may contain: set by the scoped key, else by the host; the request itself can only lower
 * the limit. Fails (400) if a limit is not a number.
 */
export const multiSearchesLimit = (
  context: OperationContext,
  shared: QueryParameters,
  restrictions: Restrictions
): Result<number> => {
  const embedded = restrictions.embedded?.limit_multi_searches
  const [granted, asked] = [embedded, shared.limit_multi_searches].map((limit) =>
    limit === undefined ? Infinity : /^\d{1,9}$/.test(String(limit)) ? Number(limit) : NaN
  )
  if (Number.isNaN(granted) || Number.isNaN(asked))
    return fail(invalid("Parameter `limit_multi_searches` must be an unsigned integer.", "limit_multi_searches"))
  return ok(
    Math.min(
      asked!,
      embedded === undefined ? (context.limits?.multi_searches_max ?? MULTI_SEARCHES_MAX) : granted!,
      MULTI_SEARCHES_CEILING
    )
  )
}

/** A request for several searches, parsed and counted. */
export interface MultiSearch {
  readonly searches: ReadonlyArray<{ readonly [name: string]: unknown }>
  readonly union: boolean
  readonly removeDuplicates: boolean
}
/** The searches of a body, or of the preset that the query string names, in which case the body is not read. */
export const readMultiSearch = (
  context: OperationContext,
  sent: Body,
  shared: QueryParameters,
  restrictions: Restrictions
): Result<MultiSearch> => {
  const missing = fail(invalid("Missing `searches` array.", "searches"))
  let body: unknown
  if (shared.preset !== undefined && shared.preset !== "")
    body = context.resources.get(context.namespace, "preset", shared.preset)?.value
  else {
    const parsed = parseBody(sent)
    if (!parsed.ok) return parsed
    body = parsed.value
  }
  if (!isObject(body) || !Array.isArray(body.searches)) return missing
  const limit = multiSearchesLimit(context, shared, restrictions)
  if (!limit.ok) return limit
  if (body.searches.length > limit.value)
    return fail(invalid("Number of multi searches exceeds `limit_multi_searches` parameter.", "searches"))
  if (!body.searches.every(isObject))
    return fail(invalid("The value of `searches` must be an array of objects.", "searches"))
  return ok({
    searches: body.searches,
    union: body.union === true || body.union === "true",
    removeDuplicates: body.remove_duplicates !== false && body.remove_duplicates !== "false"
  })
}
/** The searches of the request, merged with its query string; a value that is not a scalar fails the entire request. */
export const readSearches = (
  context: OperationContext,
  request: MultiSearch,
  shared: QueryParameters,
  restrictions: Restrictions
): Result<ReadonlyArray<SearchRequest>> => {
  const { preset: _preset, limit_multi_searches: _limit, use_cache: _cache, ...common } = shared
  const searches: SearchRequest[] = []
  for (const raw of request.searches) {
    const own = Object.fromEntries(
      Object.entries(raw).filter(
        ([name]) => !name.endsWith("-api-key") && !(request.union && SHARED_PAGING.includes(name))
      )
    )
    const stated = mergeSources([common, own], restrictions)
    if (!stated.ok) return stated
    const merged = withPreset(context, stated.value)
    if (!merged.ok) return merged
    const name = merged.value.collection ?? ""
    const { preset } = stated.value
    searches.push({ name, parameters: merged.value, preset, collection: resolveCollection(context, name) })
  }
  return ok(searches)
}
