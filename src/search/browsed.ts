/**
 * What a visitor would see of a collection without a query, for features that generate pages from it. Several searches
 * of `*` in one call, each with what the collection's policies, default profile and rules allow, without a unit and
 * without a trace. They take their turns on the searching thread like any other.
 */
import { ok, type Result, type SearchAnswer } from "@dowser/engine-sdk"
import {
  AnswerBudget,
  type OperationContext,
  type PlannedSearch,
  prepareSearch,
  Reach,
  readSearch,
  runSearches
} from "@dowser/engine-sdk/operations"
import { NO_TRAITS, visitorOf } from "../identity/visitor.ts"
import { profiled } from "../profiles/profile-step.ts"
import { searchMerchandise } from "../rules/search-merchandise.ts"
import { excluding } from "./chosen-documents.ts"
import type { RankFailure, RankParts } from "./ranked.ts"
import { timelyEngine } from "./timely-engine.ts"

export interface BrowseAsked {
  readonly organizationId: string
  /** A collection or an alias. */ readonly collection: string
  /** Parameters of each search, without `q`. */ readonly searches: ReadonlyArray<Readonly<Record<string, string>>>
  /** Hits of each search, regardless of a profile's page length. */ readonly limit: number
  /** Facet values of each search; parameters can only lower it. */ readonly facetValuesMax?: number
  readonly signal: AbortSignal
}
/** Time limit of all searches of one call together. */
const TIME_MS = 30_000

const planned = async (
  parts: RankParts,
  { collection, facetValuesMax, limit, organizationId }: BrowseAsked,
  parameters: Readonly<Record<string, string>>,
  context: OperationContext,
  reach: Reach
): Promise<Result<PlannedSearch, RankFailure>> => {
  const asked = { ...parameters, q: "*", enable_curations: "false" }
  const read = readSearch(context, collection, asked, reach.restrictions)
  if (!read.ok) return read
  const step = profiled(parts, { context, caller: { organizationId }, request: read.value, fields: reach.fields })
  if (!step.ok) return step
  const prepared = await prepareSearch(context, step.value.request, reach)
  if (!prepared.ok) return prepared
  const search = prepared.value
  const rules = parts.rules.compiled(organizationId, search.collection)
  if (!rules.ok) return rules
  const merchandise = searchMerchandise({
    rules: rules.value === undefined ? undefined : excluding(rules.value),
    parameters: search.parameters,
    visitor: () => visitorOf(search.parameters, NO_TRAITS, undefined),
    now_ms: parts.now_ms(),
    explain: false
  })
  const page = { ...search.plan, limit, group: undefined }
  const plan = facetValuesMax === undefined ? page : { ...page, facetValuesMax }
  return ok(merchandise === undefined ? { ...search, plan } : { ...search, plan, merchandise })
}

/**
 * Returns an answer or a failure for each search, in order: a search that fails does not affect the others. Cost: as
 * few engine calls as the engine's limit allows.
 */
export const browse = async (
  parts: RankParts,
  asked: BrowseAsked
): Promise<Result<ReadonlyArray<Result<SearchAnswer, RankFailure>>, RankFailure>> => {
  const own = parts.contextOf(asked.organizationId)
  const turn = { organizationId: asked.organizationId, until: performance.now() + TIME_MS, signal: asked.signal }
  const context: OperationContext = {
    ...own,
    engine: timelyEngine(own.engine, parts.turns, turn),
    budget: new AnswerBudget(own.limits.answer_bytes_max)
  }
  const reach = new Reach(context, {})
  const searches: Array<Result<PlannedSearch, RankFailure>> = []
  for (const parameters of asked.searches) searches.push(await planned(parts, asked, parameters, context, reach))
  const environment = { ...parts.environmentOf(asked.organizationId), signal: asked.signal }
  const made = searches.flatMap((search) => (search.ok ? [search.value] : []))
  const found = made.length === 0 ? ok([]) : await runSearches(context, made, environment)
  if (!found.ok) return found
  let at = 0
  return ok(
    searches.map((search) => {
      if (!search.ok) return search
      const each = found.value[at++]!
      return each.ok ? ok(each.value.answer) : each
    })
  )
}
