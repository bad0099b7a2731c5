/**
 * Which field of a collection holds vectors of what its documents say: one that its owner declared, or one beside its
 * schema, which is made when it is first asked for and made anew when the organization names another model.
 */
import { Clock, Context, Effect, Layer } from "effect"
import type { CollectionInfo, CollectionSchema } from "@dowser/engine-sdk"
import { type EmbeddingField, embeddingFieldsOf, type ModelConfig, OWN_VECTORS } from "@dowser/engine-sdk/embedding"
import { updateCollection } from "@dowser/engine-sdk/operations"
import { AiProviders } from "../ai-providers/ai-providers.ts"
import { CurrentEmbedder, type Embeddings } from "../ports/embedder/embedder.ts"
import { INSTALL, ModelBusy, ModelFailed, ModelNotInstalled } from "../embedding/errors.ts"
import { EmbeddingFills } from "../embedding/fills.ts"
import { makeContexts } from "../engine-plane/engine-plane.ts"
import type { CatalogResources } from "../engine-plane/resources.ts"
import { Conflict } from "../http/errors.ts"
import type { Entitlements } from "../metering/entitlements.ts"
import type { Engine } from "../ports/engine/engine.ts"
import { VectorsNotReady } from "./errors.ts"

/** More say nothing that a model would still read. */
const SOURCES_MAX = 20
/** A job that failed is begun again by who asks after that long. */
const AGAIN_MS = 60_000
const RETRY_AFTER_S = 5

type NotReady = Conflict | ModelBusy | ModelFailed | ModelNotInstalled | VectorsNotReady
const isOwn = ({ field }: EmbeddingField): boolean => field.name === OWN_VECTORS

/** Texts that are searched, then texts that are counted: what is read first is what a document is called. */
export const sourcesOf = ({ fields }: CollectionSchema): ReadonlyArray<string> => {
  const texts = fields.filter(
    ({ index, name, type }) => index && name !== "id" && (type === "string" || type === "string[]")
  )
  return [...texts.filter(({ facet }) => !facet), ...texts.filter(({ facet }) => facet)]
    .slice(0, SOURCES_MAX)
    .map(({ name }) => name)
}
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

/** The field is added, or another model's is replaced; what is there gets its vectors by a job. */
const makeField = Effect.gen(function* () {
  const contextOf = yield* makeContexts
  const fills = yield* EmbeddingFills
  const embedder = yield* CurrentEmbedder
  return Effect.fnUntraced(function* (organizationId: string, { schema }: CollectionInfo, model: ModelConfig) {
    const from = sourcesOf(schema)
    if (from.length === 0)
      return yield* new Conflict({ message: `\`${schema.name}\` has no field of text to make vectors of.` })
    // Before anything is changed: whether the model could make vectors at all.
    yield* isUsable(model, embedder)
    const had = own(schema) !== undefined
    const fields = [
      ...(had ? [{ name: OWN_VECTORS, drop: true }] : []),
      { name: OWN_VECTORS, type: "float[]", optional: true, embed: { from, model_config: model } }
    ]
    const context = contextOf(organizationId)
    const altered = yield* Effect.promise(() => updateCollection(context, schema.name, JSON.stringify({ fields })))
    if (!altered.ok) return yield* new ModelFailed({ message: altered.error.message })
    const now = context.engine.describeCollection(organizationId, schema.name)
    if (now !== undefined && now.num_documents > 0) {
      const { id } = yield* fills.start(organizationId, schema.name, had)
      return yield* new VectorsNotReady({ message: notReady(schema.name), job_id: id })
    }
    return own(now?.schema ?? schema)!
  })
})
/** The field once its job is done; whoever asks after one that failed begins another. */
const makeFilled = Effect.gen(function* () {
  const fills = yield* EmbeddingFills
  const ready = new WeakSet<CollectionSchema>()
  return Effect.fnUntraced(function* (organizationId: string, field: EmbeddingField, schema: CollectionSchema) {
    if (ready.has(schema)) return field
    const job = yield* fills.newest(organizationId, schema.name)
    if (job === undefined || job.status === "ready") {
      ready.add(schema)
      return field
    }
    if (job.finished_at === undefined)
      return yield* new VectorsNotReady({ message: notReady(schema.name), job_id: job.id })
    if (job.status === "failed" && (yield* Clock.currentTimeMillis) - job.finished_at < AGAIN_MS)
      return yield* new ModelFailed({
        message: `The vectors of \`${schema.name}\` could not be made: ${job.error ?? "unexpected error"}`
      })
    const { id } = yield* fills.start(organizationId, schema.name, false)
    return yield* new VectorsNotReady({ message: notReady(schema.name), job_id: id })
  })
})

export class OwnVectors extends Context.Service<
  OwnVectors,
  {
    /** Cost where they are ready: a look into the schema. */
    readonly of: (organizationId: string, collection: CollectionInfo) => Effect.Effect<EmbeddingField, NotReady>
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
      const filled = yield* makeFilled
      return OwnVectors.of({
        of: (organizationId, collection) =>
          Effect.suspend((): Effect.Effect<EmbeddingField, NotReady> => {
            const { schema } = collection
            const declared = embeddingFieldsOf(schema).find(
              (each) => !isOwn(each) && embedder?.kindOf(each.model) === "text"
            )
            if (declared !== undefined) return Effect.succeed(declared)
            const field = own(schema)
            const model = providers.embeddingModel(organizationId)
            return field === undefined || !isSame(field.model, model) || field.pin !== embedder?.pinOf(model)
              ? made(organizationId, collection, model)
              : filled(organizationId, field, schema)
          })
      })
    })
  )
}
const own = (schema: CollectionSchema) => embeddingFieldsOf(schema).find(isOwn)
const notReady = (name: string) => `The vectors of \`${name}\` are being made; ask again when the job is done.`
