/** Searches and unions: plans are translated to server names, printed and sent together; answers are parsed. */
import { isObject } from "../documents/json.ts"
import { AnswerRefused } from "../budget/answer-budget.ts"
import type { Dictionaries } from "../analysis/mod.ts"
import type { Namespace, SearchBudget } from "../engine.ts"
import { type EngineError, fail, ok, type Result } from "../errors.ts"
import type { SearchAnswer, SearchPlan, UnionAnswer, UnionPlan } from "../plan.ts"
import type { Filter } from "../filter.ts"
import type { ServerClient } from "./client.ts"
import { compose, type Composed, passingFilter } from "./compose.ts"
import type { Directory } from "./directory.ts"
import type { Gate } from "./gate.ts"
import type { ServerNames } from "./names.ts"
import { placePlan } from "./place-plan.ts"
import { filterText, isListable, type SchemaContext } from "./print-filters.ts"
import { printPlan, type PrintedParameters } from "./print-plan.ts"
import { missing, Unprintable } from "./refusals.ts"
import { readIds, readResult, readSearch, readUnion } from "./read-answer.ts"

export interface Parts {
  readonly client: ServerClient
  readonly directory: Directory
  readonly names: ServerNames
  readonly gate: Gate
}
/** Maximum searches that a server accepts in one request by default. */
const SEARCHES_MAX = 50
/** A server enforces the search's time limit itself; this is for the network, and for trying another node. */
const WAY_MS = 1_500

/** The context for printing a namespace's plans: schemas by their names on the server. */
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
  /** Searches for the plan; `combine` merges their answers. */
  readonly parts: ReadonlyArray<{ readonly plan: SearchPlan; readonly parameters: PrintedParameters }>
  readonly combine: Composed["combine"]
}
interface Asking extends Parts {
  readonly namespace: Namespace
  readonly dictionaries: Dictionaries
  /** Processor time that the plans of the request may still take. */ readonly left_ms: () => number
}

const printed = async (asking: Asking, plan: SearchPlan): Promise<Result<Printed>> => {
  const { dictionaries, directory, names, namespace } = asking
  const known = await directory.known(namespace, plan.collection)
  if (!known.ok) return known
  const context = contextOf(asking, namespace, plan.collection, dictionaries)!
  const placed = placePlan(plan, (name) => names.of(namespace, name))
  const composed = await compose(placed, context.schema, (filters, ids) =>
    passing(asking, placed.collection, filters, ids, context)
  )
  if (!composed.ok) return composed
  const parts: Array<Printed["parts"][number]> = []
  for (const one of composed.value.plans) {
    const parameters = printPlan(one, context)
    if (!parameters.ok) return parameters
    parts.push({
      plan: { ...one, collection: plan.collection },
      parameters: { ...parameters.value, collection: placed.collection, enable_analytics: false }
    })
  }
  return ok({ plan, parts, combine: composed.value.combine })
}
/** Which of some documents exist and pass each of some filters, in one additional small request. */
const passing = async (
  asking: Asking,
  collection: string,
  filters: ReadonlyArray<Filter | undefined>,
  ids: ReadonlyArray<string>,
  context: SchemaContext
): Promise<Result<ReadonlyArray<ReadonlySet<string>>>> => {
  const listable = ids.filter(isListable)
  const search_cutoff_ms = Math.max(0, Math.floor(asking.left_ms()))
  const searches: Array<object> = []
  try {
    for (const filter of filters) {
      const filter_by = filterText(passingFilter(listable, filter), context)
      searches.push({ collection, q: "*", filter_by, include_fields: "id", limit: ids.length, search_cutoff_ms })
    }
  } catch (error) {
    if (error instanceof Unprintable) return fail(error.error)
    throw error
  }
  const found = await asking.gate.through(asking.namespace, asking.left_ms(), () => askedAll(asking, searches))
  if (!found.ok) return found
  const translate = (sentence: string): string => asking.names.translate(asking.namespace, sentence)
  const sets: Array<ReadonlySet<string>> = []
  for (const raw of found.value) {
    const set = readResult(raw, translate, readIds)
    if (!set.ok) return set
    sets.push(set.value)
  }
  return ok(sets)
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
    timeout_ms: 2 * left_ms() + 2 * WAY_MS,
    attempt_ms: left_ms() + WAY_MS,
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

/** The answer of a search that ran out of time, without hits. */
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

/** Counts bytes for the request; returns a failure if there are too many. */
const weighed = (plan: SearchPlan | undefined, bytes: number): EngineError | undefined => {
  try {
    plan?.budget?.hold(bytes, "answer")
    return undefined
  } catch (error) {
    if (error instanceof AnswerRefused) return error.error
    throw error
  }
}

interface SearchParts extends Parts {
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

/** Returns one answer or one failure per plan, in order; up to fifty searches are sent in one request. */
export const searchPlans = async (
  parts: SearchParts,
  namespace: Namespace,
  plans: ReadonlyArray<SearchPlan>,
  budget: SearchBudget | undefined
): Promise<ReadonlyArray<Result<SearchAnswer>>> => {
  const began = performance.now()
  const asking: Asking = { ...parts, namespace, left_ms: timed(plans, budget) }
  const isOver = (): boolean => asking.left_ms() <= 0 || budget?.isGivenUp?.() === true
  const ready = isOver()
    ? plans.map((plan): Result<Printed> => ok({ plan, parts: [], combine: () => cutOff(plan) }))
    : await Promise.all(plans.map((plan) => printed(asking, plan)))
  const searches = ready.flatMap((one) => (one.ok ? one.value.parts.map(({ parameters }) => parameters) : []))
  const raw: Array<Result<unknown>> = []
  for (let from = 0; from < searches.length; from += SEARCHES_MAX) {
    const some = searches.slice(from, from + SEARCHES_MAX)
    const found = isOver() ? undefined : await searchTogether(asking, plans[0], some)
    raw.push(...some.map((_search, i) => (found === undefined || !found.ok ? (found ?? CUT_OFF) : ok(found.value[i]))))
  }
  let next = 0
  const answers = ready.map((one): Result<SearchAnswer> => {
    if (!one.ok) return one
    const from = next
    next += one.value.parts.length
    return answerOf(asking, one.value, raw.slice(from, next))
  })
  if (budget !== undefined) budget.used_ms += performance.now() - began
  return answers
}
/** Stands for a search for which no time was left. */
const CUT_OFF: Result<undefined> = ok(undefined)
const searchTogether = async (
  asking: Asking,
  first: SearchPlan | undefined,
  parameters: ReadonlyArray<PrintedParameters>
): Promise<Result<ReadonlyArray<unknown>>> => {
  const left_ms = asking.left_ms()
  let bytes = 0
  const searches = parameters.map((one) => ({
    ...one,
    search_cutoff_ms: Math.min(Number(one.search_cutoff_ms), Math.max(0, Math.ceil(left_ms)))
  }))
  const found = await asking.gate.through(asking.namespace, left_ms, () =>
    askedAll(asking, searches, (heard) => {
      bytes = heard
    })
  )
  const refused = weighed(first, bytes)
  return refused === undefined ? found : fail(refused)
}
const answerOf = (
  { names, namespace }: Asking,
  { combine, parts, plan }: Printed,
  raw: ReadonlyArray<Result<unknown>>
): Result<SearchAnswer> => {
  if (raw.includes(CUT_OFF)) return ok(cutOff(plan))
  const translate = (sentence: string): string => names.translate(namespace, sentence)
  const answers: SearchAnswer[] = []
  for (const [i, one] of raw.entries()) {
    if (!one.ok) return one
    const answer = readResult(one.value, translate, (body) => readSearch(body, parts[i]!.plan, translate))
    if (!answer.ok) return answer
    answers.push(answer.value)
  }
  return ok(combine(answers))
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
    if ((plan.injected?.length ?? 0) > 0 || (plan.pinned.length > 0 && plan.pinnedFilter !== undefined))
      return fail(missing("exact_ties", "rules", "documents that are placed in a list of several searches"))
    const one = await printed(asking, plan)
    if (!one.ok) return one
    // Paging applies to the merged list, so it is sent in the query string.
    const { limit: _limit, limit_hits: _hits, offset: _offset, ...parameters } = one.value.parts[0]!.parameters
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
  const translate = (sentence: string): string => names.translate(namespace, sentence)
  return readResult(found.value, translate, (body) => readUnion(body, union, translate))
}
