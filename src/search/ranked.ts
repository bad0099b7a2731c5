/**
 * What a search would show today, for judging rankings: only the ids. It is prepared and run like every search, with
 * the rules of its collection, and leaves no trace: no unit, no report, no query id, nothing stored. It takes its turn
 * on the searching thread like any other.
 */
import { type EngineError, fail, type Hit, ok, type Result } from "@dowser/engine-sdk"
import {
  AnswerBudget,
  type Environment,
  type OperationContext,
  type PlannedSearch,
  prepareSearch,
  Reach,
  readSearch,
  type Restrictions,
  runSearch,
  type SearchRequest as ReadRequest
} from "@dowser/engine-sdk/operations"
import type { Parameters } from "@dowser/engine-sdk/query"
import type { OrganizationUnavailable } from "../http/errors.ts"
import { NO_TRAITS, visitorOf } from "../identity/visitor.ts"
import { profiled, profiledBy, type ProfileStepParts } from "../profiles/profile-step.ts"
import type { ActingProfile } from "../profiles/acting-profile.ts"
import type { SearchRules } from "../rules/search-rules.ts"
import { searchMerchandise } from "../rules/search-merchandise.ts"
import type { FallbackMeanings } from "../embedding/fallback-meanings.ts"
import { byMeaning } from "./by-meaning.ts"
import { timelyEngine } from "./timely-engine.ts"
import type { Turns } from "./turns.ts"

export interface RankAsked {
  readonly organizationId: string
  /** A collection or an alias. */ readonly collection: string
  /** Search parameters, including `q`; those that only change the answer's text are ignored. */
  readonly parameters: Readonly<Record<string, string>>
  /** An unsaved profile, instead of the one that the parameters name. It is compiled once per object. */
  readonly profile?: ActingProfile
  /** Hits wanted, at most 250. */ readonly depth: number
  readonly signal: AbortSignal
  /** Restrictions under which the search must be allowed; default: none. */ readonly restrictions?: Restrictions
  /** The engine's order, ignoring the collection's rules. */ readonly isUnruled?: boolean
  /** Models in addition to those of the organization, by name. */ readonly reranker?: Environment["reranker"]
}
export type RankFailure = EngineError | OrganizationUnavailable

export interface RankParts extends ProfileStepParts {
  readonly contextOf: (
    organizationId: string
  ) => OperationContext & { readonly limits: { readonly answer_bytes_max: number } }
  readonly environmentOf: (organizationId: string) => Environment
  readonly rules: SearchRules["Service"]
  readonly meanings: Pick<FallbackMeanings["Service"], "near">
  readonly turns: Turns
  readonly now_ms: () => number
}

/** Time limit; a search that exceeds it is reported as the engine's failure. */
const TIME_MS = 10_000
/** Left out, because pages, facets, texts and AI do not affect a ranking. */
const LEFT_OUT = [
  "page",
  "offset",
  "limit",
  "facet_by",
  "facet_query",
  "include_fields",
  "exclude_fields",
  "highlight_full_fields",
  "nl_query",
  "conversation",
  "voice_query",
  "use_cache",
  "debug"
]

const without = (parameters: Parameters): Parameters =>
  Object.fromEntries(Object.entries(parameters).filter(([name]) => !LEFT_OUT.includes(name)))
/** Reads the search as its profile requires; `depth` hits are returned however long its pages are. */
const readAs = (
  parts: RankParts,
  { depth, organizationId, profile, ...asked }: RankAsked,
  context: OperationContext,
  reach: Reach
): Result<{ readonly request: ReadRequest; readonly meaning: number }> => {
  const read = readSearch(context, asked.collection, without(asked.parameters), reach.restrictions)
  if (!read.ok) return read
  const request = read.value
  const input = { context, caller: { organizationId }, request, fields: reach.fields }
  const step =
    profile === undefined || request.collection === undefined
      ? profiled(parts, input)
      : profiledBy(parts, input, request.collection, profile)
  if (!step.ok) return step
  const own = step.value.request
  const shown = { per_page: String(depth), include_fields: "id", highlight_fields: "id" }
  const asRanked = { ...own, parameters: { ...without(own.parameters), ...shown } }
  return ok({ request: asRanked, meaning: step.value.used?.meaning ?? 0 })
}

/** The search with the rules of its collection, and the context that runs it; or why it cannot run. */
const planned = async (
  parts: RankParts,
  asked: RankAsked
): Promise<Result<{ readonly context: OperationContext; readonly search: PlannedSearch }, RankFailure>> => {
  const { contextOf, now_ms, rules, turns } = parts
  const own = contextOf(asked.organizationId)
  const turn = { organizationId: asked.organizationId, until: performance.now() + TIME_MS, signal: asked.signal }
  const context: OperationContext = {
    ...own,
    engine: timelyEngine(own.engine, turns, turn),
    budget: new AnswerBudget(own.limits.answer_bytes_max)
  }
  const reach = new Reach(context, asked.restrictions ?? {})
  const read = readAs(parts, asked, context, reach)
  if (!read.ok) return read
  const { meaning } = read.value
  const request = await byMeaning(parts.meanings, asked.organizationId, read.value.request, reach.fields, meaning)
  const prepared = await prepareSearch(context, request, reach)
  if (!prepared.ok) return prepared
  const compiled = rules.compiled(asked.organizationId, prepared.value.collection)
  if (!compiled.ok) return compiled
  const { parameters } = prepared.value
  const merchandise = searchMerchandise({
    rules: asked.isUnruled === true ? undefined : compiled.value,
    parameters,
    visitor: () => visitorOf(parameters, NO_TRAITS, undefined),
    now_ms: now_ms(),
    explain: false
  })
  return ok({ context, search: merchandise === undefined ? prepared.value : { ...prepared.value, merchandise } })
}
const idOf = ({ document }: Hit): string => String(document.id)

/** Ids, best first; those of groups one after another. Cost: one engine call, as of the same search. */
export const rank = async (parts: RankParts, asked: RankAsked): Promise<Result<ReadonlyArray<string>, RankFailure>> => {
  const ready = await planned(parts, asked)
  if (!ready.ok) return ready
  const { context, search } = ready.value
  const environment = parts.environmentOf(asked.organizationId)
  const found = await runSearch(context, search, {
    ...environment,
    reranker: (model, collection) => asked.reranker?.(model, collection) ?? environment.reranker?.(model, collection),
    signal: asked.signal
  })
  if (!found.ok) return found
  const { grouped_hits, hits } = found.value.answer
  return ok((hits ?? grouped_hits?.flatMap((group) => group.hits) ?? []).map(idOf))
}

/** Whether such a search is possible: its collection exists and accepts its parameters. Does not call the engine. */
export const rankable = async (parts: RankParts, asked: RankAsked): Promise<Result<void, RankFailure>> => {
  const ready = await planned(parts, asked)
  return ready.ok ? ok(undefined) : fail(ready.error)
}
