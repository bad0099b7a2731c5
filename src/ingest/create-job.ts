/**
 * Creates an ingest job: the source validates its config, its collection exists or is created, and the job is queued
 * if its organization has room for another.
 */
import type { WriteAction } from "@dowser/engine-sdk"
import { createCollection } from "@dowser/engine-sdk/operations"
import { Identifiers } from "@dowser/log/identifiers"
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { makeAuditRecorder } from "../audit/record.ts"
import { auditedCollection } from "../catalog/audited-collection.ts"
import { answering, makeContexts } from "../engine-plane/engine-plane.ts"
import { invalidFields, refused } from "../http/checks.ts"
import { Seal } from "../access/seal.ts"
import { CurrentOrigin } from "../identity/origin.ts"
import { type InputInvalid, inputInvalid } from "../http/errors.ts"
import { decoderOf } from "../http/validation.ts"
import { cronRefusal, nextRunAt } from "../job-rows/cron.ts"
import { CollectionMissing, type FeedSpaceExhausted, IngestJobsExhausted, ReindexInProgress } from "./errors.ts"
import { maskSecrets, sealSecrets } from "./job-secrets.ts"
import { inferredSchema } from "./inferred-schema.ts"
import { makeJobsRepository, type NewJob } from "./jobs-repository.ts"
import { makeSchedulesRepository, SCHEDULES_MAX } from "./schedules-repository.ts"
import { type IngestJob, noStats, UNFINISHED_MAX } from "./schema.ts"
import type { IngestSource } from "./sources/source.ts"

type Fields = Readonly<Record<string, unknown>>
export interface AskedJob {
  readonly organizationId: string
  readonly name: string | undefined
  /** The collection's own name, not an alias. */ readonly collection: string
  readonly source: IngestSource<unknown>
  readonly config: Fields
  readonly schedule_cron?: string | undefined
  /** The feed was uploaded before, so the config does not contain it. */ readonly isKept?: boolean | undefined
  /** The job's id, if it was chosen before the job exists. */ readonly jobId?: string | undefined
}
/** Fields that every source takes in addition to its own. */
interface Common {
  readonly create_collection: boolean
  readonly confirm_deletes: boolean
}

const flag = (config: Fields, name: string) => {
  const value = config[name]
  return value === undefined || typeof value === "boolean"
    ? Effect.succeed(value === true)
    : Effect.fail(inputInvalid(`config.${name}`, "true or false"))
}
/** The source's own fields, decoded, and the common fields. The error names every wrong field. */
const readConfig = Effect.fnUntraced(function* (source: IngestSource<unknown>, config: Fields, isKept: boolean) {
  const { confirm_deletes: _confirm, create_collection: _create, ...own } = config
  const common: Common = {
    create_collection: yield* flag(config, "create_collection"),
    confirm_deletes: yield* flag(config, "confirm_deletes")
  }
  const decode = decoderOf(source.config as Parameters<typeof decoderOf>[0], { closed: true })
  const decoded = yield* Effect.mapError(decode(own), ({ issues }) =>
    invalidFields(issues.map(({ message, path }) => ({ path: path === "" ? "config" : `config.${path}`, message })))
  )
  const refusal = isKept ? undefined : source.refuses?.(decoded)
  if (refusal !== undefined) return yield* inputInvalid("config", refusal)
  return { common, decoded }
})
const unrepeatable = (source: IngestSource<unknown>, config: unknown, cron: string | undefined) => {
  const refusal = cron === undefined ? undefined : (cronRefusal(cron) ?? source.unrepeatable?.(config))
  return refused(refusal === undefined ? [] : [{ path: "schedule_cron", message: refusal }])
}

const makeQueue = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const identifiers = yield* Identifiers
  const repository = yield* makeJobsRepository
  const schedules = yield* makeSchedulesRepository
  const audit = yield* makeAuditRecorder

  /** Runs in the transaction that queues another job. */
  const requirePlace = Effect.fnUntraced(function* (organizationId: string, cron: string | undefined) {
    yield* repository.lock(organizationId)
    if ((yield* repository.countUnfinished(organizationId)) >= UNFINISHED_MAX)
      return yield* new IngestJobsExhausted({
        message: `${UNFINISHED_MAX} ingest jobs wait or are at work; wait for one to end, or cancel one.`
      })
    if (cron !== undefined && (yield* schedules.count(organizationId)) >= SCHEDULES_MAX)
      return yield* new IngestJobsExhausted({
        message: `${SCHEDULES_MAX} schedules are active; cancel the latest job of one to end it.`
      })
  })
  const inserted = Effect.fnUntraced(function* (made: NewJob, cron: string | undefined) {
    const { job, organizationId } = made
    yield* requirePlace(organizationId, cron)
    yield* repository.insert(made)
    if (cron !== undefined) yield* schedules.insert(made, cron, nextRunAt(cron, job.created_at)!)
    yield* audit.noted({
      organizationId,
      kind: "job",
      id: job.id,
      action: "started",
      after: { type: job.type, source: job.source, collection: job.collection }
    })
  })
  const newJob = Effect.fnUntraced(function* (
    { collection, jobId, name, source, schedule_cron }: AskedJob,
    config: Fields
  ) {
    const now = yield* Clock.currentTimeMillis
    const job: IngestJob = {
      id: jobId ?? (yield* identifiers.make("job")),
      type: "ingest",
      name: name ?? `${source.name === "reindex" ? "Reindex of" : `Import (${source.name}) into`} ${collection}`,
      collection,
      source: source.name,
      status: "queued",
      progress: 0,
      config,
      stats: noStats,
      ...(schedule_cron === undefined ? {} : { schedule_cron }),
      created_at: now,
      updated_at: now
    }
    return job
  })
  const queue = (made: NewJob, cron: string | undefined) => sql.withTransaction(inserted(made, cron))
  return { newJob, queue, live: repository.liveReindex }
})

const makeCollections = Effect.gen(function* () {
  const contextOf = yield* makeContexts
  const audited = auditedCollection(yield* makeAuditRecorder, contextOf)
  const isThere = (organizationId: string, collection: string) =>
    contextOf(organizationId).engine.describeCollection(organizationId, collection) !== undefined
  const makeCollection = (organizationId: string, name: string, source: string) =>
    Effect.flatMap(CurrentOrigin, (origin) => {
      const body = JSON.stringify(inferredSchema(name, source))
      return Effect.asVoid(
        audited.creation(
          organizationId,
          body,
          answering(() => createCollection(contextOf(organizationId, origin), body))
        )
      )
    })
  return { isThere, makeCollection }
})

export const makeCreateJob = Effect.gen(function* () {
  const { newJob, queue } = yield* makeQueue
  const seal = yield* Seal
  const { isThere, makeCollection } = yield* makeCollections

  /** Reasons that make a job impossible, checked before its feed is stored. */
  const check = Effect.fnUntraced(function* (
    source: IngestSource<unknown>,
    organizationId: string,
    collection: string,
    config: Fields
  ) {
    const { common } = yield* readConfig(source, config, true)
    if (!isThere(organizationId, collection) && !common.create_collection)
      return yield* new CollectionMissing({ message: "Collection not found" })
  })
  const create = Effect.fn("Ingest.create")(function* (asked: AskedJob) {
    const { collection, isKept = false, organizationId, schedule_cron, source } = asked
    const { common, decoded } = yield* readConfig(source, asked.config, isKept)
    yield* unrepeatable(source, decoded, schedule_cron)
    if (!isThere(organizationId, collection)) {
      if (!common.create_collection) return yield* new CollectionMissing({ message: "Collection not found" })
      yield* makeCollection(organizationId, collection, source.name)
    }
    const draft = yield* newJob(asked, {})
    const kept = source.keep === undefined || isKept ? decoded : yield* source.keep(organizationId, draft.id, decoded)
    const made: NewJob = {
      organizationId,
      job: { ...draft, config: sealSecrets(seal, source.secrets, kept as Fields) },
      load: source.load,
      options: { confirm_deletes: common.confirm_deletes },
      scheduleId: schedule_cron === undefined ? undefined : draft.id
    }
    return yield* Effect.onError(
      Effect.as(Effect.catchTag(queue(made, schedule_cron), "SqlError", Effect.die), {
        ...made.job,
        config: maskSecrets(made.job.config)
      }),
      () => (isKept ? Effect.void : (source.forget?.(organizationId, draft.id) ?? Effect.void))
    )
  })
  return { check, create }
})

export const makeReindexJob = Effect.gen(function* () {
  const { live: liveReindex, newJob, queue } = yield* makeQueue
  const { isThere } = yield* makeCollections
  /** A collection has one reindex at a time. */
  return Effect.fn("Ingest.reindex")(function* (
    source: IngestSource<unknown>,
    organizationId: string,
    collection: string,
    action: WriteAction
  ) {
    if (!isThere(organizationId, collection)) return yield* new CollectionMissing({ message: "Collection not found" })
    const inProgress = ({ id }: IngestJob) =>
      new ReindexInProgress({
        message: `A reindex of \`${collection}\` is queued or running: ${id}.`,
        job_id: id
      })
    const live = Effect.orDie(liveReindex(organizationId, collection))
    const before = yield* live
    if (before !== undefined) return yield* inProgress(before)
    const job = yield* newJob({ organizationId, collection, source, name: undefined, config: {} }, { action })
    const made: NewJob = { organizationId, job, load: source.load, options: {} }
    const queued = yield* Effect.result(queue(made, undefined))
    if (queued._tag === "Success") return job
    if (queued.failure._tag === "IngestJobsExhausted") return yield* queued.failure
    // The unique index decides between two simultaneous requests.
    const winner = yield* live
    return yield* winner === undefined ? Effect.die(queued.failure) : Effect.fail(inProgress(winner))
  })
})
export type CreateFailure = CollectionMissing | FeedSpaceExhausted | IngestJobsExhausted | InputInvalid
