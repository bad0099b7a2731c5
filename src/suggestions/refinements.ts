/**
 * Ways to narrow an answer: other visitors' queries that extend this one, and facet values that divide the results.
 * From memory and from the facets that the request computed in any case; no engine call. Pure.
 */
import type { CollectionInfo, FacetCount } from "@dowser/engine-sdk"
import { fieldNamed } from "@dowser/engine-sdk/query"
import { leadingCounts } from "@dowser/engine-sdk/operations"
import { valueFilter } from "./filter-text.ts"
import type { Completable, Typeahead } from "./typeahead/typeahead.ts"

export interface Refinement {
  readonly type: "query" | "facet"
  readonly label: string
  readonly q?: string
  readonly filter_by?: string
  readonly count: number
}

const QUERIES_MAX = 5
const FACETS_MAX = 5
const PER_FIELD_MAX = 3
/** Values of a field that are considered, from the front, because a facet may have a million. */
const LOOKED_AT_MAX = 1_000
/** A value that nearly all hits have, or nearly none, does not divide them. */
const SHARE_MIN = 0.05

export const queryRefinements = (
  q: string,
  popular: ReadonlyArray<Typeahead<Completable>>
): ReadonlyArray<Refinement> => {
  const found = new Map<string, Completable>()
  for (const index of popular)
    for (const item of index.extensions(q, QUERIES_MAX))
      if ((found.get(item.label)?.score ?? 0) < item.score) found.set(item.label, item)
  return [...found.values()]
    .sort((a, b) => b.score - a.score)
    .slice(0, QUERIES_MAX)
    .map(({ count, label }) => ({ type: "query", label, q: label, count }))
}

/** The values closest to half of the hits, at most three of a field. */
export const facetRefinements = (
  collection: CollectionInfo,
  found: number,
  facets: ReadonlyArray<FacetCount>
): ReadonlyArray<Refinement> => {
  const candidates: Array<Refinement & { readonly balance: number }> = []
  for (const facet of facets) {
    const { field_name } = facet
    const type = fieldNamed(collection.schema, field_name)?.type
    if (type !== "string" && type !== "string[]") continue
    const ofField: typeof candidates = []
    for (const { count, value } of leadingCounts(facet, LOOKED_AT_MAX)) {
      const share = count / found
      const filter_by = valueFilter(field_name, value)
      if (share < SHARE_MIN || share > 1 - SHARE_MIN || filter_by === undefined) continue
      ofField.push({ type: "facet", label: value, filter_by, count, balance: Math.min(share, 1 - share) })
    }
    candidates.push(...ofField.sort((a, b) => b.balance - a.balance).slice(0, PER_FIELD_MAX))
  }
  return candidates
    .sort((a, b) => b.balance - a.balance)
    .slice(0, FACETS_MAX)
    .map(({ balance: _balance, ...refinement }) => refinement)
}
