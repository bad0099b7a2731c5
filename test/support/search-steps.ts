/** The three steps of a search as taken by a host that has rules: for tests of what rules do under restrictions. */
import { ok, type Result } from "../../engine-sdk/src/mod.ts"
import {
  closed,
  type Environment,
  type OperationContext,
  type PlannedSearch,
  prepareSearch,
  prepareSearches,
  prepareUnion,
  Reach,
  readMultiSearch,
  readSearch,
  readSearches,
  type Restrictions,
  resultsText,
  runSearch,
  runSearches,
  runUnion,
  type SearchMerchandise,
  writeAnswer,
  writeFailure
} from "../../engine-sdk/src/operations/mod.ts"
import type { CollectionInfo } from "../../engine-sdk/src/schema.ts"

export interface Ruled {
  readonly environment: Environment
  readonly of: (collection: CollectionInfo) => SearchMerchandise
}
const ruled = (search: PlannedSearch, { of }: Ruled): PlannedSearch => ({
  ...search,
  merchandise: of(search.collection)
})
const textOf = (open: Result<string>): Result<string> => (open.ok ? ok(closed(open.value)) : open)

export const ruledSearch = async (
  context: OperationContext,
  name: string,
  parameters: { readonly [name: string]: unknown },
  restrictions: Restrictions,
  rules: Ruled
): Promise<Result<string>> => {
  const reach = new Reach(context, restrictions)
  const request = readSearch(context, name, parameters, restrictions)
  if (!request.ok) return request
  const prepared = await prepareSearch(context, request.value, reach)
  if (!prepared.ok) return prepared
  const found = await runSearch(context, ruled(prepared.value, rules), rules.environment)
  return found.ok ? textOf(writeAnswer(prepared.value, found.value)) : found
}
export const ruledSearches = async (
  context: OperationContext,
  body: unknown,
  restrictions: Restrictions,
  rules: Ruled
): Promise<Result<string>> => {
  const reach = new Reach(context, restrictions)
  const request = readMultiSearch(context, JSON.stringify(body), {}, restrictions)
  if (!request.ok) return request
  const requests = readSearches(context, request.value, {}, restrictions)
  if (!requests.ok) return requests
  if (request.value.union) {
    const union = await prepareUnion(context, requests.value, reach, {}, request.value.removeDuplicates)
    if (!union.ok) return union
    const searches = union.value.searches.map((search) => ruled(search, rules))
    const found = await runUnion(context, { ...union.value, searches }, rules.environment)
    return found.ok ? textOf(writeAnswer(searches[0]!, found.value)) : found
  }
  const prepared = await prepareSearches(context, requests.value, reach)
  if (!prepared.ok) return prepared
  const plans = prepared.value.flatMap((plan) => (plan.ok ? [ruled(plan.value, rules)] : []))
  const answers = await runSearches(context, plans, rules.environment)
  if (!answers.ok) return answers
  const texts: Array<string> = []
  let at = 0
  for (const plan of prepared.value) {
    const found = plan.ok ? answers.value[at++]! : plan
    const text = plan.ok && found.ok ? textOf(writeAnswer(plan.value, found.value as never)) : undefined
    if (text?.ok === false) return text
    texts.push(text?.value ?? (found.ok ? "" : writeFailure(found.error)))
  }
  return ok(resultsText(texts))
}
