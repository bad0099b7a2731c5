/** Handlers of graphs: the collection is looked up before the query is read. */
import type { CollectionInfo } from "@dowser/engine-sdk"
import { Effect } from "effect"
import { implement } from "../api/implement.ts"
import { failureOf, makeCollectionOf, makeContexts } from "../engine-plane/engine-plane.ts"
import { RestrictionNotApplicable } from "../http/errors.ts"
import { pageOf } from "../http/page.ts"
import type { Caller } from "../identity/caller.ts"
import { SearchPolicies } from "../policies/search-policies.ts"
import { SearchProfiles } from "../profiles/search-profiles.ts"
import { seesWhole } from "../suggestions/sees-whole.ts"
import { foldedWords } from "./building/keys.ts"
import * as contract from "./contract.ts"
import { sameWords } from "./entity-fields.ts"
import { Graphs } from "./graphs.ts"
import type { StoredCommunity } from "./communities-repository.ts"
import type { EntitiesAsked, StoredEntity } from "./graphs-repository.ts"
import type { GraphCommunity, GraphEntity } from "./schema.ts"
import { visibleEntities } from "./visible-entities.ts"

const ENTITY_IDS_MAX = 500
/** For a caller with restricted access: the maximum number of batches examined, and the rows per batch. */
const LOOKS = 4,
  ROWS_LOOKED_AT = 250

const shownEntity = (
  collection: string,
  { documents: _, key: __, ...entity }: StoredEntity
): typeof GraphEntity.Type => ({
  collection,
  ...entity
})
const shownCommunity = (
  collection: string,
  { id, members, parent_id, report, title, updated_at }: StoredCommunity
): typeof GraphCommunity.Type => ({
  id,
  collection,
  title,
  size: members.length,
  ...(parent_id === null ? {} : { parent_id }),
  entity_ids: members.slice(0, ENTITY_IDS_MAX),
  report,
  updated_at
})

/** What a caller with restricted access may see, by id. */
const makePart = Effect.gen(function* () {
  const graphs = yield* Graphs
  const contextOf = yield* makeContexts
  const parts = { profiles: yield* SearchProfiles, policies: yield* SearchPolicies }
  return Effect.fnUntraced(function* (
    caller: Caller,
    collection: CollectionInfo,
    { community, key, limit, type }: EntitiesAsked
  ) {
    const { organizationId } = caller
    const { name, synonym_sets } = collection.schema
    const graph = yield* graphs.graph(organizationId, name)
    const found: Array<StoredEntity> = []
    if (graph === undefined || community !== undefined) return found
    const context = contextOf(organizationId)
    const { sameAs } = sameWords(
      synonym_sets.flatMap((set) => context.resources.get(organizationId, "synonym_set", set) ?? [])
    )
    for (let look = 0, after = ""; look < LOOKS && found.length < limit; look++) {
      const rows = yield* graphs.entitiesById(organizationId, name, { key, type, limit: ROWS_LOOKED_AT, after })
      if (rows.length === 0) break
      const visible = yield* Effect.promise(() =>
        visibleEntities({ parts, context, caller, collection }, rows, sameAs, graph.generated_at)
      )
      if (!visible.ok) return yield* failureOf(visible.error)
      found.push(...visible.value)
      after = rows.at(-1)!.id
    }
    return found.slice(0, limit)
  })
})

export const routes = Effect.gen(function* () {
  const graphs = yield* Graphs
  const collectionOf = yield* makeCollectionOf
  const partOf = yield* makePart
  const generate = (part: "entities" | "communities") =>
    Effect.fnUntraced(function* (caller: Caller, name: string) {
      return yield* graphs.generate(caller, yield* collectionOf(caller.organizationId, name), part)
    })
  const [entities, communities] = [generate("entities"), generate("communities")]
  return [
    implement(
      contract.listGraphEntities,
      Effect.fnUntraced(function* ({ caller, params, query }) {
        const collection = yield* collectionOf(caller.organizationId, params.collectionName)
        const { community_id, limit, q, type } = yield* query
        const asked: EntitiesAsked = {
          key: foldedWords(q ?? "").join(" "),
          type: type === "" ? undefined : type,
          community: community_id === "" ? undefined : community_id,
          limit
        }
        const { name } = collection.schema
        const rows = seesWhole(caller)
          ? yield* graphs.entities(caller.organizationId, name, asked)
          : yield* partOf(caller, collection, asked)
        return { entities: rows.map((row) => shownEntity(name, row)) }
      })
    ),
    implement(contract.generateGraphEntities, ({ caller, params }) => entities(caller, params.collectionName)),
    implement(
      contract.listGraphCommunities,
      Effect.fnUntraced(function* ({ caller, params, query }) {
        const { schema } = yield* collectionOf(caller.organizationId, params.collectionName)
        const { cursor, limit } = yield* query
        // A report counts all documents, so it requires unrestricted access.
        if (!seesWhole(caller))
          return yield* new RestrictionNotApplicable({
            message: "Communities cover the whole collection, of which this key sees only a part."
          })
        const after = /^\d{1,9}$/.test(cursor ?? "") ? Number(cursor) : -1
        const rows = yield* graphs.communities(caller.organizationId, schema.name, after, limit + 1)
        const { data, ...page } = pageOf(rows, limit, ({ place }) => String(place))
        return { data: data.map((row) => shownCommunity(schema.name, row)), ...page }
      })
    ),
    implement(contract.generateGraphCommunities, ({ caller, params }) => communities(caller, params.collectionName))
  ]
})
