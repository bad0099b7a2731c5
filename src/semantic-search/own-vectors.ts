/**
 * Which field of a collection holds vectors of its documents: one that its owner declared, or one added to its schema,
 * which is created on first use and again when the organization names another model.
 */
import { Clock, Context, Effect, Layer } from "effect"
import type { CollectionInfo, CollectionSchema } from "@dowser/engine-sdk"
import { type EmbeddingField, embeddingFieldsOf, type ModelConfig } from "@dowser/engine-sdk/embedding"
import { AiProviders } from "../ai-providers/ai-providers.ts"
import { CurrentEmbedder, DEFAULT_MODEL, type Embeddings } from "../ports/embedder/embedder.ts"
import { LSA_NAME } from "../ports/text-embedder/lsa/model.ts"
import { INSTALL, ModelBusy, ModelFailed, ModelNotInstalled } from "../embedding/errors.ts"
import { EmbeddingFills } from "../embedding/fills.ts"
import { isOwn, makeOwnField, ownFieldOf, sourcesOf } from "../embedding/own-field.ts"
import { makeContexts } from "../engine-plane/engine-plane.ts"
import type { CatalogResources } from "../engine-plane/resources.ts"
import type { Entitlements } from "../metering/entitlements.ts"
import type { Engine } from "../ports/engine/engine.ts"
import { firstChoice, nextChoice } from "./choice.ts"
import { makeCollectionLanguage } from "./collection-language.ts"
import { VectorsNotReady } from "./errors.ts"
import { AGAIN_MS, type FilledField, notMade, type NotReady, notReady, withoutText } from "./not-ready.ts"
import { makeTrainedField } from "./trained-field.ts"

const RETRY_AFTER_S = 5

const isSame = (a: ModelConfig, b: ModelConfig): boolean =>
  a.model_name === b.model_name && a.url === b.url && a.dimensions === b.dimensions

const isUsable = (model: ModelConfig, embedder: Embeddings | undefined): Effect.Effect<void, NotReady> => {
  const name = String(model.model_name)
  const missing = (message: string) => Effect.fail(new ModelNotInstalled({ message, setting: INSTALL }))
  if (embedder === undefined || !embedder.isKnown(model)) return missing(`There is no model \`${name}\` here.`)
  if (!embedder.isEmbedded(model)) return Effect.void
  const state = embedder.state(name)
  if (state === "absent") return missing(`The model \`${name}\` is not installed: run \`${INSTALL}\`.`)
  return state === "installing"
    ? Effect.fail(new ModelBusy({ message: `The model \`${name}\` is being installed.`, retry_after_s: RETRY_AFTER_S }))
    : Effect.void
}

/** Adds the field, or replaces another model's; existing documents get their vectors by a job. */
const makeField = Effect.gen(function* () {
  const contextOf = yield* makeContexts
  const fills = yield* EmbeddingFills
  const embedder = yield* CurrentEmbedder
  const putField = yield* makeOwnField
  return Effect.fnUntraced(function* (organizationId: string, { schema }: CollectionInfo, model: ModelConfig) {
    if (sourcesOf(schema).length === 0) return yield* withoutText(schema)
    // Checked before anything is changed: whether the model can compute vectors at all.
    yield* isUsable(model, embedder)
    const had = ownFieldOf(schema) !== undefined
    const refusal = yield* putField(organizationId, schema, model)
    if (refusal !== undefined) return yield* new ModelFailed({ message: refusal })
    const now = contextOf(organizationId).engine.describeCollection(organizationId, schema.name)
    if (now !== undefined && now.num_documents > 0) {
      const { id } = yield* fills.start(organizationId, schema.name, had)
      return yield* new VectorsNotReady({ message: notReady(schema.name), job_id: id })
    }
    return ownFieldOf(now?.schema ?? schema)!
  })
})
/** Returns the field once its job is done; a request after a failed job starts another one. */
const makeFilled = Effect.gen(function* () {
  const fills = yield* EmbeddingFills
  const ready = new WeakSet<CollectionSchema>()
  const isDone = Effect.fnUntraced(function* (organizationId: string, schema: CollectionSchema) {
    if (ready.has(schema)) return true
    const job = yield* fills.newest(organizationId, schema.name)
    const isReady = job === undefined || job.status === "ready"
    if (isReady) ready.add(schema)
    return isReady
  })
  const filled = Effect.fnUntraced(function* (organizationId: string, field: EmbeddingField, schema: CollectionSchema) {
    if (ready.has(schema)) return field
    const job = yield* fills.newest(organizationId, schema.name)
    if (job === undefined || job.status === "ready") {
      ready.add(schema)
      return field
    }
    if (job.finished_at === undefined)
      return yield* new VectorsNotReady({ message: notReady(schema.name), job_id: job.id })
    if (job.status === "failed" && (yield* Clock.currentTimeMillis) - job.finished_at < AGAIN_MS)
      return yield* new ModelFailed({ message: notMade(schema.name, job.error) })
    const { id } = yield* fills.start(organizationId, schema.name, false)
    return yield* new VectorsNotReady({ message: notReady(schema.name), job_id: id })
  })
  return { filled, isDone }
})

/** Vectors of a trained model; undefined if the configured model should compute them. */
const makeByDefault = Effect.gen(function* () {
  const embedder = yield* CurrentEmbedder
  const languageIn = yield* makeCollectionLanguage
  const trained = yield* makeTrainedField
  return Effect.fnUntraced(function* (organizationId: string, collection: CollectionInfo, { model_name }: ModelConfig) {
    const field = ownFieldOf(collection.schema)
    const isTrained = field?.model.model_name === LSA_NAME
    if (embedder === undefined || (field !== undefined && !isTrained)) return undefined
    const name = String(model_name)
    const installed = { model: embedder.models().find((each) => each.name === name), state: embedder.state(name) }
    if (isTrained) {
      const language = typeof field.model.language === "string" ? field.model.language : undefined
      return nextChoice(installed, language) === "trained"
        ? yield* trained(organizationId, collection, field)
        : undefined
    }
    const language = yield* languageIn(organizationId, collection.schema)
    return firstChoice(installed, language) === "trained"
      ? yield* trained(organizationId, collection, undefined, language)
      : undefined
  })
})

export class OwnVectors extends Context.Service<
  OwnVectors,
  {
    /** Existing vectors; undefined if they would have to be computed first. Cost: a look-up in the schema. */
    readonly known: (organizationId: string, collection: CollectionInfo) => Effect.Effect<FilledField | undefined>
    /** Cost if they are ready: a look-up in the schema. */
    readonly of: (organizationId: string, collection: CollectionInfo) => Effect.Effect<FilledField, NotReady>
  }
>()("dowser/semantic-search/OwnVectors") {
  static readonly layer: Layer.Layer<
    OwnVectors,
    never,
    AiProviders | CatalogResources | EmbeddingFills | Engine | Entitlements
  > = Layer.effect(
    OwnVectors,
    Effect.gen(function* () {
      const providers = yield* AiProviders
      const embedder = yield* CurrentEmbedder
      const made = yield* makeField
      const { filled, isDone } = yield* makeFilled
      const byDefault = yield* makeByDefault
      const ofModel = (organizationId: string, collection: CollectionInfo, model: ModelConfig) => {
        const field = ownFieldOf(collection.schema)
        return Effect.map(
          field === undefined || !isSame(field.model, model) || field.pin !== embedder?.pinOf(model)
            ? made(organizationId, collection, model)
            : filled(organizationId, field, collection.schema),
          (ready): FilledField => ({ field: ready, isFilled: true })
        )
      }
      const declaredIn = ({ schema }: CollectionInfo) =>
        embeddingFieldsOf(schema).find((each) => !isOwn(each) && embedder?.kindOf(each.model) === "text")
      return OwnVectors.of({
        known: Effect.fnUntraced(function* (organizationId, collection) {
          const declared = declaredIn(collection)
          if (declared !== undefined) return { field: declared, isFilled: true }
          const field = ownFieldOf(collection.schema)
          if (field === undefined || field.pin !== embedder?.pinOf(field.model)) return undefined
          return (yield* isDone(organizationId, collection.schema)) ? { field, isFilled: true } : undefined
        }),
        of: Effect.fnUntraced(function* (organizationId, collection) {
          const declared = declaredIn(collection)
          if (declared !== undefined) return { field: declared, isFilled: true }
          const model = providers.embeddingModel(organizationId)
          const own =
            model.model_name === DEFAULT_MODEL ? yield* byDefault(organizationId, collection, model) : undefined
          return own ?? (yield* ofModel(organizationId, collection, model))
        })
      })
    })
  )
}
