/** Searches and unions: plans are placed, printed, asked for in one request, and what comes back is read. */
import { isObject } from "../documents/json.ts"
import { AnswerRefused } from "../budget/answer-budget.ts"
import type { Dictionaries } from "../analysis/mod.ts"
import type { Namespace, SearchBudget } from "../engine.ts"
import { type EngineError, fail, ok, type Result } from "../errors.ts"
import type { Filter, SearchAnswer, SearchPlan, UnionAnswer, UnionPlan } from "../plan.ts"
import type { ServerClient } from "./client.ts"
import type { Directory } from "./directory.ts"
import type { Gate } from "./gate.ts"
import type { ServerNames } from "./names.ts"
import { placePlan } from "./place-plan.ts"
import { filterText, isListable, type SchemaContext } from "./print-filters.ts"
import { printPlan, type PrintedParameters } from "./print-plan.ts"
import { missing } from "./refusals.ts"
import { readResult, readSearch, readUnion } from "./read-answer.ts"

export interface Parts {
  readonly client: ServerClient
  readonly directory: Directory
  readonly names: ServerNames
  readonly gate: Gate
}
/** What a server takes in one request unless it is told more. */
const SEARCHES_MAX = 50
/** A server cuts a search off by itself; this is for the way there and back, and for another node. */
const WAY_ms = 1_500

/** What a namespace's plans are printed with: schemas by their names on the server. */
export const contextOf = (
  { directory, names }: Pick<Parts, "directory" | "names">,
  namespace: Namespace,
  collection: string,
  dictionaries: Dictionaries
): SchemaContext | undefined => {
  const entry = directory.find(namespace, collection)
  if (entry === undefined) return undefined
  return {
    schema: entry.info.schema,
    schemaOf: (serverName) => {
      const placed = names.read(serverName)
      return placed === undefined ? undefined : directory.find(placed.namespace, placed.name)?.info.schema
    },
    dictionaries
  }
}

interface Printed {
  readonly plan: SearchPlan
  readonly parameters: PrintedParameters
}
interface Asking extends Parts {
  readonly namespace: Namespace
  readonly dictionaries: Dictionaries
  /** Processor time that the plans of the request may take from now on. */ readonly left_ms: () => number
}

const printed = async (asking: Asking, plan: SearchPlan): Promise<Result<Printed>> => {
  const { dictionaries, directory, names, namespace } = asking
  const known = await directory.known(namespace, plan.collection)
  if (!known.ok) return known
  const context = contextOf(asking, namespace, plan.collection, dictionaries)!
  const placed = placePlan(plan, (name) => names.of(namespace, name))
  const pinned = await permittedPins(asking, placed, context)
  if (!pinned.ok) return pinned
  const parameters = printPlan({ ...placed, pinned: pinned.value }, context)
  return parameters.ok
    ? ok({
        plan,
        parameters: { ...parameters.value, collection: placed.collection, enable_analytics: false }
      })
    : parameters
}
/**
 * Pinned documents that pass what restricts the caller: the API knows only pins that pass the whole filter and pins that
 * pass none. One small request more, for restricted callers with pins.
 */
const permittedPins = async (
  asking: Asking,
  plan: SearchPlan,
  context: SchemaContext
): Promise<Result<SearchPlan["pinned"]>> => {
  const { pinned, pinnedFilter } = plan
  if (pinned.length === 0 || pinnedFilter === undefined || plan.filterCuratedHits) return ok(pinned)
  const ids = pinned.map(({ id }) => id).filter(isListable)
  const filter: Filter = { kind: "and", left: { kind: "ids", ids }, right: pinnedFilter }
  const request = {
    collection: plan.collection,
    q: "*",
    filter_by: filterText(filter, context),
    include_fields: "id",
    limit: ids.length,
    search_cutoff_ms: Math.max(0, Math.floor(asking.left_ms()))
  }
  const found = await askedAll(asking, [request])
  if (!found.ok) return found
  const answer = readResult(
    found.value[0],
    (said) => said,
    (body) => readSearch(body, { ...plan, group: undefined, facets: [] }, (said) => said)
  )
  if (!answer.ok) return answer
  const permitted = new Set((answer.value.hits ?? []).map(({ document }) => document.id))
  return ok(pinned.filter(({ id }) => permitted.has(id)))
}

const asked = async (
  { client, left_ms }: Asking,
  searches: ReadonlyArray<object>,
  more: { readonly union?: UnionPlan; readonly heard?: (bytes: number) => void } = {}
): Promise<Result<unknown>> =>
  client.ask({
    method: "POST",
    path: `/multi_search${more.union === undefined ? "" : pagingOf(more.union)}`,
    body:
      more.union === undefined
        ? { searches }
        : { union: true, remove_duplicates: more.union.removeDuplicates, searches },
    timeout_ms: 2 * left_ms() + 2 * WAY_ms,
    attempt_ms: left_ms() + WAY_ms,
    isRepeatable: true,
    ...(more.heard === undefined ? {} : { heard: more.heard })
  })
const pagingOf = ({ hits_max, limit, offset }: UnionPlan): string =>
  `?offset=${offset}&limit=${limit}&limit_hits=${hits_max}`
const askedAll = async (
  asking: Asking,
  searches: ReadonlyArray<object>,
  heard?: (bytes: number) => void
): Promise<Result<ReadonlyArray<unknown>>> => {
  const answer = await asked(asking, searches, heard === undefined ? {} : { heard })
  if (!answer.ok) return answer
  const { results } = isObject(answer.value) ? answer.value : {}
  return Array.isArray(results) && results.length === searches.length
    ? ok(results as ReadonlyArray<unknown>)
    : fail({ kind: "Unavailable", message: "The search engine's server answers another number of searches." })
}

/** An answer of which nothing was found in time. */
const cutOff = ({ collection, echo, facets, group }: SearchPlan): SearchAnswer => ({
  facet_counts: facets.map(({ field }) => ({
    field_name: field,
    sampled: false,
    counts: [],
    stats: { total_values: 0 }
  })),
  found: 0,
  ...(group === undefined ? { hits: [] } : { found_docs: 0, grouped_hits: [] }),
  ...(echo.excludeOutOf ? {} : { out_of: 0 }),
  ...(echo.page === undefined ? {} : { page: echo.page }),
  request_params: { collection_name: collection, first_q: echo.q, per_page: echo.per_page, q: echo.q },
  search_cutoff: true,
  ...(echo.excludeSearchTime ? {} : { search_time_ms: 0 })
})

/** The request's account of bytes; a failure where they are too many. */
const weighed = (plan: SearchPlan | undefined, bytes: number): EngineError | undefined => {
  try {
    plan?.budget?.hold(bytes, "answer")
    return undefined
  } catch (error) {
    if (error instanceof AnswerRefused) return error.error
    throw error
  }
}

export interface SearchParts extends Parts {
  readonly dictionaries: Dictionaries
}
const timed = (plans: ReadonlyArray<SearchPlan>, budget: SearchBudget | undefined): (() => number) => {
  const began = performance.now()
  const left_ms =
    budget === undefined
      ? plans.reduce((most, { cutoff_ms }) => Math.max(most, cutoff_ms), 0)
      : budget.limit_ms - budget.used_ms
  return () => left_ms - (performance.now() - began)
}

/** One answer or one failure per plan, in order; fifty plans travel in one request. */
export const searchPlans = async (
  parts: SearchParts,
  namespace: Namespace,
  plans: ReadonlyArray<SearchPlan>,
  budget: SearchBudget | undefined
): Promise<ReadonlyArray<Result<SearchAnswer>>> => {
  const began = performance.now()
  const asking: Asking = { ...parts, namespace, left_ms: timed(plans, budget) }
  const answers: Array<Result<SearchAnswer>> = []
  for (let from = 0; from < plans.length; from += SEARCHES_MAX)
    answers.push(...(await searchTogether(asking, plans.slice(from, from + SEARCHES_MAX), budget)))
  if (budget !== undefined) budget.used_ms += performance.now() - began
  return answers
}
const searchTogether = async (
  asking: Asking,
  plans: ReadonlyArray<SearchPlan>,
  budget: SearchBudget | undefined
): Promise<ReadonlyArray<Result<SearchAnswer>>> => {
  const { gate, names, namespace } = asking
  const ready = await Promise.all(plans.map((plan) => printed(asking, plan)))
  const sent = ready.flatMap((one) => (one.ok ? [one.value] : []))
  const left_ms = asking.left_ms()
  if (left_ms <= 0 || budget?.isGivenUp?.() === true)
    return ready.map((one) => (one.ok ? ok(cutOff(one.value.plan)) : one))
  if (sent.length === 0) return ready.map((one) => one as Result<never>)
  let bytes = 0
  const searches = sent.map(({ parameters }) => ({
    ...parameters,
    search_cutoff_ms: Math.min(Number(parameters.search_cutoff_ms), Math.ceil(left_ms))
  }))
  const found = await gate.through(namespace, left_ms, () =>
    askedAll(asking, searches, (heard) => {
      bytes = heard
    })
  )
  const refused = weighed(sent[0]?.plan, bytes)
  const told = (said: string): string => names.told(namespace, said)
  let next = 0
  return ready.map((one) => {
    if (!one.ok) return one
    const raw = found.ok ? found.value[next++] : undefined
    if (!found.ok || refused !== undefined) return found.ok ? fail(refused!) : found
    return readResult(raw, told, (body) => readSearch(body, one.value.plan, told))
  })
}

export const searchUnion = async (
  parts: SearchParts,
  namespace: Namespace,
  union: UnionPlan,
  budget: SearchBudget | undefined
): Promise<Result<UnionAnswer>> => {
  const began = performance.now()
  const asking: Asking = { ...parts, namespace, left_ms: timed(union.plans, budget) }
  const answer = await unionOf(asking, union)
  if (budget !== undefined) budget.used_ms += performance.now() - began
  return answer
}
const unionOf = async (asking: Asking, union: UnionPlan): Promise<Result<UnionAnswer>> => {
  const { gate, names, namespace } = asking
  if (union.window !== undefined) return fail(missing("exact_ties", "rules", "windows for reranking and diversity"))
  const searches: Array<object> = []
  for (const plan of union.plans) {
    const one = await printed(asking, plan)
    if (!one.ok) return one
    // Of the whole list, these travel in the query.
    const { limit: _limit, limit_hits: _hits, offset: _offset, ...parameters } = one.value.parameters
    searches.push(parameters)
  }
  let bytes = 0
  const heard = (read: number): void => {
    bytes = read
  }
  const left_ms = Math.max(1, asking.left_ms())
  const found = await gate.through(namespace, left_ms, () => asked(asking, searches, { union, heard }))
  if (!found.ok) return found
  const refused = weighed(union.plans[0], bytes)
  if (refused !== undefined) return fail(refused)
  const told = (said: string): string => names.told(namespace, said)
  return readResult(found.value, told, (body) => readUnion(body, union, told))
}
