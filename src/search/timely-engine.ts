/**
 * The engine from the view of one search request: every search waits for its turn on this thread, is refused if the
 * request's time is over by then, and is cut off by the engine after what remains of that time. If an engine searches
 * on this thread, several searches run one by one, so that others get their turn in between, and share one time budget.
 */
import { type EngineError, fail, type SearchEngine, type SearchPlan } from "@dowser/engine-sdk"
import { delegatingEngine } from "../ports/engine/delegating-engine.ts"
import type { Refused, Turn, Turns } from "./turns.ts"

const RETRY_AFTER_S = 10
const refusals: Readonly<Record<Refused, EngineError>> = {
  late: { kind: "TimedOut", message: "The time of the request was over before the search began." },
  full: {
    kind: "Overloaded",
    message: "More searches are waiting than can be answered in time.",
    retryAfterSeconds: RETRY_AFTER_S
  }
}
const within = (plan: SearchPlan, until: number): SearchPlan => {
  const left_ms = Math.max(1, Math.ceil(until - performance.now()))
  return plan.cutoff_ms <= left_ms ? plan : { ...plan, cutoff_ms: left_ms }
}

export const timelyEngine = (engine: SearchEngine, turns: Turns, turn: Turn): SearchEngine => {
  const refused = (reason: Refused) => fail(refusals[reason])
  const capabilities = () => {
    const own = engine.capabilities()
    return own.searchesOnCaller === true ? { ...own, limits: { ...own.limits, plans_per_trip_max: 1 } } : own
  }
  // All searches of the request share the longest time limit that one of them requests.
  const budget = {
    limit_ms: 0,
    used_ms: 0,
    isGivenUp: () => turn.signal.aborted || performance.now() >= turn.until,
    weight: turns.weightOf(turn.organizationId)
  }
  const timely = (plans: ReadonlyArray<SearchPlan>) => {
    for (const { cutoff_ms } of plans) budget.limit_ms = Math.max(budget.limit_ms, cutoff_ms)
    return plans.map((plan) => within(plan, turn.until))
  }
  return {
    ...delegatingEngine(() => engine),
    capabilities,
    search: (namespace, plans) =>
      turns.take(
        turn,
        () => engine.search(namespace, timely(plans), budget),
        (reason) => plans.map(() => refused(reason))
      ),
    ...(engine.words === undefined
      ? {}
      : { words: (namespace, asked) => turns.take(turn, () => engine.words!(namespace, asked), refused) }),
    union: (namespace, union) =>
      turns.take(turn, () => engine.union(namespace, { ...union, plans: timely(union.plans) }, budget), refused)
  }
}
