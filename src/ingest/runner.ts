/**
 * Reindex jobs at work: each reads every document of its collection and writes it back, batch by batch, and stores its
 * cursor after each. Cut off by a stop of the program, it goes on from there.
 */
import type { WriteAction, WriteVerdict } from "@dowser/engine-sdk"
import { Clock, Effect, FiberMap, Semaphore } from "effect"
import { Engine } from "../ports/engine/engine.ts"
import type { makeJobsRepository, StoredJob } from "./jobs-repository.ts"
import { type IngestJob, jobErrorsMax } from "./schema.ts"

/** Documents read and written at once. */
const batchSize = 500
/** Jobs at work at the same time, over all organizations; further ones wait in `queued`. */
const workersMax = 2
/** A batch that the engine cannot take is tried this often (spec part 8). */
const attemptsMax = 5

/** What came of a batch, with the job's errors so far. */
const countOf = (
  job: IngestJob,
  ids: ReadonlyArray<string>,
  verdicts: ReadonlyArray<WriteVerdict>
): { readonly imported: number; readonly failed: number; readonly errors: IngestJob["stats"]["errors"] } => {
  const errors = [...job.stats.errors]
  let imported = 0,
    failed = 0
  verdicts.forEach((verdict, i) => {
    if (verdict.result.ok) imported++
    // Deleted since it was read: nothing to index again.
    else if (verdict.result.error.kind !== "NotFound") {
      failed++
      if (errors.length < jobErrorsMax) errors.push({ id: ids[i]!, error: verdict.result.error.message })
    }
  })
  return { imported, failed, errors }
}

/** One batch: read, write back, count; `isLast` where nothing is left behind it. */
const step = Effect.fnUntraced(function* (engine: Engine["Service"], organizationId: string, job: IngestJob) {
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
  const { errors, failed, imported } = countOf(job, page.value.ids, written.value)
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

/** Runs jobs, `workersMax` of them at a time, until the scope closes. */
export const makeRunner = Effect.fnUntraced(function* (repository: Effect.Success<typeof makeJobsRepository>) {
  const engine = yield* Engine
  const running = yield* FiberMap.make<string>()
  const workers = yield* Semaphore.make(workersMax)
  const save = (job: IngestJob) => Effect.orDie(repository.save(job))
  const finish = Effect.fnUntraced(function* (job: IngestJob, status: "ready" | "failed", error?: string) {
    const now = yield* Clock.currentTimeMillis
    yield* save({ ...job, status, ...(error === undefined ? {} : { error }), updated_at: now, finished_at: now })
  })

  const runJob = Effect.fn("Ingest.run")(function* ({ job: start, organization_id }: StoredJob) {
    let job: IngestJob = { ...start, status: "importing" }
    yield* save(job)
    for (let attempt = 1; ;) {
      const result = yield* Effect.result(step(engine, organization_id, job))
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

  return { launch, stop: (id: string) => FiberMap.remove(running, id) }
})
