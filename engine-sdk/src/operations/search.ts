/**
 * Search, multi-search and union (`docs/contract/search.md`) in three steps: `prepare` reads, restricts and plans,
 * `run` queries the engine, `write` serializes the answer once. A host that does more (accounts, caches, rules) calls
 * the steps itself; this file calls them in sequence. Engines see only plans, and several plans are sent to the engine
 * in one call.
 */
import { fail, ok, type EngineError } from "../errors.ts"
import { givingWay } from "../turns.ts"
import type { OperationResult, Body, OperationContext, QueryParameters } from "./operation.ts"
import { budgetOf } from "./answer-bound.ts"
import { prepareSearch, prepareSearches, prepareUnion } from "./prepare-search.ts"
import { readMultiSearch, readSearch, readSearches, type SearchRequest } from "./read-search.ts"
import { isRestriction, Reach, type Restrictions, UNRESTRICTED } from "./restrictions.ts"
import { isAway, runSearch, runSearches, runUnion } from "./run-search.ts"
import { closed, resultsText, writeAnswer, writeFailure } from "./write-answer.ts"

/** Runs one search. The answer is JSON text; Invalid if it would be larger than the limits allow. */
export const search = async (
  asked: OperationContext,
  collectionName: string,
  parameters: { readonly [name: string]: unknown },
  restrictions: Restrictions = UNRESTRICTED
): Promise<OperationResult> => {
  const context = { ...asked, budget: budgetOf(asked) }
  const request = readSearch(context, collectionName, parameters, restrictions)
  if (!request.ok) return request
  const prepared = await prepareSearch(context, request.value, new Reach(context, restrictions))
  if (!prepared.ok) return prepared
  const found = await runSearch(context, prepared.value)
  if (!found.ok) return found
  const open = writeAnswer(prepared.value, found.value)
  return open.ok ? ok({ status: 200, text: closed(open.value) }) : open
}

/**
 * Runs several searches, each with its own result or failure, or with `union` as one ranked list. The answer is JSON
 * text; Invalid if all results together would be larger than the limits allow.
 */
export const multiSearch = async (
  asked: OperationContext,
  sent: Body,
  shared: QueryParameters,
  restrictions: Restrictions = UNRESTRICTED
): Promise<OperationResult> => {
  const context = { ...asked, budget: budgetOf(asked) }
  const request = readMultiSearch(context, sent, shared, restrictions)
  if (!request.ok) return request
  const requests = readSearches(context, request.value, shared, restrictions)
  if (!requests.ok) return requests
  const reach = new Reach(context, restrictions)
  if (requests.value.length === 0) return ok({ status: 200, text: resultsText([]) })
  return request.value.union
    ? unionSearch(context, requests.value, reach, shared, request.value.removeDuplicates)
    : separateSearches(context, requests.value, reach)
}

const separateSearches = async (
  context: OperationContext,
  requests: ReadonlyArray<SearchRequest>,
  reach: Reach
): Promise<OperationResult> => {
  const prepared = await prepareSearches(context, requests, reach)
  if (!prepared.ok) return prepared
  const plans = prepared.value.flatMap((plan) => (plan.ok ? [plan.value] : []))
  const answers = await runSearches(context, plans)
  if (!answers.ok) return answers
  const give = givingWay()
  const texts: string[] = [],
    failures: EngineError[] = []
  let at = 0
  for (const plan of prepared.value) {
    const result = plan.ok ? answers.value[at++]! : plan
    if (plan.ok && result.ok) {
      const open = writeAnswer(plan.value, result.value)
      if (!open.ok) return open
      texts.push(closed(open.value))
      await give()
    } else if (!result.ok) {
      failures.push(result.error)
      texts.push(writeFailure(result.error))
    }
  }
  return ok({ status: 200, text: resultsText(texts), ...(failures.length === 0 ? {} : { failures }) })
}

/**
 * A failed union is answered with 200 and the failure, unless the engine failed, the caller is restricted or the answer
 * would be too large.
 */
const unionFailure = (context: OperationContext, error: EngineError): OperationResult =>
  isAway(error) || isRestriction(error) || context.budget?.refusal !== undefined
    ? fail(error)
    : ok({ status: 200, text: writeFailure(error), failures: [error] })
const unionSearch = async (
  context: OperationContext,
  requests: ReadonlyArray<SearchRequest>,
  reach: Reach,
  shared: QueryParameters,
  removeDuplicates: boolean
): Promise<OperationResult> => {
  const union = await prepareUnion(context, requests, reach, shared, removeDuplicates)
  if (!union.ok) return unionFailure(context, union.error)
  const found = await runUnion(context, union.value)
  if (!found.ok) return unionFailure(context, found.error)
  // A union is one answer and therefore one event, with the query and the collection of its first entry.
  const open = writeAnswer(union.value.searches[0]!, found.value)
  return open.ok ? ok({ status: 200, text: closed(open.value) }) : open
}
