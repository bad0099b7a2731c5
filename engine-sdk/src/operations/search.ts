/**
 * Search, multi-search and union (engine-contract 6). Parameters are merged and compiled here, engines see plans only,
 * and several plans go to the engine in one call.
 */
import { isObject, stringifyJson } from "../documents/json.ts"
import { boundedText } from "../error-text.ts"
import { fail, invalid, notFound, ok, statusOf, type EngineError, type Result } from "../errors.ts"
import type { Filter, SearchPlan, UnionAnswer } from "../plan.ts"
import { compileParameters } from "../query/compile-search.ts"
import { SHARED_PAGING, unionPaging } from "../query/compile-union.ts"
import { allOf, parseFilter } from "../query/filter-parser.ts"
import { applyPreset, fillGaps, textParameters, type Parameters } from "../query/parameters.ts"
import { DEFAULT_LIMITS, fieldNamed, type KnownFilters, type SearchContext } from "../query/query-context.ts"
import type { CollectionInfo } from "../schema.ts"
import { AnswerBudget, AnswerRefused } from "../search/answer-budget.ts"
import { givingWay } from "../turns.ts"
import { answerToJson } from "../search/answer-json.ts"
import { documentFieldContext } from "./documents.ts"
import { answersOf, unionAnswerOf, type FoundAnswer, type PlannedSearch } from "./merchandised.ts"
import {
  COLLECTION_NOT_FOUND,
  parseBody,
  joinable,
  resolveCollection,
  type Answered,
  type Body,
  type Caller,
  type OperationContext,
  type QueryParameters
} from "./operation.ts"
import { searchResourcesOf } from "./resources.ts"

const MULTI_SEARCHES_MAX = 50
/** What a scoped key may raise the limit to. */
const MULTI_SEARCHES_CEILING = 1_000
const PLACEHOLDER_ROUNDS_MAX = 16
/** Questions that placeholders of curation rules put to the engine, of one search. */
const LOOKUPS_MAX = 64

/**
 * Parameters of one search as the compiler gets them: the request's, a scoped key's over them, a preset under them. The
 * `filter_by` of a scoped key is not among them: it is parsed on its own and AND-ed as a tree (`forcedFilterOf`), so
 * that no text of the request can reach around it.
 */
export const mergeSearchParameters = (
  context: OperationContext,
  sources: ReadonlyArray<{ readonly [name: string]: unknown }>,
  caller: Caller
): Result<Parameters> => {
  let merged: Parameters = {}
  for (const [i, source] of sources.entries()) {
    const text = textParameters(source)
    if (!text.ok) return text
    const filled = i === 0 ? text : fillGaps(merged, text.value)
    if (!filled.ok) return filled
    merged = filled.value
  }
  if (caller.embedded !== undefined) {
    const { expires_at: _expires, limit_multi_searches: _limit, filter_by: _filter, ...embedded } = caller.embedded
    const text = textParameters(embedded)
    if (!text.ok) return text
    merged = { ...merged, ...text.value, ...narrowed(merged, text.value) }
  }
  return applyPreset(merged, (name) => context.resources.get(context.namespace, "preset", name))
}

/**
 * What a request shows of what a scoped key shows: the key's fields are bounds (`field-bounds.ts`), within which the
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

/**
 * The plan of one search over a collection (name or alias). Placeholders of curation rules ask the engine; an engine
 * that answers later makes this compile again with what it learned. Query texts are embedded here too.
 */
export const planSearch = async (
  context: OperationContext,
  collection: CollectionInfo,
  parameters: Parameters,
  caller: Caller = {},
  budget?: AnswerBudget,
  filters?: KnownFilters
): Promise<Result<SearchPlan>> => {
  const forced = forcedFilterOf(context, collection, caller)
  // What the caller did wrong goes before what its restrictions do not allow.
  const lookups = new Lookups(context, collection, forced.ok ? forced.value : undefined)
  const searchContext: SearchContext = {
    collection,
    collectionOf: (name) => joinable(context, caller, name),
    resources: searchResourcesOf(context.resources, context.namespace),
    now_s: context.now_s,
    matchesAny: (filter) => lookups.matchesAny(filter),
    ...(forced.ok && forced.value !== undefined ? { forcedFilter: forced.value } : {}),
    limits: context.limits,
    ...(caller.fields === undefined ? {} : { fields: caller.fields }),
    ...(budget === undefined ? {} : { budget }),
    ...(filters === undefined ? {} : { filters })
  }
  for (let round = 0; ; round++) {
    const plan = compileParameters(parameters, searchContext)
    if (!forced.ok) {
      if (plan.ok) caller.onUnfiltered?.()
      return plan.ok ? forced : plan
    }
    // Hardly any search asks or embeds: each step that could wait is a turn of the queue even where it does not.
    if (lookups.isOpen && (await lookups.settle()) && round < PLACEHOLDER_ROUNDS_MAX) continue
    const known = plan.ok && forced.value !== undefined ? await lookups.knowsExample(plan.value) : plan
    return known.ok && known.value.vector?.embed !== undefined ? embedQuery(context, collection, known.value) : known
  }
}
/** The embedded `filter_by` of a scoped key and the caller's own forced filter, as one tree. */
const forcedFilterOf = (
  context: OperationContext,
  collection: CollectionInfo,
  caller: Caller
): Result<Filter | undefined> => {
  const forced = caller.forcedFilter?.(collection) ?? ok(undefined)
  if (!forced.ok) return forced
  const text = caller.embedded?.filter_by
  if (text === undefined) return forced
  if (typeof text !== "string") return fail(invalid("One or more search parameters are malformed.", "filter_by"))
  // Whoever has the parent key can sign: what the parent may not join or name, no key signed with it may.
  const embedded = parseFilter(text, documentFieldContext(context, collection, {}, caller))
  return embedded.ok ? ok(allOf(embedded.value, forced.value)) : embedded
}
/** Remembers which filters match anything; unanswered questions count as no until they settle. */
class Lookups {
  readonly #context: OperationContext
  readonly #collection: CollectionInfo
  readonly #forced: Filter | undefined
  readonly #known = new Map<string, boolean>()
  #open: Array<Promise<void>> = []
  constructor(context: OperationContext, collection: CollectionInfo, forced: Filter | undefined) {
    this.#context = context
    this.#collection = collection
    this.#forced = forced
  }
  matchesAny(asked: Filter): boolean {
    const filter = allOf(asked, this.#forced) ?? asked
    const key = stringifyJson(asked)
    const known = this.#known.get(key)
    if (known !== undefined) return known
    // What is not asked any more matches nothing.
    if (this.#known.size + this.#open.length >= LOOKUPS_MAX) return false
    const page = this.#context.engine.scan(this.#context.namespace, {
      collection: this.#collection.schema.name,
      filter,
      limit: 1
    })
    if (page instanceof Promise) {
      this.#open.push(
        page.then((settled) => {
          this.#known.set(key, settled.ok && settled.value.ids.length > 0)
        })
      )
      return false
    }
    const matches = page.ok && page.value.ids.length > 0
    this.#known.set(key, matches)
    return matches
  }
  /** A document whose vector is the query must be one that the caller may find; otherwise it does not exist. */
  async knowsExample(plan: SearchPlan): Promise<Result<SearchPlan>> {
    if (this.#forced === undefined) return ok(plan)
    const queries = [plan.vector, ...plan.sort.map((key) => (key.kind === "vector_query" ? key.query : undefined))]
    for (const id of new Set(queries.flatMap((query) => query?.likeId ?? []))) {
      const page = await this.#context.engine.scan(this.#context.namespace, {
        collection: this.#collection.schema.name,
        filter: { kind: "and", left: { kind: "ids", ids: [id] }, right: this.#forced },
        limit: 1
      })
      if (!page.ok) return page
      if (page.value.ids.length === 0)
        return fail(invalid("Document id referenced in vector query is not found.", "vector_query"))
    }
    return ok(plan)
  }
  get isOpen(): boolean {
    return this.#open.length > 0
  }
  /** True when something was learned since the last call. */
  async settle(): Promise<boolean> {
    if (this.#open.length === 0) return false
    const open = this.#open
    this.#open = []
    await Promise.all(open)
    return true
  }
}
const embedQuery = async (
  context: OperationContext,
  collection: CollectionInfo,
  plan: SearchPlan
): Promise<Result<SearchPlan>> => {
  const { vector } = plan
  if (vector?.embed === undefined || vector.vector !== undefined) return ok(plan)
  const field = fieldNamed(collection.schema, vector.field)
  if (field === undefined || context.embedQuery === undefined)
    return fail(invalid(`No model is available to embed a query for the field \`${vector.field}\`.`, "query_by"))
  const embedded = await context.embedQuery(collection, field, vector.embed.texts, vector.embed.weights)
  return embedded.ok ? ok({ ...plan, vector: { ...vector, vector: embedded.value } }) : embedded
}

/** The envelope with what rules and the host add to it, spliced into the text so that hits are not written twice. */
const enveloped = (
  context: OperationContext,
  { collection, parameters, plan }: PlannedSearch,
  { answer, asked, extras, trace }: FoundAnswer | FoundAnswer<UnionAnswer>
): string => {
  if (context.onHit !== undefined)
    for (const hit of answer.hits ?? answer.grouped_hits?.flatMap(({ hits }) => hits) ?? []) context.onHit(hit)
  const { budget } = plan
  const text = answerToJson(answer, budget)
  const added = context.annotate?.({
    collection,
    parameters,
    found: answer.found,
    asked,
    facet_counts: "facet_counts" in answer ? answer.facet_counts : [],
    ...(trace === undefined ? {} : { trace })
  })
  const more =
    added === undefined && extras === undefined
      ? "{}"
      : stringifyJson(extras === undefined ? added : { ...extras, ...added })
  budget?.wrote(text.length + more.length)
  return more === "{}" ? text : `${text.slice(0, -1)},${more.slice(1)}`
}
const planned = async (
  context: OperationContext,
  collection: CollectionInfo,
  parameters: Parameters,
  caller: Caller,
  budget: AnswerBudget,
  filters?: KnownFilters
): Promise<Result<PlannedSearch>> => {
  const refusal = caller.refusalOfSearch?.(parameters)
  if (refusal !== undefined) return fail(refusal)
  const plan = await planSearch(context, collection, parameters, caller, budget, filters)
  if (!plan.ok) return plan
  return ok({
    plan: plan.value,
    collection,
    parameters,
    merchandise: context.merchandising?.of(collection, parameters),
    ...(caller.fields === undefined ? {} : { fields: caller.fields })
  })
}

const budgetOf = ({ budget, limits }: OperationContext): AnswerBudget =>
  budget ?? new AnswerBudget(limits?.answer_bytes_max ?? DEFAULT_LIMITS.answer_bytes_max)
/** An answer that became too large is a refusal of the request, wherever on its way that was found. */
const refusable = async (run: () => Promise<Answered>): Promise<Answered> => {
  try {
    return await run()
  } catch (error) {
    if (error instanceof AnswerRefused) return fail(error.error)
    throw error
  }
}

/** One search. The answer is JSON text; Invalid where it would be larger than the limits allow. */
export const search = (
  context: OperationContext,
  collectionName: string,
  parameters: { readonly [name: string]: unknown },
  caller: Caller = {}
): Promise<Answered> => refusable(() => searchOnce(context, collectionName, parameters, caller))
const searchOnce = async (
  context: OperationContext,
  collectionName: string,
  parameters: { readonly [name: string]: unknown },
  caller: Caller
): Promise<Answered> => {
  const merged = mergeSearchParameters(context, [parameters], caller)
  if (!merged.ok) return merged
  if (merged.value.q === undefined && merged.value.voice_query === undefined)
    return fail(invalid("Parameter `q` is required.", "q"))
  const collection = resolveCollection(context, collectionName)
  if (collection === undefined) return fail(COLLECTION_NOT_FOUND)
  const own = await planned(context, collection, merged.value, caller, budgetOf(context))
  if (!own.ok) return own
  const [result] = await answersOf(context, [own.value])
  return result.ok ? ok({ status: 200, text: enveloped(context, own.value, result.value) }) : result
}

/**
 * How many searches one request may hold: as the scoped key says, else the host; what the request says itself can only
 * be less. Fails (400) on a limit that is no number.
 */
export const multiSearchesLimit = (
  context: OperationContext,
  shared: QueryParameters,
  caller: Caller
): Result<number> => {
  const embedded = caller.embedded?.limit_multi_searches
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

/** A request for several searches, read and counted. */
export interface MultiSearch {
  readonly searches: ReadonlyArray<{ readonly [name: string]: unknown }>
  readonly union: boolean
  readonly removeDuplicates: boolean
}
/** The searches of a body, or of the preset that the query string names (then the body is not read). */
export const readMultiSearch = (
  context: OperationContext,
  sent: Body,
  shared: QueryParameters,
  caller: Caller
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
  const limit = multiSearchesLimit(context, shared, caller)
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
interface Entry {
  readonly parameters: Parameters
  readonly collection: string
}
/** Entries merged with the query string; a value that is no scalar fails the whole request. */
const readEntries = (
  context: OperationContext,
  request: MultiSearch,
  shared: QueryParameters,
  caller: Caller
): Result<ReadonlyArray<Entry>> => {
  const { preset: _preset, limit_multi_searches: _limit, use_cache: _cache, ...common } = shared
  const entries: Entry[] = []
  for (const raw of request.searches) {
    const own = Object.fromEntries(
      Object.entries(raw).filter(
        ([name]) => !name.endsWith("-api-key") && !(request.union && SHARED_PAGING.includes(name))
      )
    )
    const merged = mergeSearchParameters(context, [common, own], caller)
    if (!merged.ok) return merged
    entries.push({ parameters: merged.value, collection: merged.value.collection ?? "" })
  }
  return ok(entries)
}

/**
 * Several searches; each has its own result or failure. With `union` one ranked list. The answer is JSON text; Invalid
 * where all of it together would be larger than the limits allow.
 */
export const multiSearch = async (
  context: OperationContext,
  sent: Body,
  shared: QueryParameters,
  caller: Caller = {}
): Promise<Answered> => {
  const request = readMultiSearch(context, sent, shared, caller)
  return request.ok ? searchMany(context, request.value, shared, caller) : request
}
/** The same for a request that its host has read. */
export const searchMany = (
  context: OperationContext,
  request: MultiSearch,
  shared: QueryParameters,
  caller: Caller = {}
): Promise<Answered> =>
  refusable(async () => {
    const entries = readEntries(context, request, shared, caller)
    if (!entries.ok) return entries
    if (entries.value.length === 0) return ok({ status: 200, text: resultsText([]), entries: [] })
    return request.union
      ? unionSearch(context, entries.value, shared, request.removeDuplicates, caller)
      : separateSearches(context, entries.value, caller)
  })
/** The engine's trouble, not the request's. */
const isAway = ({ kind }: EngineError): boolean =>
  kind === "Unavailable" || kind === "Overloaded" || kind === "TimedOut"
/** The answer to several searches, of theirs. */
export const resultsText = (entries: ReadonlyArray<string>): string => `{"results":[${entries.join(",")}]}`
const failureText = (error: EngineError): string =>
  JSON.stringify({ code: statusOf(error), error: boundedText(error.message) })
const separateSearches = async (
  context: OperationContext,
  entries: ReadonlyArray<Entry>,
  caller: Caller
): Promise<Answered> => {
  // Fifty searches are a lot to compile, and to write: others get their turn in between.
  const budget = budgetOf(context)
  const give = givingWay()
  const plans: Array<Result<PlannedSearch>> = [],
    filters: KnownFilters = new Map()
  for (const entry of entries) {
    plans.push(await planEntry(context, entry, caller, COLLECTION_NOT_FOUND, budget, filters))
    await give()
  }
  const answers = await answersOf(
    context,
    plans.flatMap((plan) => (plan.ok ? [plan.value] : []))
  )
  if (budget.refusal !== undefined) return fail(budget.refusal)
  // An engine that answers none of them is no answer to the request.
  const [first] = answers
  if (first !== undefined && !first.ok && answers.every((answer) => !answer.ok && isAway(answer.error))) return first
  let at = 0
  const texts: string[] = [],
    failures: EngineError[] = []
  for (const plan of plans) {
    const result = plan.ok ? answers[at++]! : plan
    if (plan.ok && result.ok) texts.push(enveloped(context, plan.value, result.value as FoundAnswer))
    else if (!result.ok) {
      failures.push(result.error)
      texts.push(failureText(result.error))
    }
    if (plan.ok) await give()
  }
  return ok({ status: 200, text: resultsText(texts), entries: texts, ...(failures.length === 0 ? {} : { failures }) })
}
const planEntry = async (
  context: OperationContext,
  entry: Entry,
  caller: Caller,
  missing: EngineError,
  budget: AnswerBudget,
  filters: KnownFilters
): Promise<Result<PlannedSearch>> => {
  const refusal = caller.refusalOf?.(entry.collection)
  if (refusal !== undefined) return fail(refusal)
  const collection = resolveCollection(context, entry.collection)
  return collection === undefined
    ? fail(missing)
    : planned(context, collection, entry.parameters, caller, budget, filters)
}
const unionSearch = async (
  context: OperationContext,
  entries: ReadonlyArray<Entry>,
  shared: QueryParameters,
  removeDuplicates: boolean,
  caller: Caller
): Promise<Answered> => {
  const failed = (error: EngineError): Answered =>
    isAway(error) ? fail(error) : ok({ status: 200, text: failureText(error), failures: [error] })
  const searches: PlannedSearch[] = [],
    filters: KnownFilters = new Map()
  for (const entry of entries) {
    // Before it is told whether any of them exists.
    const refusal = caller.refusalOf?.(entry.collection)
    if (refusal !== undefined) return failed(refusal)
  }
  for (const entry of entries) {
    if (resolveCollection(context, entry.collection) === undefined)
      return failed(notFound(`\`${entry.collection}\` collection not found.`))
  }
  const paging = unionPaging(shared, context.limits)
  if (!paging.ok) return failed(paging.error)
  const budget = budgetOf(context)
  const give = givingWay()
  for (const entry of entries) {
    await give()
    const plan = await planEntry(
      context,
      entry,
      caller,
      notFound(`\`${entry.collection}\` collection not found.`),
      budget,
      filters
    )
    if (!plan.ok) return failed(plan.error)
    searches.push(plan.value)
  }
  const result = await unionAnswerOf(context, searches, paging.value, removeDuplicates)
  if (budget.refusal !== undefined) return fail(budget.refusal)
  // One answer, one account: the first entry's query over its collection stands for the whole.
  return result.ok ? ok({ status: 200, text: enveloped(context, searches[0], result.value) }) : failed(result.error)
}
