/**
 * Ingest jobs. A reindex reads every document in insertion order and writes it back, so that changed field mappings are
 * picked up; it stores its cursor after each batch and goes on from there after a restart. Searches go on meanwhile.
 *
 * States (spec part 3): queued → importing → ready | failed; cancelled from any of the first two by the caller.
 */
import type { WriteAction } from "@dowser/engine-sdk"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { makeAuditRecorder } from "../audit/record.ts"
import { likeOf } from "../engine-plane/like-pattern.ts"
import { Engine, OwnsEngine } from "../ports/engine/engine.ts"
import { Identifiers } from "@dowser/log/identifiers"
import { CollectionMissing, JobNotFound, ReindexInProgress } from "./errors.ts"
import { makeJobsRepository } from "./jobs-repository.ts"
import { makeRunner } from "./runner.ts"
import { type IngestJob, isTerminal } from "./schema.ts"
import type { RowReaders } from "../identity/row-readers.ts"

/** What the jobs are kept and run with. */
interface IngestParts {
  readonly audit: Effect.Success<typeof makeAuditRecorder>
  readonly engine: Engine["Service"]
  readonly identifiers: Identifiers["Service"]
  readonly repository: Effect.Success<typeof makeJobsRepository>
  readonly runner: Effect.Success<ReturnType<typeof makeRunner>>
  readonly sql: SqlClient.SqlClient
}

/** A reindex that waits. */
const newJob = Effect.fnUntraced(function* (
  identifiers: Identifiers["Service"],
  collection: string,
  action: WriteAction,
  total: number
) {
  const now = yield* Clock.currentTimeMillis
  const job: IngestJob = {
    id: yield* identifiers.make("job"),
    type: "ingest",
    name: `Reindex of ${collection}`,
    collection,
    source: "reindex",
    status: "queued",
    progress: 0,
    config: { action, total },
    stats: { fetched: 0, imported: 0, failed: 0, cursor: -1, passes: 0, errors: [] },
    created_at: now,
    updated_at: now
  }
  return job
})

/** The job and its entry in the audit log. */
const insertNoted = (
  { audit, repository, sql }: Pick<IngestParts, "audit" | "repository" | "sql">,
  organizationId: string,
  job: IngestJob
) =>
  sql.withTransaction(
    Effect.andThen(
      repository.insert(organizationId, job),
      audit.noted({
        organizationId,
        kind: "job",
        id: job.id,
        action: "started",
        after: { type: job.type, source: job.source, collection: job.collection }
      })
    )
  )

/** Queues a reindex; one of a collection at a time. */
const makeReindex = ({ audit, engine, identifiers, repository, runner, sql }: IngestParts) =>
  Effect.fn("Ingest.reindex")(function* (organizationId: string, collection: string, action: WriteAction) {
    const info = engine.describeCollection(organizationId, collection)
    if (info === undefined) return yield* new CollectionMissing({ message: "Collection not found" })
    const live = yield* Effect.orDie(repository.liveReindex(organizationId, collection))
    const inProgress = (id: string) =>
      new ReindexInProgress({
        message: `A reindex of \`${collection}\` is queued or running: ${id}.`,
        job_id: id
      })
    if (live !== undefined) return yield* inProgress(live.job.id)
    const job = yield* newJob(identifiers, collection, action, info.num_documents)
    const inserted = yield* Effect.result(insertNoted({ audit, repository, sql }, organizationId, job))
    if (inserted._tag === "Failure") {
      // The unique index decides between two requests at the same moment.
      const winner = yield* Effect.orDie(repository.liveReindex(organizationId, collection))
      if (winner === undefined) return yield* Effect.die(inserted.failure)
      return yield* inProgress(winner.job.id)
    }
    yield* runner.launch({ organization_id: organizationId, job })
    return job
  })

const makeCancel = ({ audit, repository, runner, sql }: IngestParts) =>
  Effect.fn("Ingest.cancel")(function* (organizationId: string, id: string) {
    const stored = yield* Effect.orDie(repository.get(organizationId, id))
    if (stored === undefined) return yield* new JobNotFound({ message: `Job ${id} does not exist.` })
    if (isTerminal(stored.job.status)) return stored.job
    yield* runner.stop(id)
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
        const repository = yield* makeJobsRepository
        const parts: IngestParts = {
          audit: yield* makeAuditRecorder,
          engine: yield* Engine,
          identifiers: yield* Identifiers,
          repository,
          runner: yield* makeRunner(repository),
          sql: yield* SqlClient.SqlClient
        }
        // Jobs go on where the engine is; a process without one would only fail them.
        if (yield* OwnsEngine)
          for (const stored of yield* Effect.orDie(repository.unfinished)) yield* parts.runner.launch(stored)
        return Ingest.of({
          reindex: makeReindex(parts),
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
          cancel: makeCancel(parts)
        })
      })
    )
}
