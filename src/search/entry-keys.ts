/**
 * Entries of a multi-search with keys of their own (`docs/contract/search.md#multi-search`): each is decided by its own
 * key, and one refusal refuses the request.
 */
import { Effect } from "effect"
import { type MultiSearch, multiSearchesLimit, type OperationContext } from "@dowser/engine-sdk/operations"
import type { Access } from "../access/access.ts"
import { declaredOf } from "../engine-plane/engine-plane.ts"
import { EngineRefusal } from "../http/errors.ts"
import type { SearchFailure } from "./search-errors.ts"
import type { Caller } from "../identity/caller.ts"
import type { SearchRequest } from "./request.ts"
import { restrictionsOf } from "../identity/restrictions.ts"

/** The keys inside the entries, by entry; keys in a preset are ignored. */
export const entryKeys = (
  searches: MultiSearch["searches"],
  shared: SearchRequest["shared"]
): ReadonlyArray<string | undefined> =>
  shared.preset !== undefined && shared.preset !== ""
    ? []
    : searches.map((entry) => {
        const key = entry["x-svc-api-key"] ?? entry["x-typesense-api-key"]
        return typeof key === "string" ? key : undefined
      })

/** The caller of each entry. */
export const callersOf = (
  access: Access["Service"],
  { address, caller, origin }: SearchRequest,
  keys: ReadonlyArray<string | undefined>
): Effect.Effect<ReadonlyArray<Caller>, SearchFailure> =>
  Effect.forEach(keys, (key) =>
    key === undefined
      ? Effect.succeed(caller)
      : access.check({
          key,
          scope: "search",
          address,
          origin: origin(),
          collection: undefined,
          sessionId: caller.sessionId,
          isRateFree: false,
          isGateway: false
        })
  )

/** Whether all entries have the same caller, so that they are one request. */
export const areOne = (callers: ReadonlyArray<Caller>): boolean =>
  callers.every(({ embedded, key }) => key.id === callers[0]!.key.id && embedded === undefined)

/** Entries that run one by one are no multi-search to the engine, so their number is checked here, for every key. */
export const withinLimits = (
  context: OperationContext,
  callers: ReadonlyArray<Caller>,
  shared: SearchRequest["shared"]
): Effect.Effect<void, SearchFailure> =>
  Effect.forEach(
    callers,
    (caller): Effect.Effect<void, SearchFailure> => {
      const limit = multiSearchesLimit(context, shared, restrictionsOf(caller))
      if (!limit.ok) return Effect.fail(declaredOf(limit.error))
      return callers.length <= limit.value
        ? Effect.void
        : Effect.fail(
            new EngineRefusal({
              message: "Number of multi searches exceeds `limit_multi_searches` parameter.",
              status: 400
            })
          )
    },
    { discard: true }
  )
