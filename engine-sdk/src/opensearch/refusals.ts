/** Parts of a schema or a plan that this engine does not support. They are refused by name, never ignored. */
import type { Capability } from "../capabilities.ts"
import { type EngineError, invalid } from "../errors.ts"
import type { FacetRequest, SearchPlan, SortKey } from "../plan.ts"
import type { Filter } from "../filter.ts"
import { isArrayField } from "../index/builders.ts"
import type { CollectionSchema, Field } from "../schema.ts"
import { CLAUSES_MAX, DIMENSIONS_MAX } from "./capabilities.ts"

const missing = (capability: Capability, parameter: string, what: string): EngineError => ({
  kind: "CapabilityMissing",
  message: `The search engine of this installation (opensearch) has no ${what}.`,
  capability,
  parameter
})

export const schemaRefusal = (fields: ReadonlyArray<Field>, hasVectors: boolean): EngineError | undefined => {
  for (const field of fields) {
    if (!hasVectors && (field.num_dim > 0 || field.embed !== undefined))
      return missing("vector_index", `fields.${field.name}`, "vectors")
    if (field.index && field.num_dim > DIMENSIONS_MAX)
      return missing(
        "vector_index",
        `fields.${field.name}.num_dim`,
        `vectors of more than ${DIMENSIONS_MAX} dimensions`
      )
    if (field.reference !== "") return missing("joins", `fields.${field.name}.reference`, "references")
    if (field.type === "geopolygon") return missing("geo_polygon", `fields.${field.name}`, "stored polygons")
  }
  return undefined
}

export const planRefusal = (
  schema: CollectionSchema,
  plan: SearchPlan,
  hasVectors: boolean
): EngineError | undefined => {
  if (plan.vector !== undefined && !hasVectors) return missing("vector_index", "vector_query", "vectors")
  if (plan.text?.relevance !== undefined)
    return missing("text_score_values", "ranking", `ranking \`${plan.text.relevance.ranking}\``)
  if (plan.selection.joins.length > 0) return missing("joins", "include_fields", "joins")
  const filters: Array<readonly [Filter | undefined, string]> = [
    [plan.filter, "filter_by"],
    [plan.pinnedFilter, "filter_by"],
    [plan.injectedFilter, "filter_by"],
    ...(plan.injected ?? []).map(({ target }) => ["filter" in target ? target.filter : undefined, "rules"] as const)
  ]
  for (const [filter, parameter] of filters) {
    const refused = filterRefusal(filter, parameter)
    if (refused !== undefined) return refused
  }
  return sortRefusal(plan.sort, hasVectors) ?? facetRefusal(plan.facets) ?? groupRefusal(schema, plan)
}

/** Also refuses a filter with more clauses than the cluster accepts. */
export const filterRefusal = (filter: Filter | undefined, parameter: string): EngineError | undefined => {
  if (filter === undefined) return undefined
  let clauses = 0
  const walk = (one: Filter): EngineError | undefined => {
    clauses += clausesOf(one)
    switch (one.kind) {
      case "and":
      case "or":
        return walk(one.left) ?? walk(one.right)
      case "not":
        return walk(one.filter)
      case "element":
        return missing("per_element_filters", parameter, "filters on one element of a list of objects")
      case "join":
        return missing("joins", parameter, "joins")
      case "geo_contains":
        return missing("geo_polygon", parameter, "stored polygons")
      default:
        return undefined
    }
  }
  const refused = walk(filter)
  if (refused !== undefined || clauses <= CLAUSES_MAX) return refused
  return invalid(`The filter has more than the ${CLAUSES_MAX} conditions that the search engine takes.`, parameter)
}
/** Number of clauses; lists of ids, numbers and whole values count as one. */
const clausesOf = (filter: Filter): number => {
  switch (filter.kind) {
    case "string":
      return filter.values.reduce(
        (sum, { match, prefix, tokens, words }) =>
          sum + (match === "equals" && !prefix ? 0 : tokens.length + (match === "contains" ? 0 : (words?.length ?? 0))),
        1
      )
    case "number":
      return filter.ranges.reduce((sum, { min, max }) => sum + (min === max ? 0 : 1), 1)
    case "geo":
      return filter.areas.length
    case "and":
    case "or":
      return 0
    default:
      return 1
  }
}

const sortRefusal = (sort: ReadonlyArray<SortKey>, hasVectors: boolean): EngineError | undefined => {
  for (const key of sort) {
    if (key.kind === "join") return missing("joins", "sort_by", "joins")
    if ((key.kind === "vector_distance" || key.kind === "vector_query") && !hasVectors)
      return missing("vector_index", "sort_by", "vectors")
    // The cluster has only one score per document.
    if (key.kind === "vector_query" && sort.slice(0, sort.indexOf(key)).some(({ kind }) => kind === "text_match"))
      return missing("vector_index", "sort_by", "order by words first and by a vector then")
    if (key.kind === "group_found") return missing("group_totals", "sort_by", "order of groups by their size")
    if (key.kind === "eval" || key.kind === "boosts")
      for (const { filter } of key.cases) {
        const refused = filterRefusal(filter, "sort_by")
        if (refused !== undefined) return refused
      }
  }
  return undefined
}
const facetRefusal = (facets: ReadonlyArray<FacetRequest>): EngineError | undefined =>
  facets.some(({ collection }) => collection !== undefined) ? missing("joins", "facet_by", "joins") : undefined
const groupRefusal = (schema: CollectionSchema, { group }: SearchPlan): EngineError | undefined =>
  group?.fields.some((name) => schema.fields.some((field) => field.name === name && isArrayField(field))) === true
    ? missing("array_grouping", "group_by", "groups by lists of values")
    : undefined
