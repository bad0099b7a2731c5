/** Handlers of search rules: the collection is looked up before the body is read. */
import { Effect } from "effect"
import { reachesCollection } from "../identity/reach.ts"
import { makeCollectionOf } from "../engine-plane/engine-plane.ts"
import { Reply } from "../http/reply.ts"
import { implement } from "../api/implement.ts"
import * as contract from "./contract.ts"
import { SearchRulesNotFound } from "./errors.ts"
import { makePreview } from "./preview.ts"
import type { StoredRuleSet } from "./rule-sets-repository.ts"
import type { SearchRuleSet } from "./schema.ts"
import { SearchRules } from "./search-rules.ts"

const shown = ({ collection, ruleSet, updated_at }: StoredRuleSet): typeof SearchRuleSet.Type => ({
  ...ruleSet,
  collection,
  updated_at
})

export const routes = Effect.gen(function* () {
  const rules = yield* SearchRules
  const preview = yield* makePreview
  const collectionOf = yield* makeCollectionOf
  const missing = (collection: string) => new SearchRulesNotFound({ message: `\`${collection}\` has no search rules.` })
  return [
    implement(contract.getSearchRule, ({ caller, params }) =>
      Effect.flatMap(collectionOf(caller.organizationId, params.collectionName), (collection) => {
        const stored = rules.get(caller.organizationId, collection)
        return stored === undefined ? Effect.fail(missing(collection.schema.name)) : Effect.succeed(shown(stored))
      })
    ),
    implement(
      contract.upsertSearchRule,
      Effect.fnUntraced(function* ({ caller, params, payload }) {
        const collection = yield* collectionOf(caller.organizationId, params.collectionName)
        const ruleSet = yield* rules.checked(caller.organizationId, collection, yield* payload, (name) =>
          reachesCollection(caller, name)
        )
        return shown(yield* rules.replace(caller.organizationId, collection, ruleSet))
      })
    ),
    implement(
      contract.deleteSearchRule,
      Effect.fnUntraced(function* ({ caller, params }) {
        const collection = yield* collectionOf(caller.organizationId, params.collectionName)
        const { name } = collection.schema
        if (rules.get(caller.organizationId, collection) === undefined) return yield* missing(name)
        yield* rules.remove(caller.organizationId, name)
        return { collection: name }
      })
    ),
    implement(
      contract.previewSearchRule,
      Effect.fnUntraced(function* ({ caller, held, params, payload }) {
        const collection = yield* collectionOf(caller.organizationId, params.collectionName)
        return new Reply(200, yield* preview(caller, collection, yield* payload, held))
      })
    )
  ]
})
