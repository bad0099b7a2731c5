/**
 * Groups over more documents than are fetched: the cluster counts the groups and their sizes; which groups come first,
 * and what they show, is computed from the best documents. Pure.
 */
import type { SearchAnswer, SearchPlan } from "../plan.ts"
import type { Aggregations, Bucket } from "./aggregations.ts"
import type { QueryScope } from "./compile-filter.ts"
import { slotsFor } from "./slots.ts"

/** Maximum groups that are counted individually. */
const GROUPS_MAX = 10_000
/** Matches no value; used if groups are formed by several fields. */
const NONE = "\u0000"

const placeOf = ({ slots }: QueryScope, field: string): string | undefined => {
  const own = slotsFor(slots, field)
  return own?.value ?? own?.number ?? own?.boolean
}
/** The values that identify a group, as one text. */
const GROUP_KEY =
  "StringBuilder key = new StringBuilder();" +
  " for (place in params.places) { if (doc[place].size() > 0) key.append(String.valueOf(doc[place].value)); key.append('\u0000') }" +
  " return key.toString();"
/** Counts the groups among the documents of a facet value; undefined without groups. */
export const countingGroups = (scope: QueryScope, { group }: SearchPlan): Record<string, object> | undefined => {
  const places = group?.fields.flatMap((field) => placeOf(scope, field) ?? []) ?? []
  if (places.length === 0) return undefined
  if (places.length > 1)
    return { groups: { cardinality: { script: { lang: "painless", source: GROUP_KEY, params: { places } } } } }
  return { groups: { cardinality: { field: places[0] } }, ungrouped: { missing: { field: places[0] } } }
}
/** Documents without a value form one group, or one each. */
export const groupsIn = (
  { group }: SearchPlan,
  { doc_count, groups, ungrouped }: Pick<Bucket, "doc_count" | "groups" | "ungrouped">
): number => {
  if (groups === undefined) return doc_count
  const without = ungrouped?.doc_count ?? 0
  return groups.value + (group?.missingValues === true ? Math.min(1, without) : without)
}

export const compileGroups = (scope: QueryScope, { group }: SearchPlan): Record<string, object> => {
  if (group === undefined) return {}
  const places = group.fields.flatMap((field) => placeOf(scope, field) ?? [])
  if (places.length === 0) return {}
  const own =
    places.length === 1
      ? { terms: { field: places[0], size: GROUPS_MAX } }
      : { multi_terms: { terms: places.map((field) => ({ field, missing: missingOf(field) })), size: GROUPS_MAX } }
  return {
    groups: own,
    group_count: { cardinality: { field: places[0], precision_threshold: 40_000 } },
    ungrouped: { missing: { field: places[0] } }
  }
}
const missingOf = (place: string): unknown => (place.startsWith("k") ? NONE : place.startsWith("b") ? false : -1)

/** Sets the cluster's counts where it found more than was fetched. */
export const readGroups = (
  { group }: SearchPlan,
  answer: SearchAnswer,
  aggregations: Aggregations | undefined
): void => {
  const buckets = aggregations?.groups?.buckets
  if (group === undefined || buckets === undefined) return
  const sizes = new Map(buckets.map((bucket) => [keyOf(bucket), bucket.doc_count]))
  const ungrouped = aggregations?.ungrouped?.doc_count ?? 0
  const isSingle = group.fields.length === 1
  const distinct =
    isSingle && (aggregations?.groups?.sum_other_doc_count ?? 0) > 0
      ? (aggregations?.group_count?.value ?? buckets.length)
      : buckets.length
  const missing = isSingle && ungrouped > 0 ? (group.missingValues ? 1 : ungrouped) : 0
  answer.found = Math.max(answer.found, distinct + missing)
  for (const shown of answer.grouped_hits ?? []) {
    const size = sizes.get(shown.group_key.map(String).join("|"))
    if (size !== undefined) shown.found = Math.max(shown.found, size)
    else if (isSingle && group.missingValues && shown.group_key.length === 0)
      shown.found = Math.max(shown.found, ungrouped)
  }
}
const keyOf = ({ key, key_as_string }: Bucket): string => key_as_string ?? String(key)
