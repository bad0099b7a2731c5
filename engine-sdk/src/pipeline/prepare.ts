/**
 * Everything about a search that is decided before the engine is called: which rules fire, what they change, which
 * stages follow.
 */
import { diversityStages } from "../diversity/diversity-stages.ts"
import type { FacetRequest, SearchPlan } from "../plan.ts"
import { linearReranker } from "../rerank/linear.ts"
import { rerankStage } from "../rerank/rerank-stage.ts"
import { noneReranker, type Reranker } from "../rerank/reranker.ts"
import { covers, type FieldList } from "../query/field-list.ts"
import { applyToPlan } from "../rules/apply-to-plan.ts"
import { queryWords } from "../rules/condition-index.ts"
import { matchRules, noRules } from "../rules/match-rules.ts"
import type { RerankSettings } from "../rules/rule-set.ts"
import type { MatchedRules } from "../rules/matched-rules.ts"
import type { MerchandisedSearch, MerchandiseEnvironment } from "./merchandising.ts"
import type { Stage } from "../stage/stage.ts"
import type { SearchTape } from "./tape.ts"
import type { StageTrace } from "./trace.ts"

/**
 * Number of hits that rerank and diversity examine; deeper pages keep the engine's order.
 *
 * @example
 * ```ts
 * import { WINDOW } from "@dowser/engine-sdk/pipeline"
 *
 * const isEngineOrder = (rank: number) => rank >= WINDOW
 * ```
 */
export const WINDOW = 250

/** One search in progress. */
export interface Prepared {
  readonly search: MerchandisedSearch
  readonly matched: MatchedRules
  readonly words: ReadonlyArray<string>
  /** With all changes by rules, but without a window. */ readonly plan: SearchPlan
  readonly stages: ReadonlyArray<Stage>
  readonly now_us: () => number
  readonly tape: SearchTape | undefined
  readonly started_us: number
  /** Trace lines so far; later ones are appended. */ readonly lines: StageTrace[]
}

/** O(query words + rules that fire). */
export const prepare = (environment: MerchandiseEnvironment, search: MerchandisedSearch, number: number): Prepared => {
  const tape = environment.tape?.search(number)
  const now_us = tape === undefined ? environment.now_us : tape.now_us
  const started_us = now_us()
  const words = queryWords(search.request.q)
  const matched = search.rules === undefined ? noRules : matchRules(search.rules, search.request, words)
  const plan = withFacetSuggestions(
    environment,
    applyToPlan(search.plan, matched, { filterCuratedHits: search.filterCuratedHits }),
    matched,
    search.fields
  )
  const lines: StageTrace[] = [line("rules", now_us() - started_us)]
  return {
    search,
    matched,
    words,
    plan,
    stages: stagesOf(environment, search, { rerank: matched.rerank ?? search.rerank, diversity: matched.diversity }),
    now_us,
    tape,
    started_us,
    lines
  }
}
/** A line of the trace for a step that is not a stage. */
export const line = (name: string, us: number, more: Partial<StageTrace> = {}): StageTrace => ({
  name,
  outcome: "applied",
  us,
  moved: [],
  ...more
})

/** The stages in the order of `docs/contract/merchandising.md#order-of-application`. */
export const stagesOf = (
  environment: MerchandiseEnvironment,
  search: MerchandisedSearch,
  { rerank, diversity }: Pick<MatchedRules, "rerank" | "diversity">
): ReadonlyArray<Stage> => [
  ...(rerank === undefined
    ? []
    : [rerankStage(withFields(rerank, search.plan), rerankerOf(environment, rerank.model, search.plan.collection))]),
  ...(search.stages ?? []),
  ...diversityStages(diversity)
]
/** Decision: a rerank that names no fields reads those that the words were searched in. */
const withFields = (settings: RerankSettings, { text }: SearchPlan): RerankSettings =>
  settings.fields.length > 0 || text === undefined
    ? settings
    : { ...settings, fields: text.fields.map(({ field }) => field) }
/** A reranker of the host takes precedence over one of the package with the same name. */
const rerankerOf = (environment: MerchandiseEnvironment, model: string, collection: string): Reranker | undefined =>
  environment.reranker?.(model, collection) ??
  (model === "none" ? noneReranker : model === "linear" ? linearReranker() : undefined)

/** Facets that only the rules need are added after those of the request. */
const withFacetSuggestions = (
  environment: MerchandiseEnvironment,
  plan: SearchPlan,
  { facetSuggestions }: MatchedRules,
  fields: FieldList | undefined
): SearchPlan => {
  if (facetSuggestions === undefined) return plan
  const schema = environment.engine.describeCollection(environment.namespace, plan.collection)?.schema
  const missing = facetSuggestions.fields.filter(
    (field) =>
      (fields === undefined || covers(fields, field)) &&
      schema?.fields.some(({ name, facet }) => name === field && facet) === true &&
      !plan.facets.some((facet) => isPlainFacet(facet, field))
  )
  const added = missing.map((field): FacetRequest => ({
    field,
    ranges: [],
    order: { kind: "count" },
    topK: false,
    strategy: "automatic",
    returnParent: false
  }))
  return {
    ...plan,
    facets: [...plan.facets, ...added],
    facetValuesMax: Math.max(plan.facetValuesMax, facetSuggestions.limit)
  }
}
/** Whether the facet counts every value of the field, most frequent first. */
export const isPlainFacet = (facet: FacetRequest, field: string): boolean =>
  facet.field === field &&
  facet.collection === undefined &&
  facet.ranges.length === 0 &&
  facet.order.kind === "count" &&
  !facet.topK

/** The plan, with a window if stages need one; groups, and pages beyond the window, do not. */
export const windowed = (plan: SearchPlan, stages: ReadonlyArray<Stage>): SearchPlan => {
  const size = windowSize(plan, stages, (plan.injected?.length ?? 0) + plan.pinned.length)
  return size === undefined || plan.group !== undefined ? plan : { ...plan, window: { size, fields: fieldsOf(stages) } }
}
/**
 * Number of organic hits that a page needs if stages reorder the first `WINDOW`; undefined if the engine's page can be
 * used unchanged.
 */
export const windowSize = (
  page: { readonly offset: number; readonly limit: number; readonly hits_max: number },
  stages: ReadonlyArray<Stage>,
  placed: number
): number | undefined => {
  const end = Math.min(page.offset + page.limit, page.hits_max)
  return stages.length === 0 || end <= page.offset || page.offset >= WINDOW + placed
    ? undefined
    : Math.min(Math.max(WINDOW, end), page.hits_max)
}
export const fieldsOf = (stages: ReadonlyArray<Stage>): ReadonlyArray<string> =>
  [...new Set(stages.flatMap(({ fields }) => fields ?? []))].filter((field) => field !== "")
