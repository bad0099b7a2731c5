/** Rewrites a plan to use the server's collection names; the result of a join keeps the name that the tenant knows. */
import type { FacetRequest, JoinInclude, SearchPlan, Selection, SortKey } from "../plan.ts"
import type { Filter } from "../filter.ts"

export type NameOf = (name: string) => string

export const placeFilter = (filter: Filter, nameOf: NameOf): Filter => {
  switch (filter.kind) {
    case "and":
    case "or":
      return { ...filter, left: placeFilter(filter.left, nameOf), right: placeFilter(filter.right, nameOf) }
    case "not":
      return { ...filter, filter: placeFilter(filter.filter, nameOf) }
    case "join":
      return { ...filter, collection: nameOf(filter.collection), filter: placeFilter(filter.filter, nameOf) }
    default:
      return filter
  }
}
const placeOptional = (filter: Filter | undefined, nameOf: NameOf): Filter | undefined =>
  filter === undefined ? undefined : placeFilter(filter, nameOf)

const placeKey = (key: SortKey, nameOf: NameOf): SortKey => {
  switch (key.kind) {
    case "join":
      return { ...key, collection: nameOf(key.collection), key: placeKey(key.key, nameOf) }
    case "eval":
    case "boosts":
      return { ...key, cases: key.cases.map((one) => ({ ...one, filter: placeFilter(one.filter, nameOf) })) }
    default:
      return key
  }
}
const placeJoin = (join: JoinInclude, nameOf: NameOf): JoinInclude => ({
  ...join,
  collection: nameOf(join.collection),
  // A merged join is not shown under a name.
  ...(join.strategy === "merge" ? {} : { alias: join.alias ?? join.collection }),
  ...(join.sort === undefined ? {} : { sort: join.sort.map((key) => placeKey(key, nameOf)) }),
  joins: join.joins.map((inner) => placeJoin(inner, nameOf))
})
export const placeSelection = (selection: Selection, nameOf: NameOf): Selection =>
  selection.joins.length === 0
    ? selection
    : { ...selection, joins: selection.joins.map((join) => placeJoin(join, nameOf)) }

const placeFacet = (facet: FacetRequest, nameOf: NameOf): FacetRequest =>
  facet.collection === undefined ? facet : { ...facet, collection: nameOf(facet.collection) }

export const placePlan = (plan: SearchPlan, nameOf: NameOf): SearchPlan => {
  const filter = placeOptional(plan.filter, nameOf)
  const pinnedFilter = placeOptional(plan.pinnedFilter, nameOf)
  const injectedFilter = placeOptional(plan.injectedFilter, nameOf)
  return {
    ...plan,
    collection: nameOf(plan.collection),
    filter,
    ...(pinnedFilter === undefined ? {} : { pinnedFilter }),
    ...(injectedFilter === undefined ? {} : { injectedFilter }),
    sort: plan.sort.map((key) => placeKey(key, nameOf)),
    facets: plan.facets.map((facet) => placeFacet(facet, nameOf)),
    selection: placeSelection(plan.selection, nameOf)
  }
}
