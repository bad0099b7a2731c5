/**
 * A search whose profile weights meaning (`meaning.weight`): words and vectors are fused if the collection has vectors
 * that the caller may query and a model embeds the query in time. Otherwise only words are searched.
 */
import type { SearchRequest } from "@dowser/engine-sdk/operations"
import type { FieldList } from "@dowser/engine-sdk/query"
import type { FallbackMeanings } from "../embedding/fallback-meanings.ts"

const isBlank = (text: string | undefined): boolean => text === undefined || text.trim() === ""
/** Converts the weight of meaning relative to words into its share of both. */
export const alphaOfWeight = (weight: number): number => Math.round((1_000 * weight) / (1 + weight)) / 1_000

/** Returns the same object if nothing changes. A vector computed here is kept for the search. */
export const byMeaning = async (
  meanings: Pick<FallbackMeanings["Service"], "near">,
  organizationId: string,
  request: SearchRequest,
  fields: FieldList | undefined,
  weight: number
): Promise<SearchRequest> => {
  const { collection, parameters } = request
  const { q = "", sort_by, vector_query } = parameters
  // If results are ordered by something else, there is nothing to fuse.
  if (weight <= 0 || collection === undefined || isBlank(q) || q.trim() === "*") return request
  if (!isBlank(vector_query) || !isBlank(sort_by)) return request
  const asked = { collection: collection.schema.name, q, ...(fields === undefined ? {} : { fields }) }
  const field = await meanings.near(organizationId, asked)
  if (field === undefined) return request
  const fused = { ranking: "relevance", vector_query: `${field}:([], alpha: ${alphaOfWeight(weight)})` }
  return { ...request, parameters: { ...parameters, ...fused } }
}
