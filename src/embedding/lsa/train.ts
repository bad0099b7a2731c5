/**
 * Trains a collection's model: its documents are sent to a thread in batches, the result is stored, and the
 * collection's own field is created from it. Then every document gets its vector (`fills.ts`).
 */
import { resolveCollection } from "@dowser/engine-sdk/operations"
import { Clock, Effect } from "effect"
import { makeContexts } from "../../engine-plane/engine-plane.ts"
import { makeCollectionDocuments } from "../../jobs/collection-documents.ts"
import { startedThread, threadAnswer } from "../../jobs/job-thread.ts"
import { JobFailed } from "../../jobs/job-worker.ts"
import { hashOf, LSA_NAME } from "../../ports/text-embedder/lsa/model.ts"
import { makeOwnField, ownFieldOf, sourcesOf } from "../own-field.ts"
import type { ToTrainer, TrainedBytes } from "./messages.ts"
import { makeModelsRepository } from "./models-repository.ts"

/** Limit of documents used; of more, every second, third, … is taken. */
const LEARNED_MAX = 50_000
const READ_MAX = 1_000_000
const HEAP_MB = 768
const TIME_MS = 15 * 60_000

export const makeTrain = Effect.gen(function* () {
  const contextOf = yield* makeContexts
  const documents = yield* makeCollectionDocuments
  const putField = yield* makeOwnField
  const repository = yield* makeModelsRepository

  const trained = Effect.fnUntraced(function* (
    organizationId: string,
    collection: string,
    report: (progress: number) => Effect.Effect<void>
  ) {
    const info = resolveCollection(contextOf(organizationId), collection)
    if (info === undefined) return yield* new JobFailed({ message: "The collection was deleted." })
    const from = sourcesOf(info.schema)
    const thread = yield* startedThread<ToTrainer>(new URL("./trainer-worker.ts", import.meta.url), HEAP_MB)
    yield* threadAnswer(() => thread.ask({ kind: "begin", from }))
    const step = Math.max(1, Math.ceil(info.num_documents / LEARNED_MAX))
    let seen = 0
    yield* documents({ organizationId, collection, fields: from, documentsMax: READ_MAX }, (lines, read) => {
      const learned = lines.filter(() => seen++ % step === 0)
      const given =
        learned.length === 0
          ? Effect.void
          : threadAnswer(() => thread.ask({ kind: "documents", lines: learned.join("\n") }))
      return Effect.andThen(given, report(Math.min(1, read / Math.max(1, info.num_documents))))
    })
    return yield* threadAnswer(() => thread.ask<TrainedBytes>({ kind: "train" }))
  })

  return {
    /** Returns the model's hash. `language` is that of the collection, if given. */
    train: Effect.fnUntraced(function* (
      organizationId: string,
      collection: string,
      language: string | undefined,
      report: (progress: number) => Effect.Effect<void>
    ) {
      const { bytes, characters } = yield* Effect.timeoutOrElse(
        Effect.scoped(trained(organizationId, collection, report)),
        {
          duration: TIME_MS,
          orElse: () => Effect.fail(new JobFailed({ message: "The training took more than 15 minutes." }))
        }
      )
      const info = resolveCollection(contextOf(organizationId), collection)
      if (info === undefined) return yield* new JobFailed({ message: "The collection was deleted." })
      const hash = hashOf(bytes)
      yield* Effect.orDie(
        Effect.flatMap(Clock.currentTimeMillis, (now) => repository.put(organizationId, collection, hash, bytes, now))
      )
      const config = {
        model_name: LSA_NAME,
        model_version: hash,
        documents: info.num_documents,
        characters,
        ...(language === undefined ? {} : { language })
      }
      const refusal = yield* putField(organizationId, info.schema, config)
      if (refusal !== undefined) return yield* new JobFailed({ message: refusal })
      return hash
    }),
    /** Removes models that the collection's field does not use: earlier ones, or all if it is of another kind. */
    forget: Effect.fnUntraced(function* (organizationId: string, collection: string) {
      const info = resolveCollection(contextOf(organizationId), collection)
      const pin = info === undefined ? undefined : ownFieldOf(info.schema)?.pin
      yield* repository.removeOthers(organizationId, collection, pin ?? "")
    })
  }
})
