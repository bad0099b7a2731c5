/**
 * The field with vectors of a model trained on the collection itself. Once the number of documents has changed by a
 * tenth, another model is trained while this one is used; from the creation of the first field until every document has
 * its vector, searches use only words.
 */
import { Clock, Effect } from "effect"
import type { CollectionInfo, CollectionSchema } from "@dowser/engine-sdk"
import type { EmbeddingField } from "@dowser/engine-sdk/embedding"
import { ModelFailed } from "../embedding/errors.ts"
import { EmbeddingFills, type Training } from "../embedding/fills.ts"
import { sourcesOf } from "../embedding/own-field.ts"
import type { Job } from "../jobs/schema.ts"
import { VectorsNotReady } from "./errors.ts"
import { AGAIN_MS, type FilledField, notMade, notReady, withoutText } from "./not-ready.ts"

/** Relative to the documents that a model was trained on: a larger change triggers a new training. */
const GROWN_SHARE = 0.1
/** Pause between two trainings: longer for larger collections, so that a long import is not spent on training. */
const REST_MS = 10_000,
  REST_MS_A_DOCUMENT = 10,
  REST_MS_MAX = 10 * 60_000
/** How often a growing collection is checked. */
const LOOK_MS = 5_000

export const hasGrown = (trainedOn: unknown, documents: number): boolean => {
  const before = typeof trainedOn === "number" ? trainedOn : 0
  return Math.abs(documents - before) > GROWN_SHARE * before
}
const restOf = (documents: number): number => Math.min(REST_MS_MAX, REST_MS + REST_MS_A_DOCUMENT * documents)
const isUnderWay = ({ finished_at }: Job): boolean => finished_at === undefined
const trainingOf = (job: Job): Training | undefined => job.config.training as Training | undefined

/** The first model of a collection, which has none to answer with meanwhile. */
const makeFirst = Effect.gen(function* () {
  const fills = yield* EmbeddingFills
  return Effect.fnUntraced(function* (organizationId: string, schema: CollectionSchema, language: string | undefined) {
    if (sourcesOf(schema).length === 0) return yield* withoutText(schema)
    const newest = yield* fills.newest(organizationId, schema.name)
    const now = yield* Clock.currentTimeMillis
    const failed = newest?.status === "failed" && newest.finished_at !== undefined ? newest.finished_at : -Infinity
    if (now - failed < AGAIN_MS) return yield* new ModelFailed({ message: notMade(schema.name, newest?.error) })
    const job =
      newest !== undefined && isUnderWay(newest)
        ? newest
        : yield* fills.train(organizationId, schema.name, { language, instead_of: undefined })
    return yield* new VectorsNotReady({ message: notReady(schema.name), job_id: job.id })
  })
})

export const makeTrainedField = Effect.gen(function* () {
  const fills = yield* EmbeddingFills
  const first = yield* makeFirst
  const ready = new WeakSet<CollectionSchema>()
  const looked = new WeakMap<CollectionSchema, number>()

  const trainedAnew = Effect.fnUntraced(function* (
    organizationId: string,
    { num_documents, schema }: CollectionInfo,
    { model, pin }: EmbeddingField
  ) {
    if (!hasGrown(model.documents, num_documents)) return
    const now = yield* Clock.currentTimeMillis
    if (now - (looked.get(schema) ?? -Infinity) < LOOK_MS) return
    looked.set(schema, now)
    const newest = yield* fills.newest(organizationId, schema.name)
    const finished = newest === undefined ? -Infinity : (newest.finished_at ?? now)
    if (now - finished < restOf(num_documents)) return
    const language = typeof model.language === "string" ? model.language : undefined
    yield* fills.train(organizationId, schema.name, { language, instead_of: pin })
  })

  /** `field`: the existing one. */
  return Effect.fnUntraced(function* (
    organizationId: string,
    collection: CollectionInfo,
    field: EmbeddingField | undefined,
    language?: string
  ) {
    const { schema } = collection
    if (field === undefined) return yield* first(organizationId, schema, language)
    yield* trainedAnew(organizationId, collection, field)
    if (ready.has(schema)) return { field, isFilled: true } satisfies FilledField
    const newest = yield* fills.newest(organizationId, schema.name)
    if (newest === undefined || newest.status === "ready") {
      ready.add(schema)
      return { field, isFilled: true } satisfies FilledField
    }
    const before = trainingOf(newest)?.instead_of
    // The earlier model answers until the new one's field is ready.
    if (before === field.pin || (before !== undefined && isUnderWay(newest)))
      return { field, isFilled: before === field.pin } satisfies FilledField
    if (isUnderWay(newest)) return yield* new VectorsNotReady({ message: notReady(schema.name), job_id: newest.id })
    if ((yield* Clock.currentTimeMillis) - newest.finished_at! < AGAIN_MS)
      return yield* new ModelFailed({ message: notMade(schema.name, newest.error) })
    const { id } = yield* fills.start(organizationId, schema.name, true)
    return yield* new VectorsNotReady({ message: notReady(schema.name), job_id: id })
  })
})
