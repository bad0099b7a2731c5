/** Scoped tokens: restricted access that a search key can delegate. Nothing is stored; `Access` checks them. */
import type { CollectionInfo } from "@dowser/engine-sdk"
import { Reach } from "@dowser/engine-sdk/operations"
import { Clock, Effect } from "effect"
import { Access } from "../access/access.ts"
import type { Caller } from "../identity/caller.ts"
import { SIGNED_TEXT_LENGTH_MAX } from "../access/tokens/signed-text.ts"
import { makeContexts } from "../engine-plane/engine-plane.ts"
import { restrictionsOf } from "../identity/restrictions.ts"
import { type CollectionNotAllowed, inputInvalid, RestrictionNotApplicable, ScopeDenied } from "../http/errors.ts"
import type { CommonRefusal } from "../http/refusals.ts"
import type { Input } from "../api/implement.ts"
import type { createScopedToken } from "./contract.ts"

type Body = typeof createScopedToken.payload extends (infer P) | undefined
  ? P extends { readonly Type: infer B }
    ? B
    : never
  : never

export const makeScopedTokens = Effect.fnUntraced(function* (
  indexOf: (caller: Caller, name: string) => Effect.Effect<CollectionInfo, CollectionNotAllowed>
) {
  const access = yield* Access
  const contextOf = yield* makeContexts
  /** Whether the key's filter, combined with this one, can be applied to the index. */
  const isApplicable = (caller: Caller, collection: CollectionInfo): boolean =>
    new Reach(contextOf(caller.organizationId), restrictionsOf(caller)).forcedFilter(collection).ok

  return ({
    caller,
    payload
  }: Input<unknown, Body>): Effect.Effect<
    { readonly token: string; readonly index: string; readonly expiresAt: string },
    CommonRefusal<"search">
  > =>
    Effect.gen(function* () {
      // A token is derived only from a search key: one derived from an already restricted key would allow more than
      // that key.
      if (caller.key.scope !== "search" || caller.embedded !== undefined)
        return yield* new ScopeDenied({
          message: "The scope of this key does not reach the operation: only a search key makes scoped tokens."
        })
      const { expiresInSeconds, index, scopedFilter } = yield* payload
      const collection = yield* indexOf(caller, index)
      if (!isApplicable(caller, collection))
        return yield* new RestrictionNotApplicable({ message: "The key's filter cannot be applied to this index." })
      if (!isApplicable({ ...caller, embedded: { filter_by: scopedFilter }, index }, collection))
        return yield* inputInvalid("scopedFilter", "Not a filter of this index")
      const now_ms = yield* Clock.currentTimeMillis
      const expires_at = Math.min(Math.floor(now_ms / 1_000) + expiresInSeconds, caller.key.expires_at)
      const token = yield* access.mintScopedToken({
        organization_id: caller.organizationId,
        key_id: caller.key.id,
        index,
        scopedFilter,
        expires_at
      })
      if (token.length > SIGNED_TEXT_LENGTH_MAX)
        return yield* inputInvalid(
          "scopedFilter",
          "The token carries the filter and would be longer than a header may be; use a shorter one"
        )
      return { token, index, expiresAt: new Date(expires_at * 1_000).toISOString() }
    })
})
