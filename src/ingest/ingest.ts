/**
 * Ingest jobs. A reindex reads every document in insertion order and writes it back, so that changed field mappings are
 * picked up; it stores its cursor after each batch and goes on from there after a restart. Searches go on meanwhile.
 *
 * States (spec part 3): queued → importing → ready | failed; cancelled from any of the first two by the caller.
 */
import type { WriteAction } from "@dowser/engine-sdk"
import { Clock, Context, Effect, FiberMap, Layer, Semaphore } from "effect"
import { SqlClient } from "effect/sql"
import { makeAuditRecorder } from "../audit/record.ts"
import { Engine, EngineAbsence } from "../ports/engine/engine.ts"
import { Identifiers } from "@dowser/log/identifiers"
import { CollectionMissing, JobNotFound, ReindexInProgress } from "./errors.ts"
import { makeJobsRepository, type StoredJob } from "./jobs-repository.ts"
import { type IngestJob, isTerminal, jobErrorsMax } from "./schema.ts"
import type { RowReaders } from "../audit/subjects.ts"

/** A pattern of a key (`collectionMatches`) as Postgres reads it. */
const likeOf = (pattern: string): string =>
  pattern === "*"
    ? "%"
    : pattern
        .split(".*")
        .map((part) => part.replace(/[\\%_]/g, "\\$&"))
        .join("%")
/** Documents read and written at once. */
const batchSize = 500
/** Jobs at work at the same time, over all organizations; further ones wait in `queued`. */
const workersMax = 2
/** A batch that the engine cannot take is tried this often (spec part 8). */
const attemptsMax = 5

export class Ingest extends Context.Service<
  Ingest,
  {
    readonly reindex: (
      organizationId: string,
      collection: string,
      action: WriteAction
    ) => Effect.Effect<IngestJob, CollectionMissing | ReindexInProgress>
    readonly get: (organizationId: string, id: string) => Effect.Effect<IngestJob, JobNotFound>
    readonly list: (
      organizationId: string,
      options: {
        readonly status: string | undefined
        readonly cursor: string | undefined
        readonly limit: number
        /** Patterns of collections as keys list them; all where absent. */ readonly collections?:
          | ReadonlyArray<string>
          | undefined
      }
    ) => Effect.Effect<ReadonlyArray<IngestJob>>
    readonly cancel: (organizationId: string, id: string) => Effect.Effect<IngestJob, JobNotFound>
  }
>()("dowser/ingest/Ingest") {
  static readonly layer: Layer.Layer<Ingest, never, Engine | Identifiers | RowReaders | SqlClient.SqlClient> =
    Layer.effect(
      Ingest,
      Effect.gen(function* () {
        const engine = yield* Engine
        const identifiers = yield* Identifiers
        const repository = yield* makeJobsRepository
        const sql = yield* SqlClient.SqlClient
        const audit = yield* makeAuditRecorder
        const running = yield* FiberMap.make<string>()
        const workers = yield* Semaphore.make(workersMax)

        const save = (job: IngestJob) => Effect.orDie(repository.save(job))

        /** One batch: read, write back, count. undefined when there was nothing left. */
        const step = Effect.fnUntraced(function* (organizationId: string, job: IngestJob) {
          const page = yield* Effect.promise(async () =>
            engine.scan(organizationId, {
              collection: job.collection,
              filter: undefined,
              after: job.stats.cursor < 0 ? undefined : job.stats.cursor,
              limit: batchSize
            })
          )
          if (!page.ok) return yield* Effect.fail(page.error)
          const action = (typeof job.config.action === "string" ? job.config.action : "upsert") as WriteAction
          const written = yield* Effect.promise(() =>
            engine.write(
              organizationId,
              job.collection,
              page.value.documents.map((document) => ({
                kind: "put",
                action,
                dirtyValues: undefined,
                document,
                rewrite: true
              }))
            )
          )
          if (!written.ok) return yield* Effect.fail(written.error)
          const errors = [...job.stats.errors]
          let imported = 0,
            failed = 0
          written.value.forEach((verdict, i) => {
            if (verdict.result.ok) imported++
            // Deleted since it was read: nothing to index again.
            else if (verdict.result.error.kind !== "NotFound") {
              failed++
              if (errors.length < jobErrorsMax)
                errors.push({ id: page.value.ids[i], error: verdict.result.error.message })
            }
          })
          const next: IngestJob = {
            ...job,
            status: "importing",
            updated_at: yield* Clock.currentTimeMillis,
            stats: {
              fetched: job.stats.fetched + page.value.documents.length,
              imported: job.stats.imported + imported,
              failed: job.stats.failed + failed,
              cursor: page.value.next ?? job.stats.cursor,
              passes: job.stats.passes + 1,
              errors
            }
          }
          return { job: next, isLast: page.value.next === undefined }
        })

        const finish = Effect.fnUntraced(function* (job: IngestJob, status: "ready" | "failed", error?: string) {
          const now = yield* Clock.currentTimeMillis
          yield* save({ ...job, status, ...(error === undefined ? {} : { error }), updated_at: now, finished_at: now })
        })

        const runJob = Effect.fn("Ingest.run")(function* ({ job: start, organization_id }: StoredJob) {
          let job: IngestJob = { ...start, status: "importing" }
          yield* save(job)
          for (let attempt = 1; ;) {
            const result = yield* Effect.result(step(organization_id, job))
            if (result._tag === "Failure") {
              const error = result.failure
              if (error.kind === "NotFound" || error.kind === "Invalid" || attempt >= attemptsMax)
                return yield* finish(job, "failed", error.message)
              // An engine that says when to come again is not asked before.
              yield* Effect.sleep(
                Math.max(100 * 2 ** attempt++, error.kind === "Overloaded" ? 1_000 * error.retryAfterSeconds : 0)
              )
              continue
            }
            attempt = 1
            job = result.success.job
            yield* save(job)
            if (result.success.isLast) return yield* finish(job, "ready")
            yield* Effect.yieldNow
          }
        })
        const launch = (stored: StoredJob) =>
          FiberMap.run(
            running,
            stored.job.id,
            workers.withPermits(1)(
              Effect.catchCause(runJob(stored), (cause) =>
                Effect.andThen(
                  Effect.logError(`job ${stored.job.id} stopped`, cause),
                  finish(stored.job, "failed", "Unexpected error.")
                )
              )
            )
          )

        // Jobs go on where the engine is; a process without one would only fail them.
        if ((yield* EngineAbsence) === undefined)
          for (const stored of yield* Effect.orDie(repository.unfinished)) yield* launch(stored)

        return Ingest.of({
          reindex: Effect.fn("Ingest.reindex")(function* (organizationId, collection, action) {
            const info = engine.describeCollection(organizationId, collection)
            if (info === undefined) return yield* new CollectionMissing({ message: "Collection not found" })
            const live = yield* Effect.orDie(repository.liveReindex(organizationId, collection))
            const inProgress = (id: string) =>
              new ReindexInProgress({
                message: `A reindex of \`${collection}\` is queued or running: ${id}.`,
                job_id: id
              })
            if (live !== undefined) return yield* inProgress(live.job.id)
            const now = yield* Clock.currentTimeMillis
            const job: IngestJob = {
              id: yield* identifiers.make("job"),
              type: "ingest",
              name: `Reindex of ${collection}`,
              collection,
              source: "reindex",
              status: "queued",
              progress: 0,
              config: { action, total: info.num_documents },
              stats: { fetched: 0, imported: 0, failed: 0, cursor: -1, passes: 0, errors: [] },
              created_at: now,
              updated_at: now
            }
            const inserted = yield* Effect.result(
              sql.withTransaction(
                Effect.andThen(
                  repository.insert(organizationId, job),
                  audit.noted({
                    organizationId,
                    kind: "job",
                    id: job.id,
                    action: "started",
                    after: { type: job.type, source: job.source, collection }
                  })
                )
              )
            )
            if (inserted._tag === "Failure") {
              // The unique index decides between two requests at the same moment.
              const winner = yield* Effect.orDie(repository.liveReindex(organizationId, collection))
              if (winner === undefined) return yield* Effect.die(inserted.failure)
              return yield* inProgress(winner.job.id)
            }
            yield* launch({ organization_id: organizationId, job })
            return job
          }),
          get: Effect.fnUntraced(function* (organizationId, id) {
            const stored = yield* Effect.orDie(repository.get(organizationId, id))
            return stored === undefined ? yield* new JobNotFound({ message: `Job ${id} does not exist.` }) : stored.job
          }),
          list: (organizationId, { collections, cursor, limit, status }) =>
            Effect.map(
              Effect.orDie(
                repository.page(organizationId, {
                  status,
                  before: cursor,
                  limit,
                  collections: collections?.map(likeOf)
                })
              ),
              (page) => page.map(({ job }) => job)
            ),
          cancel: Effect.fn("Ingest.cancel")(function* (organizationId, id) {
            const stored = yield* Effect.orDie(repository.get(organizationId, id))
            if (stored === undefined) return yield* new JobNotFound({ message: `Job ${id} does not exist.` })
            if (isTerminal(stored.job.status)) return stored.job
            yield* FiberMap.remove(running, id)
            const now = yield* Clock.currentTimeMillis
            yield* Effect.orDie(
              sql.withTransaction(
                Effect.andThen(
                  repository.save({ ...stored.job, status: "cancelled", updated_at: now, finished_at: now }),
                  audit.noted({
                    organizationId,
                    kind: "job",
                    id,
                    action: "cancelled",
                    before: { type: stored.job.type, status: stored.job.status }
                  })
                )
              )
            )
            const after = yield* Effect.orDie(repository.get(organizationId, id))
            return after?.job ?? stored.job
          })
        })
      })
    )
}
