/**
 * Jobs of an organization, whatever runs them. A room that starts one inserts it here, in its own transaction; the
 * process that runs it updates its row. Ingest jobs have a table of their own and are listed as jobs.
 *
 * States: queued → running → ready | failed; the first two can be cancelled by the caller, as long as nothing has been
 * changed.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { makeAuditRecorder } from "../audit/record.ts"
import { cancelRun } from "@dowser/streams/shadow/runs"
import { likeOf } from "../engine-plane/like-pattern.ts"
import { Ingest } from "../ingest/ingest.ts"
import type { IngestJob } from "../ingest/schema.ts"
import { Identifiers } from "@dowser/log/identifiers"
import { Conflict, NotFound } from "../http/errors.ts"
import { makeJobsRepository } from "./jobs-repository.ts"
import type { Job } from "./schema.ts"
import type { RowReaders } from "../identity/row-readers.ts"

interface JobsPage {
  readonly type: string | undefined
  readonly status: string | undefined
  readonly cursor: string | undefined
  readonly limit: number
  /** Patterns of collections as in keys: jobs of other collections, and of all collections, are treated as missing. */
  readonly collections: ReadonlyArray<string> | undefined
}

const shownIngest = ({
  collection,
  config,
  created_at,
  error,
  finished_at,
  id,
  name,
  progress,
  source,
  stats,
  status,
  type,
  updated_at
}: IngestJob): Job => ({
  id,
  type,
  status,
  progress,
  config: { ...config, name, collection, source },
  created_at,
  updated_at,
  ...(status === "ready" ? { result: stats } : {}),
  ...(error === undefined ? {} : { error }),
  ...(finished_at === undefined ? {} : { finished_at })
})
const isOver = ({ finished_at }: Job): boolean => finished_at !== undefined
const missing = (id: string) => new NotFound({ message: `Job ${id} does not exist.` })

export class Jobs extends Context.Service<
  Jobs,
  {
    readonly get: (organizationId: string, id: string) => Effect.Effect<Job, NotFound>
    /** How many of each type wait or run, over all organizations. */
    readonly unfinished: Effect.Effect<ReadonlyArray<{ readonly type: string; readonly n: number }>>
    /** Newest first. Two reads of at most `limit` rows. */
    readonly list: (organizationId: string, page: JobsPage) => Effect.Effect<ReadonlyArray<Job>>
    /** Returns the job afterwards; a finished one stays unchanged. A Conflict if it is too late to cancel. */
    readonly cancel: (organizationId: string, id: string) => Effect.Effect<Job, NotFound | Conflict>
  }
>()("dowser/jobs/Jobs") {
  static readonly layer: Layer.Layer<Jobs, never, Identifiers | Ingest | RowReaders | SqlClient.SqlClient> =
    Layer.effect(
      Jobs,
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const ingest = yield* Ingest
        const repository = yield* makeJobsRepository
        const audit = yield* makeAuditRecorder
        const ingestJob = (organizationId: string, id: string) =>
          Effect.mapBoth(ingest.get(organizationId, id), { onFailure: () => missing(id), onSuccess: shownIngest })
        return Jobs.of({
          unfinished: Effect.orDie(repository.unfinishedByType),
          get: Effect.fnUntraced(function* (organizationId, id) {
            return (yield* Effect.orDie(repository.get(organizationId, id))) ?? (yield* ingestJob(organizationId, id))
          }),
          list: Effect.fnUntraced(function* (organizationId, { collections, cursor, limit, status, type }) {
            const own =
              type === "ingest"
                ? []
                : yield* Effect.orDie(
                    repository.page(organizationId, {
                      type,
                      status,
                      before: cursor,
                      limit,
                      collections: collections?.map(likeOf)
                    })
                  )
            const ingested =
              type !== undefined && type !== "ingest"
                ? []
                : (yield* ingest.list(organizationId, { status, cursor, limit, collections })).map(shownIngest)
            return [...own, ...ingested].sort((a, b) => (a.id < b.id ? 1 : -1)).slice(0, limit)
          }),
          cancel: Effect.fn("Jobs.cancel")(function* (organizationId, id) {
            const own = yield* sql
              .withTransaction(
                Effect.gen(function* () {
                  const job = yield* repository.lock(organizationId, id)
                  if (job === undefined || isOver(job)) return job
                  if (job.type === "subject_erasure")
                    return yield* new Conflict({
                      message: "An erasure cannot be cancelled: it hides its events from the start."
                    })
                  if (job.type === "catalog_push")
                    return yield* new Conflict({
                      message: "A push cannot be cancelled: it was accepted, and its changes are on their way."
                    })
                  if (!(yield* Effect.provideService(cancelRun(id), SqlClient.SqlClient, sql)))
                    return yield* new Conflict({
                      message: "The replay is being swapped in and cannot be cancelled any more."
                    })
                  yield* repository.cancel(organizationId, id, yield* Clock.currentTimeMillis)
                  yield* audit.noted({
                    organizationId,
                    kind: "job",
                    id,
                    action: "cancelled",
                    before: { type: job.type, status: job.status }
                  })
                  return yield* repository.get(organizationId, id)
                })
              )
              .pipe(Effect.catchTag("SqlError", Effect.die))
            if (own !== undefined) return own
            yield* ingestJob(organizationId, id)
            return yield* Effect.mapBoth(ingest.cancel(organizationId, id), {
              onFailure: () => missing(id),
              onSuccess: shownIngest
            })
          })
        })
      })
    )
}

/** Limit of waiting jobs of one kind and organization: each takes a while, and they run one after another. */
const WAITING_MAX = 20

/** Queues a job. `alongside` runs in the transaction that creates it. */
export const makeJobStarter = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const identifiers = yield* Identifiers
  const repository = yield* makeJobsRepository
  const audit = yield* makeAuditRecorder
  /** Fails with a unique violation if the kind allows only one per organization at a time. */
  const start = <E>(
    organizationId: string,
    type: string,
    config: Readonly<Record<string, unknown>>,
    alongside: (job: Job) => Effect.Effect<void, E>
  ): Effect.Effect<Job, E | SqlError.SqlError> =>
    Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const job: Job = {
        id: yield* identifiers.make("job"),
        type,
        status: "queued",
        progress: 0,
        config,
        created_at: now,
        updated_at: now
      }
      yield* sql.withTransaction(
        Effect.gen(function* () {
          yield* repository.insert(organizationId, job)
          yield* alongside(job)
          // Without the configuration, which may name a person to be erased.
          yield* audit.noted({ organizationId, kind: "job", id: job.id, action: "started", after: { type } })
        })
      )
      return job
    })
  /** Call in the transaction that starts a job: fails with a Conflict if `WAITING_MAX` of its type wait or run. */
  const requirePlace = (organizationId: string, type: string): Effect.Effect<void, Conflict | SqlError.SqlError> =>
    Effect.flatMap(repository.countUnfinished(organizationId, type), (waiting) =>
      waiting > WAITING_MAX
        ? Effect.fail(
            new Conflict({ message: `${WAITING_MAX} jobs of this kind wait or are at work; wait for one to end.` })
          )
        : Effect.void
    )
  return { start, get: repository.get, unfinished: repository.unfinished, requirePlace }
})
