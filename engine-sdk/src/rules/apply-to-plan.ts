/**
 * Changes that rules make before the engine runs: exclusions as a filter, boosts as a sort key, pins and sponsored
 * slots as injections that the engine counts and pages. Pure.
 */
import type { Injection, SearchPlan, SortKey } from "../plan.ts"
import { allOf } from "../query/filter-parser.ts"
import type { MatchedBoosts, MatchedRules } from "./matched-rules.ts"

export interface PlanChanges {
  /** The request's own `filter_curated_hits`; only `false` exempts documents that rules inject from its filter. */
  readonly filterCuratedHits: boolean | undefined
}

/**
 * O(rules that fired). Returns the same plan if no rule changes it.
 *
 * @example
 * ```ts
 * import { ok } from "@dowser/engine-sdk"
 * import { applyToPlan, compileRules, emptyRuleSet, matchRules } from "@dowser/engine-sdk/rules"
 * import { suitePlan } from "@dowser/engine-sdk/testing"
 *
 * const rules = compileRules(
 *   { ...emptyRuleSet, redirects: [{ query: "returns", match: "exact", url: "/returns", priority: 0 }] },
 *   { parseFilter: () => ok(undefined) }
 * )
 * const matched = matchRules(rules, { q: "shoe", now_ms: 0 })
 * const plan = applyToPlan(suitePlan("products"), matched, { filterCuratedHits: undefined })
 * ```
 */
export const applyToPlan = (plan: SearchPlan, matched: MatchedRules, changes: PlanChanges): SearchPlan => {
  if (!matched.active) return plan
  const kept = matched.exclusion === undefined ? undefined : { kind: "not" as const, filter: matched.exclusion.filter }
  const pinnedFilter = allOf(plan.pinnedFilter, kept)
  // If the caller has no filter of its own, both are the same tree, which tells a fallback that no filter can be
  // dropped.
  const filter = plan.filter === plan.pinnedFilter ? pinnedFilter : allOf(plan.filter, kept)
  return {
    ...plan,
    filter,
    ...(pinnedFilter === undefined ? {} : { pinnedFilter }),
    sort: matched.boosts === undefined ? plan.sort : withBoosts(plan.sort, plan.givenSortKeys ?? 0, matched.boosts),
    injected: injectionsOf(matched, changes.filterCuratedHits !== false)
  }
}

/**
 * Decision: if the request has no sort, the sum of boosts comes first and the engine's order decides among equal sums.
 * If it has one, the sum only orders hits with equal sort values; `boosts_override_sort` reverses this.
 *
 * @example
 * ```ts
 * import type { SortKey } from "@dowser/engine-sdk"
 * import { withBoosts } from "@dowser/engine-sdk/rules"
 *
 * // The sum of boosts comes first; among equal sums, the lower price.
 * withBoosts([{ kind: "field", field: "price", order: "asc" } as SortKey], 1, { cases: [], overrideSort: true })
 * ```
 */
export const withBoosts = (
  sort: ReadonlyArray<SortKey>,
  givenKeys: number,
  boosts: MatchedBoosts
): ReadonlyArray<SortKey> => {
  const key: SortKey = { kind: "boosts", order: "desc", cases: boosts.cases }
  const at = boosts.overrideSort ? 0 : givenKeys
  return [...sort.slice(0, at), key, ...sort.slice(at)]
}

/** Pins precede sponsored slots, because the first gets a contested position. */
const injectionsOf = ({ pins, sponsored }: MatchedRules, mustPassFilter: boolean): ReadonlyArray<Injection> => [
  ...pins.map(({ id, position }): Injection => ({ kind: "pin", target: { id }, position, mustPassFilter })),
  ...sponsored.map(({ target, position, label, campaign_id }): Injection => ({
    kind: "sponsored",
    target,
    position,
    mustPassFilter,
    sponsored: { label, campaign_id }
  }))
]
