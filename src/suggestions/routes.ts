/** Handlers of suggestions and prompts. The collection is looked up before the parameters are read. */
import type { CollectionInfo } from "@dowser/engine-sdk"
import { resolveCollection } from "@dowser/engine-sdk/operations"
import { Effect } from "effect"
import type { Caller } from "../identity/caller.ts"
import { collectionClosed } from "../identity/reach.ts"
import { makeContexts } from "../engine-plane/engine-plane.ts"
import { reachesNamed } from "../engine-plane/reached.ts"
import { withoutLimit } from "../engine-plane/time-limit.ts"
import { Quota } from "../metering/quota.ts"
import { type CollectionNotAllowed, NotFound } from "../http/errors.ts"
import { implement } from "../api/implement.ts"
import * as contract from "./contract.ts"
import { TYPED_CHARACTERS_MAX } from "./schema.ts"
import { Suggestions } from "./service.ts"

export const routes = Effect.gen(function* () {
  const contextOf = yield* makeContexts
  const suggestions = yield* Suggestions
  const quota = yield* Quota
  const collectionOf = (caller: Caller, name: string) =>
    Effect.suspend((): Effect.Effect<CollectionInfo, CollectionNotAllowed | NotFound> => {
      const context = contextOf(caller.organizationId)
      if (!reachesNamed(context, caller, name)) return Effect.fail(collectionClosed())
      const collection = resolveCollection(context, name)
      return collection === undefined
        ? Effect.fail(new NotFound({ message: "Collection not found" }))
        : Effect.succeed(collection)
    })
  return [
    implement(
      contract.getSuggestions,
      Effect.fnUntraced(function* ({ caller, params, query }) {
        const collection = yield* collectionOf(caller, params.collectionName)
        const { limit, q } = yield* query
        return {
          data: yield* quota.counted(
            caller.organizationId,
            withoutLimit(suggestions.suggest(caller, collection, (q ?? "").slice(0, TYPED_CHARACTERS_MAX), limit))
          )
        }
      })
    ),
    implement(
      contract.getPrompts,
      Effect.fnUntraced(function* ({ caller, params, query }) {
        const collection = yield* collectionOf(caller, params.collectionName)
        const { limit } = yield* query
        return {
          data: yield* quota.counted(
            caller.organizationId,
            withoutLimit(suggestions.suggest(caller, collection, "", limit))
          )
        }
      })
    )
  ]
})
