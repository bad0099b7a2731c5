/**
 * A merchandised search from rules to page: match, redirect, plan, one engine call for all searches, at most one more
 * for those that found nothing, stages, placement, extras. The order is that of
 * `docs/contract/merchandising.md#order-of-application`.
 */
import type { Awaitable } from "../engine.ts"
import { fail, ok, type EngineError, type Result } from "../errors.ts"
import type { SearchAnswer, SearchPlan } from "../plan.ts"
import { extrasOf, hitTraces, ownFacets, pageOfEngine, pageOfWindow, shown, traceOf, type Page } from "./assemble.ts"
import { after, all, beforeWaiting, oneByOne } from "./awaitable.ts"
import { fallbackOf, type Fallback } from "./fallback.ts"
import type { Merchandise, Merchandised, MerchandiseEnvironment } from "./merchandising.ts"
import { orLong, reportingTooLong } from "./or-long.ts"
import { GIVEN_UP } from "./run-stages.ts"
import { line, prepare, windowed, type Prepared } from "./prepare.ts"

/**
 * The order of stages is fixed; stages that a search does not need cost nothing. Failures are those of the engine, of a
 * rerank with the fallback `error`, and TimedOut if the request was cancelled.
 *
 * @example
 * ```ts
 * import { createEngine } from "@dowser/engine-sdk"
 * import { merchandise } from "@dowser/engine-sdk/pipeline"
 * import { suitePlan } from "@dowser/engine-sdk/testing"
 *
 * const engine = createEngine()
 * const environment = { engine, namespace: "default", now_us: () => performance.now() * 1_000 }
 * const search = { plan: suitePlan("products"), rules: undefined, request: { q: "shoe", now_ms: Date.now() } }
 * const [result] = await merchandise(environment, [search])
 * if (result?.ok) result.value.trace
 * ```
 */
export const merchandise: Merchandise = (environment, searches) =>
  orLong(
    searches,
    (own) => merchandiseOnce(environment, own),
    (results) => results
  )
const merchandiseOnce: Merchandise = (environment, searches) => {
  const prepared = searches.map((search, i) => prepare(environment, search, i))
  const reaching = prepared.filter(({ matched }) => matched.redirect === undefined)
  return after(
    askEngine(
      environment,
      reaching,
      reaching.map(({ plan, stages }) => windowed(plan, stages)),
      "engine"
    ),
    (answered) =>
      after(withFallbacks(environment, answered), (final) => {
        let next = 0
        return oneByOne(
          prepared,
          (one) =>
            one.matched.redirect === undefined ? finish(environment, final[next++]) : ok(redirected(environment, one)),
          () => {
            for (const { answer } of final) if (answer.ok) answer.value.window?.keep()
          }
        )
      })
  )
}

interface EngineRun {
  readonly prepared: Prepared
  readonly plan: SearchPlan
  readonly answer: Result<SearchAnswer>
  readonly fallback?: Fallback["kind"]
}

const askEngine = (
  environment: MerchandiseEnvironment,
  prepared: ReadonlyArray<Prepared>,
  plans: ReadonlyArray<SearchPlan>,
  name: string
): Awaitable<ReadonlyArray<EngineRun>> => {
  if (plans.length === 0) return []
  const started = prepared.map(({ now_us }) => now_us())
  return after(inTrips(environment, plans), (answers) =>
    prepared.map((one, i) => {
      one.lines.push(line(name, one.now_us() - started[i]))
      return { prepared: one, plan: plans[i], answer: answers[i] }
    })
  )
}
/** Sends as many plans per call as the engine accepts. */
const inTrips = (
  environment: MerchandiseEnvironment,
  plans: ReadonlyArray<SearchPlan>
): Awaitable<ReadonlyArray<Result<SearchAnswer>>> => {
  const { engine, namespace } = environment
  const perTrip = engine.capabilities().limits.plans_per_trip_max
  if (plans.length <= perTrip) return engine.search(namespace, plans)
  return after(engine.search(namespace, plans.slice(0, perTrip)), (first) => {
    const rest = beforeWaiting(inTrips(environment, plans.slice(perTrip)), () => {
      for (const answer of first) if (answer.ok) answer.value.window?.keep()
    })
    return after(rest, (others) => [...first, ...others])
  })
}

/** Repeats searches without any organic hit as their rules say, all in one call. */
const withFallbacks = (
  environment: MerchandiseEnvironment,
  answered: ReadonlyArray<EngineRun>
): Awaitable<ReadonlyArray<EngineRun>> => {
  const found = answered.map(({ answer, prepared }) =>
    answer.ok && answer.value.organic === 0 ? fallbackOf(environment, prepared) : undefined
  )
  const keepAll = (): void => {
    for (const { answer } of answered) if (answer.ok) answer.value.window?.keep()
  }
  return after(beforeWaiting(all(found), keepAll), (fallbacks) => {
    const again = answered.flatMap(({ prepared }, i) => {
      const fallback = fallbacks[i]
      return fallback === undefined
        ? []
        : [{ i, prepared, kind: fallback.kind, plan: windowed(fallback.plan, prepared.stages) }]
    })
    return after(
      beforeWaiting(
        askEngine(
          environment,
          again.map(({ prepared }) => prepared),
          again.map(({ plan }) => plan),
          "fallback"
        ),
        keepAll
      ),
      (second) => {
        const final = [...answered]
        second.forEach((one, n) => {
          final[again[n].i] = { ...one, fallback: again[n].kind }
        })
        return final
      }
    )
  })
}

const finish = (environment: MerchandiseEnvironment, answered: EngineRun): Awaitable<Result<Merchandised>> =>
  reportingTooLong(() => finishHere(environment, answered))
const finishHere = (
  environment: MerchandiseEnvironment,
  { prepared, plan, answer, fallback }: EngineRun
): Awaitable<Result<Merchandised>> => {
  if (!answer.ok) return answer
  if (environment.signal?.aborted === true) return fail(GIVEN_UP)
  return after(pageOf(environment, prepared, plan, answer.value), (page): Result<Merchandised> => {
    if (page.failure !== undefined) return fail<EngineError>(page.failure)
    const { window: _window, organic: _organic, ...rest } = answer.value
    const traces = hitTraces(environment, page.hits, plan.offset)
    const hits = shown(prepared, page.hits)
    return ok({
      answer: {
        ...rest,
        facet_counts: ownFacets(prepared.search.plan, rest.facet_counts),
        ...(rest.grouped_hits === undefined ? { hits } : {})
      },
      extras: extrasOf(prepared.matched, plan, answer.value.facet_counts),
      asked: true,
      trace: traceOf(environment, prepared, plan, traces, fallback)
    })
  })
}
const pageOf = (
  environment: MerchandiseEnvironment,
  prepared: Prepared,
  plan: SearchPlan,
  { window, hits, grouped_hits }: SearchAnswer
): Awaitable<Page> => {
  if (window !== undefined) return pageOfWindow(environment, prepared, prepared.stages, window, plan)
  if (prepared.stages.length > 0)
    prepared.lines.push(
      ...prepared.stages.map(({ name, budget_ms }) =>
        line(name, 0, {
          budget_ms,
          outcome: "skipped",
          note: plan.group === undefined ? "the page lies behind the window" : "groups keep the engine's order"
        })
      )
    )
  return pageOfEngine(environment, prepared, hits ?? (grouped_hits ?? []).flatMap((group) => group.hits), plan.offset)
}

/** An envelope without hits, because no search was made. */
const redirected = (environment: MerchandiseEnvironment, prepared: Prepared): Merchandised => {
  const { echo, collection } = prepared.plan
  return {
    answer: {
      facet_counts: [],
      found: 0,
      hits: [],
      ...(echo.offset === undefined ? {} : { offset: echo.offset }),
      ...(echo.page === undefined ? {} : { page: echo.page }),
      request_params: { collection_name: collection, first_q: echo.q, per_page: echo.per_page, q: echo.q },
      search_cutoff: false,
      ...(echo.excludeSearchTime ? {} : { search_time_ms: 0 })
    },
    extras: { redirect: prepared.matched.redirect },
    asked: false,
    trace: traceOf(environment, prepared, undefined, [], undefined)
  }
}
