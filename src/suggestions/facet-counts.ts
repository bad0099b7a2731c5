/** Facets of a search that the program makes for itself, over what a caller may see. */
import { type FacetCount, ok, type Result } from "@dowser/engine-sdk"
import {
  type OperationContext,
  prepareSearch,
  type Reach,
  readSearch,
  runSearch,
  type SearchRequest
} from "@dowser/engine-sdk/operations"

/** One engine call; `step` runs between request and plan. Fails like the search. */
export const facetCountsOf = async (
  context: OperationContext,
  reach: Reach,
  name: string,
  asked: { readonly [name: string]: unknown },
  step: (request: SearchRequest) => Result<SearchRequest> = ok
): Promise<Result<ReadonlyArray<FacetCount>>> => {
  const read = readSearch(context, name, asked, reach.restrictions)
  const request = read.ok ? step(read.value) : read
  if (!request.ok) return request
  const planned = await prepareSearch(context, request.value, reach)
  if (!planned.ok) return planned
  const found = await runSearch(context, planned.value)
  return found.ok ? ok(found.value.answer.facet_counts) : found
}
