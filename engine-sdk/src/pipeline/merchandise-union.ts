/**
 * One ranked list over several searches, each with the rules of its own collection: exclusions, boosts, pins and slots
 * act on its plan; stages act on the merged list. Facet suggestions are left out, because a union has no facets.
 */
import type { Awaitable } from "../engine.ts"
import { fail, ok, type EngineError, type Result } from "../errors.ts"
import type { SearchPlan, SortKey, UnionAnswer, UnionPlan } from "../plan.ts"
import { compileUnion } from "../query/compile-union.ts"
import { applyToPlan } from "../rules/apply-to-plan.ts"
import type { MatchedRules } from "../rules/matched-rules.ts"
import { hitTraces, pageOfEngine, pageOfWindow, shown, traceOf, type Page } from "./assemble.ts"
import { after, all, beforeWaiting } from "./awaitable.ts"
import { fallbackOf, type Fallback } from "./fallback.ts"
import type {
  Merchandised,
  MerchandiseUnion,
  MerchandisedSearch,
  MerchandiseEnvironment,
  SearchExtras,
  UnionPage
} from "./merchandising.ts"
import { orLong, reportingTooLong } from "./or-long.ts"
import { fieldsOf, line, prepare, stagesOf, windowSize, type Prepared } from "./prepare.ts"
import type { Stage } from "../stage/stage.ts"

/**
 * Invalid if the searches do not fit together (`compileUnion`); otherwise like `merchandise`. At most two engine calls.
 *
 * @example
 * ```ts
 * import { createEngine } from "@dowser/engine-sdk"
 * import { merchandiseUnion } from "@dowser/engine-sdk/pipeline"
 * import { suitePlan } from "@dowser/engine-sdk/testing"
 *
 * const engine = createEngine()
 * const environment = { engine, namespace: "default", now_us: () => performance.now() * 1_000 }
 * const search = { plan: suitePlan("products"), rules: undefined, request: { q: "shoe", now_ms: Date.now() } }
 * const page = { removeDuplicates: true, offset: 0, limit: 10, hits_max: 10_000 }
 * const result = await merchandiseUnion(environment, [search, search], page)
 * ```
 */
export const merchandiseUnion: MerchandiseUnion = (environment, searches, page) =>
  orLong(
    searches,
    (own) => unionOnce(environment, own, page),
    (result) => [result]
  )
const unionOnce: MerchandiseUnion = (environment, searches, page) => {
  const compiled = compileUnion(
    searches.map(({ plan }) => plan),
    page,
    page.removeDuplicates
  )
  if (!compiled.ok) return compiled
  const prepared = compiled.value.plans.map((plan, i) => prepare(environment, { ...searches[i], plan }, i))
  const redirect = prepared.find(({ matched }) => matched.redirect !== undefined)
  if (redirect !== undefined) return ok(redirected(environment, redirect, page))
  const stages = unionStages(environment, searches[0], prepared)
  const union = withWindow({ ...compiled.value, plans: aligned(prepared) }, stages)
  return after(ask(environment, prepared, union, "engine"), (answer) =>
    after(
      beforeWaiting(again(environment, prepared, union, answer), () => {
        if (answer.ok) answer.value.window?.keep()
      }),
      (second) => {
        if (second === undefined)
          return reportingTooLong(() => finish(environment, prepared, stages, union, answer, undefined))
        return after(ask(environment, prepared, second.union, "fallback"), (answered) =>
          reportingTooLong(() => finish(environment, prepared, stages, second.union, answered, second.kind))
        )
      }
    )
  )
}

/** Decision: rerank and diversity see one list, so one set of rules must decide: that of the first search with any. */
const unionStages = (
  environment: MerchandiseEnvironment,
  first: MerchandisedSearch,
  prepared: ReadonlyArray<Prepared>
): ReadonlyArray<Stage> =>
  stagesOf(environment, first, {
    rerank: prepared.find(({ matched }) => matched.rerank !== undefined)?.matched.rerank ?? first.rerank,
    diversity: prepared.find(({ matched }) => matched.diversity.length > 0)?.matched.diversity ?? []
  })
/**
 * Hits of different plans are compared key by key, so if one plan has boosts, all get that key, at the position that
 * the first plan with boosts gives it.
 */
const aligned = (prepared: ReadonlyArray<Prepared>): ReadonlyArray<SearchPlan> => {
  const leading = prepared.find(({ matched }) => matched.boosts !== undefined)?.matched.boosts
  if (leading === undefined) return prepared.map(({ plan }) => ({ ...plan, facets: [] }))
  return prepared.map(({ search, matched }) => {
    const boosts: MatchedRules["boosts"] = { cases: matched.boosts?.cases ?? [], overrideSort: leading.overrideSort }
    return {
      ...applyToPlan(
        search.plan,
        { ...matched, active: true, boosts },
        { filterCuratedHits: search.filterCuratedHits }
      ),
      facets: []
    }
  })
}
const withWindow = (union: UnionPlan, stages: ReadonlyArray<Stage>): UnionPlan => {
  const placed = union.plans.reduce((total, plan) => total + (plan.injected?.length ?? 0) + plan.pinned.length, 0)
  const size = union.plans.some(({ group }) => group !== undefined) ? undefined : windowSize(union, stages, placed)
  return size === undefined ? union : { ...union, window: { size, fields: fieldsOf(stages) } }
}
const ask = (
  environment: MerchandiseEnvironment,
  prepared: ReadonlyArray<Prepared>,
  union: UnionPlan,
  name: string
): Awaitable<Result<UnionAnswer>> => {
  const { now_us, lines } = prepared[0]
  const started = now_us()
  return after(environment.engine.union(environment.namespace, union), (answer) => {
    lines.push(line(name, now_us() - started))
    return answer
  })
}

/**
 * The union to run again when nothing was found. It keeps the plans whose rules have the first available kind of
 * fallback.
 */
const again = (
  environment: MerchandiseEnvironment,
  prepared: ReadonlyArray<Prepared>,
  union: UnionPlan,
  answer: Result<UnionAnswer>
): Awaitable<{ readonly kind: Fallback["kind"]; readonly union: UnionPlan } | undefined> => {
  if (!answer.ok || answer.value.organic === undefined || answer.value.organic.some((count) => count > 0))
    return undefined
  // Distances in different collections, by different models, are not comparable.
  const { meaning: _none, ...without } = environment
  return after(all(union.plans.map((plan, i) => fallbackOf(without, { ...prepared[i], plan }))), (fallbacks) => {
    const kind = fallbacks.find((fallback) => fallback !== undefined)?.kind
    if (kind === undefined) return undefined
    const plans = union.plans.map((plan, i): SearchPlan =>
      fallbacks[i]?.kind === kind ? fallbacks[i].plan : { ...plan, matchesNothing: true }
    )
    return { kind, union: { ...union, plans: sameShape(plans) } }
  })
}
/**
 * Popular and recommended documents of different collections may be sorted by different keys; if their keys do not
 * match, newest first is used.
 */
const sameShape = (plans: ReadonlyArray<SearchPlan>): ReadonlyArray<SearchPlan> => {
  const shape = (sort: ReadonlyArray<SortKey>): string =>
    sort.map((key) => `${key.kind}${key.kind === "field" ? key.type : ""}:${key.order}`).join()
  const asked = plans.filter(({ matchesNothing }) => !matchesNothing)
  if (asked.every(({ sort }) => shape(sort) === shape(asked[0].sort)))
    return plans.map((plan) => (plan.matchesNothing ? { ...plan, sort: asked[0].sort } : plan))
  return plans.map((plan) => ({ ...plan, sort: plan.sort.filter(({ kind }) => kind === "boosts") }))
}

const finish = (
  environment: MerchandiseEnvironment,
  prepared: ReadonlyArray<Prepared>,
  stages: ReadonlyArray<Stage>,
  union: UnionPlan,
  answer: Result<UnionAnswer>,
  fallback: Fallback["kind"] | undefined
): Awaitable<Result<Merchandised<UnionAnswer>, EngineError>> => {
  if (!answer.ok) return answer
  const { window, organic: _organic, ...rest } = answer.value
  const leading = leadingOf(prepared)
  const page: Awaitable<Page> =
    window === undefined
      ? pageOfEngine(
          environment,
          leading,
          rest.hits ?? (rest.grouped_hits ?? []).flatMap(({ hits }) => hits),
          union.offset
        )
      : pageOfWindow(environment, leading, stages, window, union)
  return after(page, (shownPage): Result<Merchandised<UnionAnswer>, EngineError> => {
    if (shownPage.failure !== undefined) return fail(shownPage.failure)
    const traces = hitTraces(environment, shownPage.hits, union.offset)
    const hits = shown(leading, shownPage.hits)
    return ok({
      answer: { ...rest, ...(rest.grouped_hits === undefined ? { hits } : {}) },
      extras: extrasOf(prepared),
      asked: true,
      trace: traceOf(
        environment,
        leading,
        {
          ...union.plans[0],
          injected: union.plans.flatMap(({ injected }) => injected ?? []),
          ...(union.window === undefined ? {} : { window: union.window })
        },
        traces,
        fallback
      )
    })
  })
}
/** The first search, whose clock and query the union uses, with the rules that fired for any of the searches. */
const leadingOf = (prepared: ReadonlyArray<Prepared>): Prepared => ({
  ...prepared[0],
  matched: {
    ...prepared[0].matched,
    active: prepared.some(({ matched }) => matched.active),
    fired: prepared.flatMap(({ matched }) => matched.fired)
  }
})
const extrasOf = (prepared: ReadonlyArray<Prepared>): SearchExtras => {
  const shownBanners = new Set<string>()
  const banners = prepared.flatMap(({ matched, plan }) =>
    matched.banners.filter(({ id }) => {
      const key = `${plan.collection}\n${id}`
      const isNew = !shownBanners.has(key)
      shownBanners.add(key)
      return isNew
    })
  )
  const suggestions = [...new Set(prepared.flatMap(({ matched }) => matched.suggestions))]
  return { ...(banners.length === 0 ? {} : { banners }), ...(suggestions.length === 0 ? {} : { suggestions }) }
}
const redirected = (
  environment: MerchandiseEnvironment,
  prepared: Prepared,
  page: UnionPage
): Merchandised<UnionAnswer> => ({
  answer: {
    found: 0,
    hits: [],
    out_of: 0,
    ...(page.page === undefined ? {} : { page: page.page }),
    search_cutoff: false,
    search_time_ms: 0,
    union_request_params: []
  },
  extras: { redirect: prepared.matched.redirect },
  asked: false,
  trace: traceOf(environment, prepared, undefined, [], undefined)
})
