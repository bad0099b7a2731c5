/** From the engine's answer to the page: stages over the window, placement, additions by rules, and the trace. */
import type { Awaitable } from "../engine.ts"
import type { EngineError } from "../errors.ts"
import type { FacetCount, Hit, HitWindow, SearchAnswer, SearchPlan } from "../plan.ts"
import { sortKeyName } from "../query/compile-union.ts"
import { idOfHit } from "../search/answer/answer-json.ts"
import { interleave } from "../search/rank/placement.ts"
import { countsLength, leadingCounts, writtenText } from "../search/answer/written.ts"
import type { MatchedRules } from "../rules/matched-rules.ts"
import { after, beforeWaiting } from "./awaitable.ts"
import type { MerchandiseEnvironment, SearchExtras } from "./merchandising.ts"
import { isPlainFacet, line, WINDOW, type Prepared } from "./prepare.ts"
import { runStages } from "./run-stages.ts"
import type { Candidate, Stage } from "../stage/stage.ts"
import type { HitTrace, Move, PlanSummary, Trace } from "./trace.ts"

/** A hit of the page and how it got there. */
interface PageHit {
  readonly id: string
  readonly hit: Hit
  /** From 0; absent for placed hits. */ readonly rank?: number
  readonly scores?: Readonly<Record<string, number>>
}
export interface Page {
  readonly hits: ReadonlyArray<PageHit>
  readonly failure?: EngineError
}
interface Paging {
  readonly offset: number
  readonly limit: number
  readonly hits_max: number
}

/** Reorders the first `WINDOW` hits, places pins and slots, cuts the page; adds a trace line for each to `prepared`. */
export const pageOfWindow = (
  environment: MerchandiseEnvironment,
  prepared: Prepared,
  stages: ReadonlyArray<Stage>,
  window: HitWindow,
  paging: Paging
): Awaitable<Page> => {
  const { now_us } = prepared
  const candidates = window.organic
    .slice(0, WINDOW)
    .map((hit, rank): Candidate => ({ id: window.ids[rank], rank, hit, value: (field) => window.value(rank, field) }))
  const firstPage = Math.max(
    0,
    paging.limit - window.injected.filter(({ position }) => position <= paging.limit).length
  )
  const run = runStages(candidates, stages, {
    request: { q: prepared.search.request.q, words: prepared.words, firstPage, pageEnds: pageEndsOf(window, paging) },
    now_us,
    column: (field) => window.column?.(field),
    signal: environment.signal,
    explain: environment.explain,
    tape: prepared.tape
  })
  return after(
    beforeWaiting(run, () => window.keep()),
    ({ candidates: ordered, stages: traces, scores, failure }) => {
      prepared.lines.push(...traces)
      if (failure !== undefined) return { hits: [], failure }
      const started = now_us()
      const end = Math.min(paging.offset + paging.limit, paging.hits_max)
      const organic = ordered
        .slice(0, end)
        .map(({ id, hit, rank }): PageHit => ({ id, hit, rank, scores: scores.get(id) }))
      for (let rank = WINDOW; rank < window.organic.length && organic.length < end; rank++)
        organic.push({ id: window.ids[rank], hit: window.organic[rank], rank })
      const placed = interleave<PageHit, PageHit & { readonly position: number }>(organic, window.injected, end)
      const hits = placed.slice(paging.offset)
      prepared.lines.push(
        line("place", now_us() - started, { moved: environment.explain === true ? movesOf(hits, paging.offset) : [] })
      )
      return { hits }
    }
  )
}
/** Every page repeats the placement decisions of the pages before it, so that each hit is on exactly one page. */
const pageEndsOf = ({ injected }: HitWindow, { limit, offset }: Paging): ReadonlyArray<number> => {
  const ends: number[] = []
  for (let end = offset + limit; end > 0 && limit > 0; end -= limit)
    ends.unshift(end - injected.filter(({ position }) => position <= end).length)
  return ends
}
const movesOf = (hits: ReadonlyArray<PageHit>, offset: number): Move[] =>
  hits.flatMap(({ id, hit }, i) =>
    hit.pinned === true
      ? [{ id, from: -1, to: offset + i, why: "pin" }]
      : hit.sponsored === undefined
        ? []
        : [{ id, from: -1, to: offset + i, why: `sponsored ${hit.sponsored.campaign_id}`.trimEnd() }]
  )

/** The page in the order of the engine. */
export const pageOfEngine = (
  environment: MerchandiseEnvironment,
  prepared: Prepared,
  hits: ReadonlyArray<Hit>,
  offset: number
): Page => {
  const page = hits.map((hit): PageHit => ({ id: environment.explain === true ? idOfHit(hit) : "", hit }))
  prepared.lines.push(
    line("place", 0, { note: "by the engine", moved: environment.explain === true ? movesOf(page, offset) : [] })
  )
  return { hits: page }
}

/**
 * Removes from hits what is not sent to the client. Hits are rendered here, because the caller may read them much later
 * (`HitWindow`).
 */
export const shown = ({ lines, now_us }: Prepared, hits: ReadonlyArray<PageHit>): Hit[] => {
  const started = now_us()
  const rendered = hits.map(({ hit }) => {
    if (writtenText(hit, "highlight") === undefined) void hit.highlight
    delete hit.boosts
    return hit
  })
  lines.push(line("render", now_us() - started))
  return rendered
}

export const extrasOf = (
  { banners, suggestions, facetSuggestions }: MatchedRules,
  plan: SearchPlan,
  counts: ReadonlyArray<FacetCount>
): SearchExtras => ({
  ...(banners.length === 0 ? {} : { banners }),
  ...(suggestions.length === 0 ? {} : { suggestions }),
  ...(facetSuggestions === undefined
    ? {}
    : {
        facet_suggestions: facetSuggestions.fields.flatMap((field) => {
          const at = plan.facets.findIndex((facet) => isPlainFacet(facet, field))
          return counts[at] === undefined
            ? []
            : [
                {
                  field,
                  values: leadingCounts(counts[at], facetSuggestions.limit).map(({ value, count }) => ({
                    value,
                    count
                  }))
                }
              ]
        })
      })
})
/** The facets that the request itself asked for, with at most the number of values it asked for. */
export const ownFacets = (asked: SearchPlan, counts: SearchAnswer["facet_counts"]): SearchAnswer["facet_counts"] =>
  counts
    .slice(0, asked.facets.length)
    .map((facet) =>
      countsLength(facet) > asked.facetValuesMax
        ? { ...facet, counts: facet.counts.slice(0, asked.facetValuesMax) }
        : facet
    )

/** The trace of a search. Score parts are collected before `shown` removes them. */
export const traceOf = (
  environment: MerchandiseEnvironment,
  prepared: Prepared,
  plan: SearchPlan | undefined,
  hits: ReadonlyArray<HitTrace>,
  fallback: Trace["fallback"]
): Trace => {
  const { matched, search, lines, now_us, started_us } = prepared
  return {
    active: matched.active,
    fired: matched.fired,
    ...(search.rules === undefined || search.rules.inert.length === 0 ? {} : { inert: search.rules.inert }),
    ...(plan === undefined || environment.explain !== true ? {} : { plan: summaryOf(prepared, plan) }),
    stages: lines,
    ...(fallback === undefined ? {} : { fallback }),
    hits,
    total_us: now_us() - started_us
  }
}
const summaryOf = ({ search, matched }: Prepared, plan: SearchPlan): PlanSummary => ({
  collection: plan.collection,
  q: search.request.q,
  filter_by: search.request.filter_by ?? "",
  exclusion_filter_by: matched.exclusion?.filter_by ?? "",
  sort_by: plan.sort.map((key) => `${sortKeyName(key)}:${key.order}`),
  injected: (plan.injected ?? []).map(({ kind, position, target }) => ({
    kind,
    position,
    ...("id" in target ? { id: target.id } : { filter_by: target.filter_by })
  })),
  offset: plan.offset,
  limit: plan.limit,
  ...(plan.window === undefined ? {} : { window: plan.window.size })
})
export const hitTraces = (
  environment: MerchandiseEnvironment,
  hits: ReadonlyArray<PageHit>,
  offset: number
): ReadonlyArray<HitTrace> =>
  environment.explain !== true
    ? []
    : hits.map(({ id, hit, rank, scores }, i) => ({
        id,
        position: offset + i + 1,
        ...(rank === undefined ? {} : { engine_rank: rank }),
        scores: {
          ...(hit.text_match === undefined ? {} : { text_match: hit.text_match.toString() }),
          ...(hit.vector_distance === undefined ? {} : { vector_distance: hit.vector_distance }),
          ...(hit.hybrid_search_info === undefined ? {} : { rank_fusion: hit.hybrid_search_info.rank_fusion_score }),
          ...(hit.boosts === undefined ? {} : { boosts: hit.boosts }),
          ...scores
        },
        ...(hit.pinned === true
          ? { injected: "pin" as const }
          : hit.sponsored === undefined
            ? {}
            : { injected: "sponsored" as const })
      }))
