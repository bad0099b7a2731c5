/**
 * A request with `use_cache`, answered from the cache, or run and cached. A hit costs a unit like the search that
 * created it, and each of its answers is counted again, under a query id of its own.
 */
import { ok, type Result } from "@dowser/engine-sdk"
import { type MultiSearch, weigh } from "@dowser/engine-sdk/operations"
import { declaredOf } from "../engine-plane/engine-plane.ts"
import { answerKeyOf } from "../experiments/answer-key.ts"
import type { ExperimentTable } from "../experiments/running-experiments.ts"
import type { SearchPolicies } from "../policies/search-policies.ts"
import type { SearchProfiles } from "../profiles/search-profiles.ts"
import type { SearchRules } from "../rules/search-rules.ts"
import type { SearchAccounts } from "./accounts.ts"
import { type AnswerCache, cacheTtlOf, type KeptAnswer, lengthOf } from "./answer-cache.ts"
import { identified, type Outcome, type Written } from "./asked-search.ts"
import type { Charge } from "./charge.ts"
import type { SearchRequest } from "./request.ts"
import { visitorOf } from "../identity/visitor.ts"

export interface CachedParts {
  readonly cache: AnswerCache
  readonly rules: SearchRules["Service"]
  readonly profiles: SearchProfiles["Service"]
  readonly policies: SearchPolicies["Service"]
  readonly experiments: ExperimentTable
  readonly accounts: SearchAccounts
  /** Differs after each removal (`answer-epoch.ts`). */
  readonly epochOf: (organizationId: string) => ReadonlyArray<number>
  readonly now_ms: () => number
}
export const asksCache = ({ shared }: SearchRequest): boolean => shared.use_cache === "true" || shared.use_cache === "1"

/**
 * By organization, key and embedded parameters, so that no restriction is ever answered from another key's entry; by
 * the current profiles and policies, by the variants of experiments, and by whatever rules distinguish requests by.
 */
const keyOf = (
  { epochOf, experiments, policies, profiles, rules }: CachedParts,
  { caller, distanceField, shared, traits, own }: SearchRequest,
  named: string | undefined,
  searched: MultiSearch | undefined,
  now_ms: number
): string => {
  const { use_cache: _flag, ...parameters } = shared
  return JSON.stringify([
    caller.organizationId,
    caller.key.id,
    caller.embedded ?? null,
    caller.index ?? null,
    profiles.version(caller.organizationId),
    policies.version(caller.organizationId),
    caller.sessionId !== undefined,
    distanceField ?? null,
    own ?? null,
    named ?? null,
    Object.entries(parameters).sort(([a], [b]) => (a < b ? -1 : 1)),
    searched ?? null,
    rules.answerKey(caller.organizationId, visitorOf(shared, traits, caller.sessionId), now_ms),
    answerKeyOf(experiments, caller.organizationId, shared, visitorOf(shared, traits, caller.sessionId), now_ms),
    epochOf(caller.organizationId)
  ])
}

/** The result of `run`; a visitor's own answer is not cached. */
interface Run {
  readonly written: Outcome<Written>
  readonly isPersonal: boolean
}
/** `run` computes the answer if none is cached. */
export const cachedSearch = async (
  parts: CachedParts,
  request: SearchRequest,
  charge: Charge,
  named: string | undefined,
  searched: MultiSearch | undefined,
  run: () => Promise<Run>
): Promise<Outcome<Written>> => {
  const now_ms = parts.now_ms()
  const key = keyOf(parts, request, named, searched, now_ms)
  const kept = parts.cache.get(key, now_ms)
  if (kept !== undefined) return replayed(parts, request, charge, named, kept)
  const { isPersonal, written: fresh } = await run()
  const ttl_s = cacheTtlOf(request.caller.embedded?.cache_ttl ?? request.shared.cache_ttl)
  // Only a complete success is cached.
  if (fresh.ok && !isPersonal && ttl_s > 0 && fresh.value.failures.length === 0) {
    const { isMany, searches } = fresh.value
    parts.cache.put(key, { isMany, searches, expiresAt: now_ms + ttl_s * 1000 })
  }
  return fresh
}
const replayed = (
  { accounts }: CachedParts,
  request: SearchRequest,
  charge: Charge,
  named: string | undefined,
  kept: KeptAnswer
): Outcome<Written> => {
  if (charge.unit.refusal !== undefined) return refused(charge.unit.refusal)
  const weighed = weigh(charge.budget, lengthOf(kept))
  if (!weighed.ok) return refused(declaredOf(weighed.error))
  charge.isUsed ||= kept.searches.some(({ search }) => search.asked)
  const texts = kept.searches.map((written) => identified(written, accounts.open(request, named, written.search)))
  return ok({ texts, isMany: kept.isMany, searches: kept.searches, failures: [] })
}
const refused = <E>(error: E): Result<never, E> => ({ ok: false, error })
