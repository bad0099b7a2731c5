/** Facets of a search that the program makes for itself, over what a caller may see. */
import { type FacetCount, ok, type Result } from "@dowser/engine-sdk"
import { type OperationContext, prepareSearch, type Reach, readSearch, runSearch } from "@dowser/engine-sdk/operations"

/** One engine call. Fails as the search does. */
export const facetCountsOf = async (
  context: OperationContext,
  reach: Reach,
  name: string,
  asked: { readonly [name: string]: unknown }
): Promise<Result<ReadonlyArray<FacetCount>>> => {
  const request = readSearch(context, name, asked, reach.restrictions)
  if (!request.ok) return request
  const planned = await prepareSearch(context, request.value, reach)
  if (!planned.ok) return planned
  const found = await runSearch(context, planned.value)
  return found.ok ? ok(found.value.answer.facet_counts) : found
}
