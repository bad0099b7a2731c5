/**
 * Recommendation models of all organizations in memory, as their owners configured them: a request finds its model by a
 * look-up. Their answers come from the live state (`live/`), which does not know about models. Search rules may fall
 * back to a model, which then cannot be deleted or moved to another collection.
 *
 * Bound: some hundred bytes a model, and as many models as plans allow.
 */
import { isDeepStrictEqual } from "node:util"
import { Clock, Context, Effect, Layer } from "effect"
import { Identifiers } from "@dowser/log/identifiers"
import type { SqlClient, SqlError } from "effect/sql"
import { Configuration } from "../configuration/configuration.ts"
import { CollectionDrops } from "../engine-plane/collection-drops.ts"
import { stored } from "../configuration/stored.ts"
import { type ConfigurationUnavailable, NotFound } from "../http/errors.ts"
import { Entitlements } from "../metering/entitlements.ts"
import type { FeatureNotInPlan } from "../metering/errors.ts"
import { RecommendationModelInUse } from "./errors.ts"
import { makeModelsRepository } from "./models-repository.ts"
import { withDefaults } from "./params.ts"
import type { Metrics, Model, ModelBody, StoredModel } from "./schema.ts"

interface ModelsShape {
  /** O(1). */ readonly find: (organizationId: string, id: string) => StoredModel | undefined
  /** By id. O(models of the organization). */ readonly list: (organizationId: string) => ReadonlyArray<StoredModel>
  readonly create: (
    organizationId: string,
    body: ModelBody
  ) => Effect.Effect<StoredModel, FeatureNotInPlan | ConfigurationUnavailable>
  readonly replace: (
    organizationId: string,
    id: string,
    body: ModelBody
  ) => Effect.Effect<StoredModel, NotFound | RecommendationModelInUse | ConfigurationUnavailable>
  readonly remove: (
    organizationId: string,
    id: string
  ) => Effect.Effect<{ readonly id: string }, NotFound | RecommendationModelInUse | ConfigurationUnavailable>
  /** Within a transaction: whether the model exists, which then stays until the transaction ends. */
  readonly hold: (organizationId: string, id: string) => Effect.Effect<boolean, SqlError.SqlError>
  /** Stores the results of a training; does nothing if the model was deleted. */
  readonly storeResult: (
    organizationId: string,
    id: string,
    status: Model["status"],
    metrics: Metrics | null
  ) => Effect.Effect<void, ConfigurationUnavailable>
}

const KIND = "recommendation_model"
export const modelMissing = (id: string) => new NotFound({ message: `Recommendation model ${id} does not exist.` })
const untrained = { status: "new", trained_at: null, metrics: null } as const
const fieldsOf = ({ collection, name, params, type }: ModelBody) => ({
  name: name.trim(),
  collection,
  type,
  params: withDefaults(type, params)
})

/** The cached rows, by organization and id. */
const makeTable = Effect.gen(function* () {
  const configuration = yield* Configuration
  const repository = yield* makeModelsRepository
  const organizations = new Map<string, Map<string, StoredModel>>()
  yield* configuration.keep(KIND, (subjects) =>
    Effect.map(repository.read(subjects), (rows) => {
      if (subjects === "all") organizations.clear()
      else for (const { id, organizationId } of subjects) organizations.get(organizationId)?.delete(id)
      for (const row of rows) {
        let own = organizations.get(row.organization_id)
        if (own === undefined) organizations.set(row.organization_id, (own = new Map()))
        own.set(row.id, row)
      }
    })
  )
  const find: ModelsShape["find"] = (organizationId, id) => organizations.get(organizationId)?.get(id)
  const list: ModelsShape["list"] = (organizationId) =>
    [...(organizations.get(organizationId)?.values() ?? [])].sort((a, b) => (a.id < b.id ? -1 : 1))
  return { find, list }
})

const makeWrites = Effect.fnUntraced(function* (find: ModelsShape["find"]) {
  const configuration = yield* Configuration
  const entitlements = yield* Entitlements
  const identifiers = yield* Identifiers
  const repository = yield* makeModelsRepository
  const written = <A, E extends { readonly _tag: string }>(
    organizationId: string,
    id: string,
    change: Effect.Effect<A, E | SqlError.SqlError>
  ) => stored(configuration.write({ kind: KIND, organizationId, id }, change))
  /** Rules that name it would find nothing, or documents of another collection. */
  const unused = Effect.fnUntraced(function* (organizationId: string, id: string) {
    yield* repository.lock(organizationId)
    const collections = yield* repository.usedBy(organizationId, id)
    const experiments = yield* repository.shownBy(organizationId, id)
    if (collections.length + experiments.length === 0) return
    const users = [...collections.map((name) => `\`${name}\``), ...experiments.map((one) => `the experiment ${one}`)]
    return yield* new RecommendationModelInUse({
      message: `The model ${id} is named by the search rules of ${users.join(", ")}.`,
      collections,
      experiments
    })
  })
  const create: ModelsShape["create"] = Effect.fn("RecommendationModels.create")(function* (organizationId, body) {
    const id = yield* identifiers.make("rec")
    const now = yield* Clock.currentTimeMillis
    const model: StoredModel = {
      id,
      organization_id: organizationId,
      ...fieldsOf(body),
      ...untrained,
      created_at: now,
      updated_at: now
    }
    const change = Effect.gen(function* () {
      yield* repository.lock(organizationId)
      const count = yield* repository.count(organizationId)
      yield* entitlements.requireRoom(organizationId, "recommendation_models", count + 1)
      yield* repository.put(model)
      return model
    })
    return yield* written(organizationId, id, change)
  })
  const replace: ModelsShape["replace"] = Effect.fn("RecommendationModels.replace")(
    function* (organizationId, id, body) {
      const before = find(organizationId, id)
      if (before === undefined) return yield* modelMissing(id)
      const fields = fieldsOf(body)
      const isSame =
        fields.type === before.type &&
        fields.collection === before.collection &&
        isDeepStrictEqual(fields.params, before.params)
      const updated_at = Math.max(before.updated_at + 1, yield* Clock.currentTimeMillis)
      const model: StoredModel = { ...before, ...fields, ...(isSame ? {} : untrained), updated_at }
      const change = Effect.gen(function* () {
        if (fields.collection !== before.collection) yield* unused(organizationId, id)
        yield* repository.put(model)
        return model
      })
      return yield* written(organizationId, id, change)
    }
  )
  const remove: ModelsShape["remove"] = Effect.fn("RecommendationModels.remove")(function* (organizationId, id) {
    if (find(organizationId, id) === undefined) return yield* modelMissing(id)
    const removal = Effect.andThen(unused(organizationId, id), repository.remove(organizationId, id))
    yield* written(organizationId, id, removal)
    return { id }
  })
  /** Called when a model is deleted together with its collection, and so with the rules that could name it. */
  const drop = (organizationId: string, id: string) =>
    written(organizationId, id, repository.remove(organizationId, id))
  const hold: ModelsShape["hold"] = (organizationId, id) =>
    Effect.andThen(repository.lock(organizationId), repository.exists(organizationId, id))
  const storeResult: ModelsShape["storeResult"] = Effect.fnUntraced(function* (organizationId, id, status, metrics) {
    const at = metrics === null ? null : yield* Clock.currentTimeMillis
    yield* written(organizationId, id, repository.storeResult(organizationId, id, status, metrics, at))
  })
  return { create, replace, remove, drop, hold, storeResult }
})

const make = Effect.gen(function* () {
  const { find, list } = yield* makeTable
  const writes = yield* makeWrites(find)
  yield* (yield* CollectionDrops).register((organizationId, collection) =>
    Effect.forEach(
      list(organizationId).filter((model) => model.collection === collection),
      ({ id }) => writes.drop(organizationId, id),
      { discard: true }
    )
  )
  const { create, hold, remove, replace, storeResult } = writes
  return RecommendationModels.of({ find, list, create, hold, remove, replace, storeResult })
})

export class RecommendationModels extends Context.Service<RecommendationModels, ModelsShape>()(
  "dowser/recommendations/RecommendationModels"
) {
  static readonly layer: Layer.Layer<
    RecommendationModels,
    never,
    CollectionDrops | Configuration | Entitlements | Identifiers | SqlClient.SqlClient
  > = Layer.effect(
    RecommendationModels,
    Effect.suspend(() => make)
  )
}
