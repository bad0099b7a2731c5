/** Prints sort keys and facets as `sort_by` and `facet_by` text. */
import type { FacetRequest, SortKey } from "../plan.ts"
import { filterText, type SchemaContext } from "./print-filters.ts"
import { vectorText } from "./print-vector.ts"
import { Unprintable } from "./refusals.ts"

const KEYS_MAX = 3
/** Maximum boosts: every subset of them is a case, 32 in total. */
const BOOSTS_MAX = 5

export const sortText = (keys: ReadonlyArray<SortKey>, context: SchemaContext): string => {
  if (keys.length > KEYS_MAX) throw new Unprintable("exact_ties", "sort_by", `order by more than ${KEYS_MAX} keys`)
  if (keys.filter(({ kind }) => kind === "eval" || kind === "boosts").length > 1)
    throw new Unprintable("exact_ties", "rules", "boosts beside an order by filters")
  return keys.map((key) => keyText(key, context)).join(",")
}
const keyText = (key: SortKey, context: SchemaContext): string => {
  if (key.kind !== "join") return `${withoutOrder(key, context)}:${key.order}`
  const schema = context.schemaOf(key.collection)
  if (schema === undefined) throw new Unprintable("joins", "sort_by", `collection \`${key.collection}\` to join`)
  return `$${key.collection}(${keyText(key.key, { ...context, schema })})`
}
const withoutOrder = (key: Exclude<SortKey, { readonly kind: "join" }>, context: SchemaContext): string => {
  switch (key.kind) {
    case "text_match":
      return `_text_match${blocks(key)}`
    case "vector_distance":
      return `_vector_distance${blocks(key)}`
    case "field":
      return key.field + fieldOptions(key)
    case "geo": {
      const more =
        key.precision_m > 0
          ? `, precision: ${kilometres(key.precision_m)}`
          : key.excludeRadius_m > 0
            ? `, exclude_radius: ${kilometres(key.excludeRadius_m)}`
            : ""
      return `${key.field}(${key.lat}, ${key.lng}${more})`
    }
    case "eval":
      return `_eval([${key.cases.map(({ filter, score }) => `(${filterText(filter, context, "sort_by")}):${score}`).join(", ")}])`
    case "group_found":
      return "_group_found"
    case "random":
      return `_rand(${key.seed})`
    case "seq":
      return "_seq_id"
    case "vector_query":
      return `_vector_query(${vectorText(key.query, "sort_by")})`
    case "boosts":
      return boostsText(key.cases, context)
    case "listed":
      throw new Unprintable("exact_ties", "rules", "order by a list of documents")
  }
}
type Cases = Extract<SortKey, { readonly kind: "boosts" }>["cases"]
/**
 * Boosts are sums over all cases that a document passes, but the API applies only the first case. So every set of cases
 * is one case, larger sets first; its score is the rank of its sum, because scores are non-negative integers.
 */
const boostsText = (cases: Cases, context: SchemaContext): string => {
  if (cases.length > BOOSTS_MAX)
    throw new Unprintable("exact_ties", "rules", `boosts by more than ${BOOSTS_MAX} rules at once`)
  const texts = cases.map(({ filter }) => filterText(filter, context, "rules"))
  const sets = Array.from({ length: 2 ** cases.length }, (_set, bits) =>
    cases.flatMap((_case, i) => (bits & (1 << i) ? [i] : []))
  )
  const sumOf = (set: ReadonlyArray<number>): number => set.reduce((sum, i) => sum + cases[i]!.score, 0)
  const sums = [...new Set(sets.map(sumOf))].sort((a, b) => a - b)
  return `_eval([${sets
    .sort((a, b) => b.length - a.length)
    .map(
      (set) =>
        `(${set.length === 0 ? "id:*" : set.map((i) => `(${texts[i]})`).join(" && ")}):${sums.indexOf(sumOf(set))}`
    )
    .join(", ")}])`
}
const blocks = ({ bucketSize, buckets }: { readonly buckets?: number; readonly bucketSize?: number }): string =>
  buckets !== undefined ? `(buckets: ${buckets})` : bucketSize !== undefined ? `(bucket_size: ${bucketSize})` : ""
const kilometres = (metres: number): string => `${metres / 1_000} km`

const fieldOptions = ({ decay, missing }: Extract<SortKey, { readonly kind: "field" }>): string => {
  if (decay !== undefined)
    return `(${Object.entries(decay)
      .map(([name, value]) => `${name}: ${value}`)
      .join(", ")})`
  return missing === "normal" ? "" : `(missing_values: ${missing})`
}

export const facetText = (facets: ReadonlyArray<FacetRequest>): string =>
  facets
    .map((facet) => (facet.collection === undefined ? oneFacet(facet) : `$${facet.collection}(${oneFacet(facet)})`))
    .join(",")
const oneFacet = ({ field, order, ranges, topK }: FacetRequest): string => {
  const options = ranges.map(({ from, label, to }) => `${label}:[${bound(from)}, ${bound(to)}]`)
  if (order.kind === "alpha") options.push(`sort_by: _alpha:${order.order}`)
  if (order.kind === "field") options.push(`sort_by: ${order.field}:${order.order}`)
  if (topK) options.push("top_k: true")
  return options.length === 0 ? field : `${field}(${options.join(", ")})`
}
const bound = (value: number): string => (Number.isFinite(value) ? String(value) : "")
