/**
 * Trained models of all organizations in memory, by collection and name, ready to score: a search finds one by a
 * look-up. Written by trainings (`src/rerank-models`), re-read when a write of any process changed them
 * (`Configuration`). Dropping a collection drops its models.
 *
 * Bound: some kilobytes a model, and as many as plans allow.
 */
import { linearReranker, type Reranker } from "@dowser/engine-sdk/rerank"
import { Clock, Context, Effect, Layer } from "effect"
import type { SqlClient } from "effect/sql"
import { AiProviders } from "../ai-providers/ai-providers.ts"
import { CROSS_ENCODER } from "../ai-providers/remote-reranker.ts"
import { Configuration } from "../configuration/configuration.ts"
import { CollectionDrops } from "../engine-plane/collection-drops.ts"
import type { ConfigurationUnavailable } from "../http/errors.ts"
import { isObject } from "../http/json-fields.ts"
import { Entitlements } from "../metering/entitlements.ts"
import type { FeatureNotInPlan } from "../metering/errors.ts"
import { idOf, makeModelsRepository } from "./models-repository.ts"
import type { StoredModel } from "./schema.ts"

interface LoadedReranker {
  readonly stored: StoredModel
  readonly reranker: Reranker
}
type NewModel = Omit<StoredModel, "version" | "created_at">
interface RerankersShape {
  /** `collection`: its real name. O(1). */
  readonly of: (organizationId: string, collection: string, name: string) => Reranker | undefined
  /** The newest version of each, sorted by name. */
  readonly list: (organizationId: string, collection: string) => ReadonlyArray<StoredModel>
  readonly get: (organizationId: string, collection: string, name: string) => StoredModel | undefined
  /** The stored versions, newest first. */
  readonly versions: (
    organizationId: string,
    collection: string,
    name: string
  ) => Effect.Effect<ReadonlyArray<StoredModel>>
  /** Stores it as the next version of its name; the next search uses it. */
  readonly store: (model: NewModel) => Effect.Effect<StoredModel, FeatureNotInPlan | ConfigurationUnavailable>
  readonly remove: (
    organizationId: string,
    collection: string,
    name: string
  ) => Effect.Effect<void, ConfigurationUnavailable>
  /** 403 if the plan has no room for one more name. */
  readonly requireRoom: (
    organizationId: string,
    collection: string,
    name: string
  ) => Effect.Effect<void, FeatureNotInPlan>
}

/** Whether it is as a training writes it. */
const isWhole = ({ fields, weights }: StoredModel): boolean =>
  isObject(weights) && Object.values(weights).every((weight) => Number.isFinite(weight)) && Array.isArray(fields)

/** By organization, then by collection and name. */
class ModelTable {
  readonly #organizations = new Map<string, Map<string, LoadedReranker>>()

  get(organizationId: string, id: string): LoadedReranker | undefined {
    return this.#organizations.get(organizationId)?.get(id)
  }
  of(organizationId: string): ReadonlyArray<LoadedReranker> {
    return [...(this.#organizations.get(organizationId)?.values() ?? [])]
  }
  put(stored: StoredModel): void {
    let own = this.#organizations.get(stored.organization_id)
    if (own === undefined) this.#organizations.set(stored.organization_id, (own = new Map()))
    own.set(idOf(stored.collection, stored.name), { stored, reranker: linearReranker({ weights: stored.weights }) })
  }
  forget(organizationId: string, id: string): void {
    this.#organizations.get(organizationId)?.delete(id)
  }
  clear(): void {
    this.#organizations.clear()
  }
}

const make = Effect.gen(function* () {
  const configuration = yield* Configuration
  const entitlements = yield* Entitlements
  const providers = yield* AiProviders
  const repository = yield* makeModelsRepository
  const table = new ModelTable()
  yield* configuration.keep("rerank_model", (subjects) =>
    Effect.map(repository.read(subjects), (rows) => {
      configuration.damages.forget("rerank_model", subjects)
      if (subjects === "all") table.clear()
      else for (const { id, organizationId } of subjects) table.forget(organizationId, id)
      for (const row of rows) {
        if (isWhole(row)) table.put(row)
        else
          configuration.damages.note(
            "rerank_model",
            { organizationId: row.organization_id, id: idOf(row.collection, row.name) },
            `The weights of the rerank model \`${row.name}\` of \`${row.collection.slice(0, 80)}\` are none.`
          )
      }
    })
  )
  const list = (organizationId: string, collection: string): ReadonlyArray<StoredModel> =>
    table
      .of(organizationId)
      .map(({ stored }) => stored)
      .filter((stored) => stored.collection === collection)
      .sort((a, b) => (a.name < b.name ? -1 : 1))
  const change = (organizationId: string, collection: string, name: string) => ({
    kind: "rerank_model",
    organizationId,
    id: idOf(collection, name)
  })
  const remove: RerankersShape["remove"] = (organizationId, collection, name) =>
    Effect.asVoid(
      configuration.write(change(organizationId, collection, name), repository.remove(organizationId, collection, name))
    ).pipe(Effect.catchTag("SqlError", Effect.die))
  const store: RerankersShape["store"] = Effect.fn("Rerankers.store")(function* (model) {
    const { collection, name, organization_id } = model
    const stored = Effect.gen(function* () {
      const count = yield* repository.lockCount(organization_id)
      const [newest] = yield* repository.versions(organization_id, collection, name)
      if (newest === undefined) yield* entitlements.requireRoom(organization_id, "rerank_models", count + 1)
      const next: StoredModel = {
        ...model,
        version: (newest?.version ?? 0) + 1,
        created_at: yield* Clock.currentTimeMillis
      }
      yield* repository.insert(next)
      yield* repository.prune(next)
      return next
    })
    return yield* configuration
      .write(change(organization_id, collection, name), stored)
      .pipe(Effect.catchTag("SqlError", Effect.die))
  })
  yield* (yield* CollectionDrops).register((organizationId, collection) =>
    Effect.forEach(list(organizationId, collection), ({ name }) => remove(organizationId, collection, name), {
      discard: true
    })
  )
  return Rerankers.of({
    of: (organizationId, collection, name) =>
      table.get(organizationId, idOf(collection, name))?.reranker ??
      (name === CROSS_ENCODER ? providers.reranker(organizationId) : undefined),
    list,
    get: (organizationId, collection, name) => table.get(organizationId, idOf(collection, name))?.stored,
    versions: (organizationId, collection, name) => Effect.orDie(repository.versions(organizationId, collection, name)),
    store,
    remove,
    requireRoom: (organizationId, collection, name) =>
      table.get(organizationId, idOf(collection, name)) === undefined
        ? entitlements.requireRoom(organizationId, "rerank_models", table.of(organizationId).length + 1)
        : Effect.void
  })
})

export class Rerankers extends Context.Service<Rerankers, RerankersShape>()("dowser/rerankers/Rerankers") {
  static readonly layer: Layer.Layer<
    Rerankers,
    never,
    AiProviders | CollectionDrops | Configuration | Entitlements | SqlClient.SqlClient
  > = Layer.effect(
    Rerankers,
    Effect.suspend(() => make)
  )
}
