/**
 * What is searched when a query finds nothing. Restrictions of the key, the profile and the exclusion always apply;
 * `drop_filters` drops the caller's filter, and the other kinds keep it. Documents that rules inject must pass the
 * caller's filter in all of them.
 */
import type { Awaitable } from "../engine.ts"
import type { SearchPlan, SortKey } from "../plan.ts"
import { defaultSort } from "../query/compiled-parts.ts"
import { allOf } from "../query/filter-parser.ts"
import { after } from "./awaitable.ts"
import type { MerchandiseEnvironment } from "./merchandising.ts"
import { WINDOW, type Prepared } from "./prepare.ts"

export interface Fallback {
  readonly kind: "drop_filters" | "popular" | "recommendations" | "semantic"
  readonly plan: SearchPlan
}

/** undefined if the rules have no fallback, or if it could not find anything more. */
export const fallbackOf = (
  environment: MerchandiseEnvironment,
  { search, matched, plan }: Pick<Prepared, "search" | "matched" | "plan">
): Awaitable<Fallback | undefined> => {
  if (matched.fallback === "drop_filters")
    return plan.filter === plan.pinnedFilter || plan.matchesNothing
      ? undefined
      : { kind: "drop_filters", plan: { ...plan, filter: plan.pinnedFilter, injectedFilter: plan.filter } }
  if (matched.fallback === "semantic") return nearest(environment, search, plan)
  if (matched.fallback !== "popular" && matched.fallback !== "recommendations") return undefined
  const kind = matched.fallback
  const limit = Math.min(WINDOW, Math.max(1, plan.offset + plan.limit))
  const schema = environment.engine.describeCollection(environment.namespace, plan.collection)?.schema
  const popular = () => environment.popular?.(plan.collection, limit) ?? []
  const wanted =
    kind === "popular"
      ? popular()
      : after(recommended(environment, search, matched.fallbackModel), (ids) => (ids.length > 0 ? ids : popular()))
  return after(wanted, (ids) => ({
    kind,
    plan: listedPlan(plan, ids, schema === undefined ? [] : defaultSort(schema), search.filterCuratedHits !== false)
  }))
}
/**
 * Decision: requests a full window for every page, because filters apply afterwards; so every page counts the same
 * documents. Empty if there is no model, or the model recommends nothing.
 */
const recommended = (
  { recommended: ask }: MerchandiseEnvironment,
  { plan, visitor = {} }: Prepared["search"],
  model: string
): Awaitable<ReadonlyArray<string>> => ask?.({ collection: plan.collection, model, visitor, limit: WINDOW }) ?? []
/** Documents nearest in meaning to the query, nearest first; boosts take precedence. */
const nearest = (
  { meaning }: MerchandiseEnvironment,
  { fields, request: { q } }: Prepared["search"],
  plan: SearchPlan
): Awaitable<Fallback | undefined> => {
  if (meaning === undefined || q === undefined || q.trim() === "" || plan.vector !== undefined) return undefined
  const asked = { collection: plan.collection, q, ...(fields === undefined ? {} : { fields }) }
  return after(meaning(asked), (vector) =>
    vector === undefined
      ? undefined
      : {
          kind: "semantic",
          plan: {
            ...plan,
            text: undefined,
            vector,
            matchesNothing: false,
            diversity: undefined,
            sort: [...plan.sort.filter(({ kind }) => kind === "boosts"), { kind: "vector_distance", order: "asc" }],
            injectedFilter: plan.filter
          }
        }
  )
}
/** Every document that passes, or every listed one; boosts take precedence. */
const listedPlan = (
  plan: SearchPlan,
  ids: ReadonlyArray<string>,
  sort: ReadonlyArray<SortKey>,
  mustPassFilter: boolean
): SearchPlan => {
  const filter = mustPassFilter ? plan.filter : plan.pinnedFilter
  const order: ReadonlyArray<SortKey> = ids.length === 0 ? sort : [{ kind: "listed", order: "desc", ids }]
  return {
    ...plan,
    text: undefined,
    vector: undefined,
    matchesNothing: false,
    diversity: undefined,
    filter: ids.length === 0 ? filter : allOf(filter, { kind: "ids", ids }),
    sort: [...plan.sort.filter(({ kind }) => kind === "boosts"), ...order],
    injectedFilter: plan.filter
  }
}
