/**
 * Runs jobs. Each process polls for jobs of each load while it has room, and runs each under a claim that it renews;
 * over all processes, an organization runs one job per load at a time. A job that was cancelled, or claimed by
 * another process, is interrupted within a second.
 */
import { Clock, Effect, Exit, Latch, Result, Schema, Semaphore } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { Identifiers } from "@dowser/log/identifiers"
import { Seal } from "../../access/seal.ts"
import { Installation } from "../../installation.ts"
import { ATTEMPTS_MAX } from "../../job-rows/row-claims.ts"
import { counted } from "../../metrics/background.ts"
import { openSecrets } from "../job-secrets.ts"
import { IngestFailed, type IngestLoad, type IngestSource } from "../sources/source.ts"
import { type Claimed, makeClaims, type Step } from "./claims.ts"
import { makeRunJob, type RunFailure } from "./run-job.ts"

/** Concurrent jobs per process. */
const AT_WORK_MAX = [
  ["import", 2],
  ["wait", 16]
] as const satisfies ReadonlyArray<readonly [load: IngestLoad, jobs: number]>
/** How soon a process finds a job that another process queued. */
const POLL_MS = 2_000
const RENEW_MS = 1_000
/** How often a source may postpone its job while the cursor does not move. */
const FAILURES_MAX = 5

type Sources = ReadonlyMap<string, IngestSource<unknown>>
interface Parts {
  readonly sql: SqlClient.SqlClient
  readonly claims: Effect.Success<typeof makeClaims>
  readonly run: Effect.Success<typeof makeRunJob>
  readonly process: string
  readonly seal: Seal["Service"]
  readonly sources: Sources
  /** Runs in the transaction that ends a job. */ readonly ended: (
    job: Claimed,
    end: JobEnd
  ) => Effect.Effect<void, SqlError.SqlError>
}
export type JobEnd = { readonly step: Step } | { readonly error: string }

const configOf = (
  seal: Seal["Service"],
  source: IngestSource<unknown>,
  config: unknown
): Effect.Effect<unknown, IngestFailed> =>
  Effect.mapError(
    Effect.suspend(() => Schema.decodeUnknownEffect(source.config)(openSecrets(seal, source.secrets, config))),
    ({ message }) => new IngestFailed({ message: `Its config cannot be read any more: ${message}` })
  )
const finish = ({ claims, ended, process, sources, sql }: Parts, job: Claimed, end: JobEnd) =>
  Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    const isOurs = yield* sql.withTransaction(
      Effect.gen(function* () {
        if (!(yield* claims.hold(job.id, process))) return false
        yield* claims.finish(job.id, "step" in end ? { stats: end.step.stats } : end, now)
        yield* ended(job, end)
        return true
      })
    )
    if (isOurs) yield* sources.get(job.source)?.forget?.(job.organizationId, job.id) ?? Effect.void
  })
/** Resolves when the job is over or claimed by another process. */
const renewing = ({ claims, process }: Parts, { id }: Claimed) =>
  Effect.gen(function* () {
    for (;;) {
      yield* Effect.sleep(RENEW_MS)
      const renewed = Effect.flatMap(Clock.currentTimeMillis, (now) => claims.renew(id, process, now))
      // A database error is retried, because the claim outlasts a short outage.
      if (!(yield* Effect.catch(renewed, () => Effect.succeed(true)))) return undefined
    }
  })

const unexpected: Result.Result<Step, RunFailure> = Result.fail(new IngestFailed({ message: "Unexpected error." }))
/** Unexpected errors fail the job. An unavailable database does not: another process continues after the claim. */
const outcomeOf = Effect.fnUntraced(function* ({ process, run, seal, sources }: Parts, job: Claimed) {
  const source = sources.get(job.source)
  if (source === undefined)
    return Result.fail(new IngestFailed({ message: `There is no source \`${job.source}\` any more.` }))
  if (job.attempts > ATTEMPTS_MAX)
    return Result.fail(new IngestFailed({ message: `The work was cut off ${ATTEMPTS_MAX} times.` }))
  const running = Effect.result(
    Effect.flatMap(configOf(seal, source, job.config), (config) => run(job, process, source, config))
  )
  const ended = yield* Effect.catchDefect(running, (defect) =>
    Effect.as(Effect.logError(`The ingest job ${job.id} (${job.source}) stopped`, defect), unexpected)
  )
  return Result.isFailure(ended) && ended.failure._tag === "SqlError"
    ? yield* ended.failure
    : (ended as Result.Result<Step, Exclude<RunFailure, SqlError.SqlError>>)
})
const work = Effect.fnUntraced(function* (parts: Parts, job: Claimed) {
  const { claims, process } = parts
  const outcome = yield* Effect.raceFirst(outcomeOf(parts, job), renewing(parts, job))
  if (outcome === undefined) return
  if (Result.isSuccess(outcome)) return yield* finish(parts, job, { step: outcome.success })
  const failure = outcome.failure
  switch (failure._tag) {
    case "ClaimLost":
      return
    case "TurnOver":
      return void (yield* claims.release(job.id, process))
    case "IngestLater":
      return job.failures + 1 >= FAILURES_MAX
        ? yield* finish(parts, job, { error: failure.message })
        : void (yield* claims.putOff(job.id, process, failure.after_s))
    case "IngestFailed":
      return yield* finish(parts, job, { error: failure.message })
  }
})

export interface WorkerOptions {
  readonly sources: Sources
  readonly ended: Parts["ended"]
}
/** Runs jobs while the scope is open. Returns how to wake it for a new job. */
export const makeWorker = Effect.fnUntraced(function* ({ ended, sources }: WorkerOptions) {
  const parts: Parts = {
    sql: yield* SqlClient.SqlClient,
    claims: yield* makeClaims,
    run: yield* makeRunJob,
    process: yield* (yield* Identifiers).make("prc"),
    seal: yield* Seal,
    sources,
    ended
  }
  const { claims, process, sql } = parts
  if ((yield* Installation).isAlone) yield* Effect.orDie(claims.forget)
  // A job may be claimed at the moment when its process is stopped.
  yield* Effect.addFinalizer(() => Effect.ignore(claims.releaseAll(process)))
  const next = (load: IngestLoad) =>
    sql.withTransaction(Effect.flatMap(Clock.currentTimeMillis, (now) => claims.next(load, process, now)))
  const wakes: Array<Effect.Effect<void>> = []
  for (const [load, jobs] of AT_WORK_MAX) {
    const places = yield* Semaphore.make(jobs)
    const latch = yield* Latch.make()
    wakes.push(Effect.asVoid(latch.open))
    const doing = (job: Claimed) =>
      Effect.ensuring(
        Effect.catch(
          Effect.onExit(counted(`ingest ${load}`)(work(parts, job)), (exit) =>
            Exit.isSuccess(exit) ? Effect.void : Effect.ignore(claims.release(job.id, process))
          ),
          (error) => Effect.logError(`The ingest job ${job.id} was put down`, error)
        ),
        Effect.andThen(places.release(1), latch.open)
      )
    const looking = Effect.gen(function* () {
      yield* places.take(1)
      yield* latch.close
      const job = yield* Effect.catch(next(load), (error) =>
        Effect.as(Effect.logError("Ingest jobs could not be read; tried again in a moment", error), undefined)
      )
      if (job !== undefined) return void (yield* Effect.forkScoped(doing(job)))
      yield* places.release(1)
      yield* Effect.raceFirst(latch.await, Effect.sleep(POLL_MS))
    })
    yield* Effect.forkScoped(Effect.forever(looking))
  }
  return { wake: Effect.asVoid(Effect.all(wakes)) }
})
