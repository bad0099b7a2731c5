/**
 * Adds vectors to documents that existed before their field: a job walks through the collection and has each document
 * embedded, in small writes alongside all other work. A restarted job begins with the first document; documents
 * embedded by then cost a look-up, unless all are to be recomputed because documents may hold vectors of another model.
 */
import { Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import type { CollectionSchema, EngineError, WriteOperation } from "@dowser/engine-sdk"
import { embeddingFieldsOf } from "@dowser/engine-sdk/embedding"
import type { Identifiers } from "@dowser/log/identifiers"
import type { RowReaders } from "../identity/row-readers.ts"
import type { Installation } from "../installation.ts"
import { type ClaimedJob, type JobEnd, JobFailed, makeJobWorker } from "../jobs/job-worker.ts"
import { makeJobStarter } from "../jobs/jobs.ts"
import type { Job } from "../jobs/schema.ts"
import { CollectionChanges } from "../engine-plane/collection-changes.ts"
import { CollectionDrops } from "../engine-plane/collection-drops.ts"
import type { CatalogResources } from "../engine-plane/resources.ts"
import type { Entitlements } from "../metering/entitlements.ts"
import { Engine, OwnsEngine } from "../ports/engine/engine.ts"
import { makeModelsRepository } from "./lsa/models-repository.ts"
import { makeTrain } from "./lsa/train.ts"

const FILL = "embedding"
/** Documents per write: some tenths of a second of a model's time, for which others wait. */
const PAGE = 64
const WAIT_S = 5
/** Waits before the job fails: ten minutes without a successful write, because the server is down or the queue full. */
const WAITS_MAX = 120

interface Fill extends Readonly<Record<string, unknown>> {
  readonly collection: string
  /** Also recomputes existing vectors. */ readonly again: boolean
  /** A model is trained on the collection first. */ readonly training?: Training
}
export interface Training {
  /** Language of the collection, if given. */ readonly language: string | undefined
  /** The model of the existing vectors; undefined if there are none. */ readonly instead_of: string | undefined
}

export class EmbeddingFills extends Context.Service<
  EmbeddingFills,
  {
    /** Returns the job that fills the collection: the waiting or running one, or a new one. */
    readonly start: (organizationId: string, collection: string, again: boolean) => Effect.Effect<Job>
    /** Like `start`, but trains a model on the collection first. */
    readonly train: (organizationId: string, collection: string, training: Training) => Effect.Effect<Job>
    /** The collection's newest job, finished or not; undefined if there is none any more. */
    readonly newest: (organizationId: string, collection: string) => Effect.Effect<Job | undefined>
  }
>()("dowser/embedding/EmbeddingFills") {
  static readonly layer: Layer.Layer<
    EmbeddingFills,
    never,
    | CatalogResources
    | CollectionChanges
    | CollectionDrops
    | Engine
    | Entitlements
    | Identifiers
    | Installation
    | RowReaders
    | SqlClient.SqlClient
  > = Layer.effect(
    EmbeddingFills,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const jobs = yield* makeJobStarter
      const wake = (yield* OwnsEngine) ? (yield* makeJobWorker({ type: FILL, run: yield* makeFill })).wake : Effect.void
      const of = (organizationId: string, collection: string) =>
        sql<{ readonly id: string }>`SELECT id FROM jobs WHERE organization_id = ${organizationId} AND type = ${FILL}
          AND config->>'collection' = ${collection} ORDER BY id DESC LIMIT 1`
      const newest = (organizationId: string, collection: string) =>
        Effect.flatMap(of(organizationId, collection), ([row]) =>
          row === undefined ? Effect.succeed(undefined) : jobs.get(organizationId, row.id)
        )
      const begun = (organizationId: string, collection: string, again: boolean, training?: Training) =>
        sql.withTransaction(
          Effect.gen(function* () {
            yield* sql`SELECT pg_advisory_xact_lock(hashtextextended(${`embedding of ${organizationId} ${collection}`}, 0))`
            const before = yield* newest(organizationId, collection)
            if (before !== undefined && before.finished_at === undefined && before.config.again === again) return before
            const config: Fill = { collection, again, ...(training === undefined ? {} : { training }) }
            return yield* jobs.start(organizationId, FILL, config, () => Effect.void)
          })
        )
      const orDie = <A>(effect: Effect.Effect<A, SqlError.SqlError>) => Effect.orDie(effect)
      const start = (organizationId: string, collection: string, again: boolean) =>
        Effect.tap(orDie(begun(organizationId, collection, again)), () => wake)
      const train = (organizationId: string, collection: string, training: Training) =>
        Effect.tap(orDie(begun(organizationId, collection, true, training)), () => wake)
      const models = yield* makeModelsRepository
      yield* (yield* CollectionDrops).register((organizationId, collection) =>
        Effect.orDie(Effect.asVoid(models.removeOthers(organizationId, collection, "")))
      )
      yield* (yield* CollectionChanges).register(({ after, before, organizationId }) =>
        after.num_documents > 0 && hasNewEmbeddings(before, after.schema)
          ? start(organizationId, after.schema.name, true)
          : Effect.void
      )
      return EmbeddingFills.of({
        newest: (organizationId, collection) => orDie(newest(organizationId, collection)),
        start,
        train
      })
    })
  )
}

/** Whether the field's vectors are now computed from other texts, or by another model, than before. */
const hasNewEmbeddings = (before: CollectionSchema | undefined, after: CollectionSchema): boolean => {
  const keysOf = (schema: CollectionSchema) =>
    embeddingFieldsOf(schema).map(({ field, from, model, pin }) =>
      JSON.stringify([field.name, from, model.model_name, model.url, pin])
    )
  const known = new Set(before === undefined ? [] : keysOf(before))
  return keysOf(after).some((each) => !known.has(each))
}

const passes = ({ kind }: EngineError): boolean =>
  kind === "Overloaded" || kind === "Unavailable" || kind === "TimedOut"
const touch = (id: string, again: boolean): WriteOperation => ({
  kind: "put",
  action: again ? "upsert" : "update",
  dirtyValues: undefined,
  document: { id },
  ...(again ? { rewrite: true } : {})
})

const makeWritten = Effect.gen(function* () {
  const engine = yield* Engine
  /** Documents that failed for a transient reason are retried; permanent problems are reported. */
  return Effect.fnUntraced(function* (
    organizationId: string,
    { again: isAgain, collection }: Fill,
    ids: ReadonlyArray<string>
  ) {
    let left = ids
    const failures: Array<{ readonly id: string; readonly error: string }> = []
    for (let waited = 0; left.length > 0; waited++) {
      const asked = left
      const answer = yield* Effect.promise(() =>
        engine.write(
          organizationId,
          collection,
          asked.map((id) => touch(id, isAgain))
        )
      )
      if (!answer.ok && !passes(answer.error)) return yield* new JobFailed({ message: answer.error.message })
      const again: string[] = []
      let reason = answer.ok ? "" : answer.error.message
      asked.forEach((id, i) => {
        const result = answer.ok ? answer.value[i]!.result : answer
        if (result.ok || result.error.kind === "NotFound") return
        if (!passes(result.error)) return void failures.push({ id, error: result.error.message })
        reason = result.error.message
        again.push(id)
      })
      if (again.length < left.length) waited = 0
      left = again
      if (left.length === 0) break
      if (waited >= WAITS_MAX) return yield* new JobFailed({ message: reason })
      yield* Effect.sleep(WAIT_S * 1_000)
    }
    return failures
  })
})

/** For a job that trains: the share of its progress that training takes. */
const TRAINING_SHARE = 0.5

const makeFill = Effect.gen(function* () {
  const engine = yield* Engine
  const written = yield* makeWritten
  const { forget, train } = yield* makeTrain
  return Effect.fnUntraced(function* (
    job: ClaimedJob,
    report: (progress: number) => Effect.Effect<void>
  ): Effect.fn.Return<JobEnd, JobFailed> {
    const fill = job.config as Fill
    const { collection, training } = fill
    const { organizationId } = job
    const trainedPart = training === undefined ? 0 : TRAINING_SHARE
    const model =
      training === undefined
        ? undefined
        : yield* train(organizationId, collection, training.language, (done) => report(done * trainedPart))
    const total = engine.describeCollection(organizationId, collection)?.num_documents ?? 0
    const errors: Array<{ readonly id: string; readonly error: string }> = []
    let after: number | undefined
    let seen = 0
    let failed = 0
    do {
      const at = after
      const page = yield* Effect.promise(async () =>
        engine.scan(organizationId, {
          collection,
          filter: undefined,
          limit: PAGE,
          selection: { include: ["id"], exclude: [], joins: [] },
          ...(at === undefined ? {} : { after: at })
        })
      )
      if (!page.ok) return yield* new JobFailed({ message: page.error.message })
      const failures = yield* written(organizationId, fill, page.value.ids)
      failed += failures.length
      // If every document fails, the problem is the model's.
      if (failures.length > 0 && failures.length === page.value.ids.length && failed === seen + failures.length)
        return yield* new JobFailed({ message: failures[0]!.error })
      errors.push(...failures.slice(0, ERRORS_KEPT - errors.length))
      seen += page.value.ids.length
      after = page.value.next
      yield* report(trainedPart + (1 - trainedPart) * (total === 0 ? 1 : Math.min(1, seen / total)))
    } while (after !== undefined)
    return {
      result: { documents: seen, failed, errors, ...(model === undefined ? {} : { model }) },
      alongside: forget(organizationId, collection)
    }
  })
})
const ERRORS_KEPT = 100
