/** Handlers of synonym suggestions: collection and suggestion are looked up before the body is read. */
import { Clock, Effect } from "effect"
import { parseDateRange } from "../analytics/date-range.ts"
import { implement } from "../api/implement.ts"
import { makeCollectionOf } from "../engine-plane/engine-plane.ts"
import { invalidFields } from "../http/checks.ts"
import * as contract from "./contract.ts"
import type { SynonymSuggestion } from "./schema.ts"
import { SynonymSuggestions } from "./suggestions.ts"
import type { StoredSuggestion } from "./suggestions-repository.ts"

const DAYS = 30,
  DAY_MS = 86_400_000
const shown = ({ score: _, synonym_set: __, ...suggestion }: StoredSuggestion): SynonymSuggestion => suggestion
const dayOf = (at: number): string => new Date(at).toISOString().slice(0, 10)

export const routes = Effect.gen(function* () {
  const suggestions = yield* SynonymSuggestions
  const collectionOf = yield* makeCollectionOf
  return [
    implement(
      contract.suggestSynonyms,
      Effect.fnUntraced(function* ({ caller, params, payload }) {
        const collection = yield* collectionOf(caller.organizationId, params.collectionName)
        const { from, to } = yield* payload
        const now = yield* Clock.currentTimeMillis
        const last = to === undefined || to === "" ? dayOf(now) : to
        const parsed = parseDateRange(
          from === undefined || from === "" ? dayOf((Date.parse(last) || now) - DAYS * DAY_MS) : from,
          last
        )
        if (!parsed.ok) return yield* invalidFields(parsed.issues)
        return yield* suggestions.start(caller, collection, parsed.range)
      })
    ),
    implement(contract.listSynonymSuggestions, ({ caller: { organizationId }, params }) =>
      Effect.flatMap(collectionOf(organizationId, params.collectionName), ({ schema }) =>
        Effect.map(suggestions.list(organizationId, schema.name), (rows) => ({ data: rows.map(shown) }))
      )
    ),
    implement(
      contract.acceptSynonymSuggestion,
      Effect.fnUntraced(function* ({ caller: { organizationId }, params, payload }) {
        const { schema } = yield* collectionOf(organizationId, params.collectionName)
        const suggestion = yield* suggestions.get(organizationId, schema.name, params.suggestionId)
        const { synonym_set } = yield* payload
        return shown(yield* suggestions.accept(organizationId, schema.name, suggestion, synonym_set))
      })
    ),
    implement(
      contract.rejectSynonymSuggestion,
      Effect.fnUntraced(function* ({ caller: { organizationId }, params }) {
        const { schema } = yield* collectionOf(organizationId, params.collectionName)
        const suggestion = yield* suggestions.get(organizationId, schema.name, params.suggestionId)
        return shown(yield* suggestions.reject(organizationId, schema.name, suggestion))
      })
    )
  ]
})
