/**
 * Suggestions of a collection: popular queries together with facet values. Answered from memory, except the facet
 * values of a restricted key, which take one engine call.
 *
 * Decision: up to three in ten are facet values, more if there are fewer queries. Without input they are prompts.
 * Queries of an alias count for its collection, each name with its own visitors: at least three must have made a
 * query under one name.
 */
import type { CollectionInfo } from "@dowser/engine-sdk"
import { Context, Effect, Layer } from "effect"
import type { Caller } from "../identity/caller.ts"
import { reachesCollection } from "../identity/reach.ts"
import { CatalogResources } from "../engine-plane/resources.ts"
import type { Entitlements } from "../metering/entitlements.ts"
import type { Engine } from "../ports/engine/engine.ts"
import type { SearchTimedOut } from "../http/errors.ts"
import type { EngineFailure } from "../engine-plane/engine-errors.ts"
import type { SearchPolicies } from "../policies/search-policies.ts"
import type { SearchProfiles } from "../profiles/search-profiles.ts"
import { seesWhole } from "./sees-whole.ts"
import { makeFacetValues } from "./facet-values.ts"
import { PopularQueries } from "./popular-queries.ts"
import type { Suggestion } from "./schema.ts"
import type { Completable, Completion } from "./typeahead/typeahead.ts"

type SuggestionList = ReadonlyArray<typeof Suggestion.Type>

/** Room for facet values next to this many queries. */
export const facetRoom = (limit: number, queries: number): number =>
  Math.max(limit - queries, limit < 2 ? 0 : Math.max(1, Math.floor(0.3 * limit)))

/** Merges completions under several names: fewer corrections first, then by score, with a query's searches summed. */
const merged = (
  lists: ReadonlyArray<ReadonlyArray<Completion<Completable>>>
): ReadonlyArray<Completion<Completable>> => {
  const filled = lists.filter(({ length }) => length > 0)
  if (filled.length < 2) return filled[0] ?? []
  const byLabel = new Map<string, Completion<Completable>>()
  for (const completion of filled.flat()) {
    const known = byLabel.get(completion.item.label)
    const { count, label, score } = completion.item
    byLabel.set(
      label,
      known === undefined
        ? completion
        : { typos: known.typos, item: { label, score: known.item.score + score, count: known.item.count + count } }
    )
  }
  return [...byLabel.values()].sort((a, b) => a.typos - b.typos || b.item.score - a.item.score)
}

export class Suggestions extends Context.Service<
  Suggestions,
  {
    /** At most `limit`; nothing beyond the key's reach. */
    readonly suggest: (
      caller: Caller,
      collection: CollectionInfo,
      typed: string,
      limit: number
    ) => Effect.Effect<SuggestionList, EngineFailure | SearchTimedOut>
  }
>()("dowser/suggestions/Suggestions") {
  static readonly layer: Layer.Layer<
    Suggestions,
    never,
    CatalogResources | Engine | Entitlements | PopularQueries | SearchPolicies | SearchProfiles
  > = Layer.effect(
    Suggestions,
    Effect.gen(function* () {
      const popular = yield* PopularQueries
      const resources = yield* CatalogResources
      const facets = yield* makeFacetValues
      const namesOf = (organizationId: string, name: string) => [
        name,
        ...resources
          .list(organizationId, "alias")
          .filter(({ collection_name }) => collection_name === name)
          .map((alias) => alias.name)
      ]

      return Suggestions.of({
        suggest: Effect.fnUntraced(function* (caller, collection, typed, limit) {
          const { organizationId } = caller
          // Others' queries, under the names that the key reaches; none if the key does not see everything that they
          // may have found.
          const names = seesWhole(caller)
            ? namesOf(organizationId, collection.schema.name).filter((name) => reachesCollection(caller, name))
            : []
          const indexes = yield* Effect.forEach(names, (name) => popular.index(organizationId, name), {
            concurrency: "unbounded"
          })
          const queries = merged(indexes.map((index) => index.complete(typed, limit))).slice(0, limit)
          const values = yield* facets.complete(caller, collection, typed, facetRoom(limit, queries.length))
          return [
            ...queries
              .slice(0, limit - values.length)
              .map(({ item }) => ({ q: item.label, type: "query" as const, count: item.count })),
            ...values.map(({ count, filter_by, value }) => ({ q: value, type: "facet" as const, filter_by, count }))
          ]
        })
      })
    })
  )
}
