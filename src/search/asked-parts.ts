/** Small decisions about the searches of a request. Pure. */
import { type Result, type UnionAnswer } from "@dowser/engine-sdk"
import { type FoundAnswer, type PlannedSearch, type SearchRequest as ReadRequest } from "@dowser/engine-sdk/operations"
import { type UsedProfile } from "../profiles/profile-step.ts"
import { strengthOf } from "../personalization/personalized.ts"
import { rewriteOrderOf } from "./rewriting.ts"
import type { SearchRequest } from "./request.ts"

/** Durations of the steps around the engine for a search that has any, by name. */
export const timesOf = ({ trace }: FoundAnswer): Readonly<Record<string, number>> =>
  Object.fromEntries((trace?.stages ?? []).map(({ name, us }) => [`dowser.step.${name}_us`, us]))

/** Checks the parameters that this program reads itself. */
export const checkedParameters = (parameters: ReadRequest["parameters"]): Result<unknown> => {
  const order = rewriteOrderOf(parameters)
  return order.ok ? strengthOf(parameters) : order
}
/** An invalid parameter that this program reads itself also fails its entry. */
export const withOrder = (plan: Result<PlannedSearch>, { parameters }: ReadRequest): Result<PlannedSearch> => {
  const order = plan.ok ? checkedParameters(parameters) : undefined
  return order?.ok === false ? order : plan
}

/** A merged list is no longer than the shortest page that a profile in it allows. */
export const pagedBy = (shared: SearchRequest["shared"], used: ReadonlyArray<UsedProfile>): SearchRequest["shared"] => {
  const max = Math.min(...used.map(({ per_page_max }) => per_page_max))
  const asked = shared.per_page ?? shared.limit ?? "10"
  return /^\d+$/.test(asked) && Number(asked) > max ? { ...shared, per_page: String(max) } : shared
}
export const setDistances = ({ answer }: FoundAnswer | FoundAnswer<UnionAnswer>, field: string): void => {
  for (const hit of answer.hits ?? answer.grouped_hits?.flatMap(({ hits }) => hits) ?? []) {
    const distance_m = hit.geo_distance_meters?.[field]
    if (distance_m !== undefined) hit.distance_m = distance_m
  }
}
