/** Prints a vector query as text, for the parameters of a search and for sort keys. */
import type { VectorQuery } from "../plan.ts"
import { isListable } from "./print-filters.ts"
import { Unprintable } from "./refusals.ts"

export const vectorText = (query: VectorQuery, parameter: string): string => {
  const { alpha, distanceThreshold, ef, field, flatSearchCutoff, k, likeId, vector = [] } = query
  const parts = [`[${vector.join(", ")}]`]
  if (k > 0) parts.push(`k: ${k}`)
  if (likeId !== undefined) {
    if (!isListable(likeId)) throw new Unprintable("vector_index", parameter, "way to name this id")
    parts.push(`id: \`${likeId}\``)
  }
  parts.push(`alpha: ${alpha}`)
  if (distanceThreshold !== undefined) parts.push(`distance_threshold: ${distanceThreshold}`)
  if (flatSearchCutoff > 0) parts.push(`flat_search_cutoff: ${flatSearchCutoff}`)
  parts.push(`ef: ${ef}`)
  return `${field}:(${parts.join(", ")})`
}
