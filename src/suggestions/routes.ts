/** Handlers of suggestions and prompts. The collection is looked for before the parameters are read. */
import { resolveCollection } from "../../engine-sdk/src/operations/mod.ts"
import { Effect } from "effect"
import { makeContexts } from "../catalog/engine-plane.ts"
import { Quota } from "../metering/quota.ts"
import { NotFound } from "../wire/errors.ts"
import { implement } from "../wire/route.ts"
import * as contract from "./contract.ts"
import { limitOf } from "./limit.ts"
import { TYPED_CHARACTERS_MAX } from "./schema.ts"
import { Suggestions } from "./service.ts"

export const routes = Effect.gen(function*() {
  const contextOf = yield* makeContexts
  const suggestions = yield* Suggestions
  const quota = yield* Quota
  const collectionOf = (organizationId: string, name: string) => Effect.suspend(() => {
    const collection = resolveCollection(contextOf(organizationId), name)
    return collection === undefined ? Effect.fail(new NotFound({ message: "Collection not found" })) : Effect.succeed(collection)
  })
  return [
    implement(contract.getSuggestions, Effect.fnUntraced(function*({ caller, params, query }) {
      const collection = yield* collectionOf(caller.organizationId, params.collectionName)
      const { limit: text, q } = yield* query
      const limit = yield* limitOf(text)
      return { data: yield* quota.counted(caller.organizationId, suggestions.suggest(caller, collection, (q ?? "").slice(0, TYPED_CHARACTERS_MAX), limit)) }
    })),
    implement(contract.getPrompts, Effect.fnUntraced(function*({ caller, params, query }) {
      const collection = yield* collectionOf(caller.organizationId, params.collectionName)
      const { limit: text } = yield* query
      const limit = yield* limitOf(text)
      return { data: yield* quota.counted(caller.organizationId, suggestions.suggest(caller, collection, "", limit)) }
    }))
  ]
})
