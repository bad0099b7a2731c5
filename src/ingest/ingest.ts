/**
 * Ingest jobs: long work that writes the documents of a source into a collection. `running/` runs them; `sources/`
 * provides the documents. Searches continue meanwhile.
 *
 * States: queued → fetching → importing → ready | failed; the caller can cancel from any of the first three.
 */
import type { WriteAction } from "@dowser/engine-sdk"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Identifiers } from "@dowser/log/identifiers"
import { makeAuditRecorder } from "../audit/record.ts"
import { likeOf } from "../engine-plane/like-pattern.ts"
import type { InputInvalid } from "../http/errors.ts"
import type { EngineWriteFailure } from "../engine-plane/engine-errors.ts"
import { CatalogResources } from "../engine-plane/resources.ts"
import type { RowReaders } from "../identity/row-readers.ts"
import { Installation } from "../installation.ts"
import { Entitlements } from "../metering/entitlements.ts"
import { type Engine, OwnsEngine } from "../ports/engine/engine.ts"
import type { OutboundHttp } from "../ports/outbound-http/outbound-http.ts"
import { type AskedJob, type CreateFailure, makeCreateJob, makeReindexJob } from "./create-job.ts"
import { type CollectionMissing, type IngestJobsExhausted, JobNotFound, type ReindexInProgress } from "./errors.ts"
import type { Seal } from "../access/seal.ts"
import type { Crawler } from "./crawl/crawl.ts"
import type { Hosts } from "./crawl/hosts.ts"
import type { KeptFeeds } from "./feeds/kept-feeds.ts"
import { makeJobsRepository } from "./jobs-repository.ts"
import { makeWorker } from "./running/worker.ts"
import type { Claimed } from "./running/claims.ts"
import type { JobEnd } from "./running/worker.ts"
import { makeSchedules, runSchedules, stateForNext } from "./schedule.ts"
import type { IngestJob } from "./schema.ts"
import { makeSources, type Sources } from "./sources/all.ts"

interface JobsPage {
  readonly status: string | undefined
  readonly cursor: string | undefined
  readonly limit: number
  /** Patterns of collections as keys list them; all collections if absent. */
  readonly collections?: ReadonlyArray<string> | undefined
}
/** The source is given by a known name. */
type NamedJob = Omit<AskedJob, "source"> & { readonly source: string }
interface IngestShape {
  /** Reasons that make a job impossible, checked before its feed is stored. */
  readonly check: (
    organizationId: string,
    source: string,
    collection: string,
    config: AskedJob["config"]
  ) => Effect.Effect<void, CollectionMissing | InputInvalid>
  readonly create: (asked: NamedJob) => Effect.Effect<IngestJob, CreateFailure | EngineWriteFailure>
  readonly reindex: (
    organizationId: string,
    collection: string,
    action: WriteAction
  ) => Effect.Effect<IngestJob, CollectionMissing | IngestJobsExhausted | ReindexInProgress>
  readonly get: (organizationId: string, id: string) => Effect.Effect<IngestJob, JobNotFound>
  readonly list: (organizationId: string, page: JobsPage) => Effect.Effect<ReadonlyArray<IngestJob>>
  /** Returns the job after cancellation. If it was the latest of a schedule, the schedule ends too. */
  readonly cancel: (organizationId: string, id: string) => Effect.Effect<IngestJob, JobNotFound>
}

/** Jobs run only in processes with an engine; any other process would only fail them. */
const atWork = Effect.fnUntraced(function* (sources: Sources) {
  const { next, passed } = yield* makeSchedules
  if (!(yield* OwnsEngine)) return Effect.void
  const ended = ({ schedule_id }: Claimed, end: JobEnd) =>
    "step" in end && schedule_id !== null
      ? Effect.asVoid(passed(schedule_id, end.step.stats.passes, stateForNext(end.step.state)))
      : Effect.void
  const { wake } = yield* makeWorker({ sources, ended })
  yield* runSchedules(next, wake)
  return wake
})

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const audit = yield* makeAuditRecorder
  const repository = yield* makeJobsRepository
  const sources = yield* makeSources
  const { check, create } = yield* makeCreateJob
  const reindex = yield* makeReindexJob
  const { end } = yield* makeSchedules
  const wake = yield* atWork(sources)
  const missing = (id: string) => new JobNotFound({ message: `Job ${id} does not exist.` })
  const get = Effect.fnUntraced(function* (organizationId: string, id: string) {
    return (yield* Effect.orDie(repository.get(organizationId, id))) ?? (yield* missing(id))
  })
  const stop = Effect.fnUntraced(function* (organizationId: string, id: string, before: IngestJob) {
    const now = yield* Clock.currentTimeMillis
    const cancelled = yield* repository.cancel(organizationId, id, now)
    const isEnded = yield* end(organizationId, id)
    if (cancelled !== undefined || isEnded)
      yield* audit.noted({
        organizationId,
        kind: "job",
        id,
        action: "cancelled",
        before: { type: before.type, status: before.status }
      })
    return cancelled
  })
  return Ingest.of({
    check: (organizationId, source, collection, config) =>
      check(sources.get(source)!, organizationId, collection, config),
    create: (asked) => Effect.tap(create({ ...asked, source: sources.get(asked.source)! }), () => wake),
    reindex: (organizationId, collection, action) =>
      Effect.tap(reindex(sources.get("reindex")!, organizationId, collection, action), () => wake),
    get,
    list: (organizationId, { collections, cursor, limit, status }) =>
      Effect.orDie(
        repository.page(organizationId, { status, before: cursor, limit, collections: collections?.map(likeOf) })
      ),
    cancel: Effect.fn("Ingest.cancel")(function* (organizationId, id) {
      const before = yield* get(organizationId, id)
      const cancelled = yield* Effect.orDie(sql.withTransaction(stop(organizationId, id, before)))
      if (cancelled === undefined) return yield* get(organizationId, id)
      yield* sources.get(cancelled.source)?.forget?.(organizationId, id) ?? Effect.void
      return cancelled
    })
  })
})

export class Ingest extends Context.Service<Ingest, IngestShape>()("dowser/ingest/Ingest") {
  static readonly layer: Layer.Layer<
    Ingest,
    never,
    | CatalogResources
    | Crawler
    | Engine
    | Entitlements
    | Identifiers
    | Installation
    | KeptFeeds
    | OutboundHttp
    | RowReaders
    | Hosts
    | Seal
    | SqlClient.SqlClient
  > = Layer.effect(
    Ingest,
    Effect.suspend(() => make)
  )
}
