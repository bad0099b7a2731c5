/**
 * Runs jobs: a room defines what a job of its kind does, and this module runs it, once over all processes, one per kind
 * and organization at a time. An interrupted job (by a stop or a crash) starts again; what belongs to its end is
 * written in the transaction that ends it, so that it happens once.
 */
import { Clock, Effect, Exit, Latch, Ref, Schema, type Scope, Semaphore } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { Identifiers } from "@dowser/log/identifiers"
import { Installation } from "../installation.ts"
import { type ClaimedJob, makeJobClaims } from "./job-claims.ts"
import { ATTEMPTS_MAX } from "../job-rows/row-claims.ts"
import { counted } from "../metrics/background.ts"

export type { ClaimedJob }
/** Why a job failed, as its caller reads it. */
export class JobFailed extends Schema.TaggedError<JobFailed>()("JobFailed", { message: Schema.String }) {}

export interface JobEnd {
  readonly result: Readonly<Record<string, unknown>>
  /** Runs in the transaction that ends the job. */ readonly alongside?: Effect.Effect<void, SqlError.SqlError>
}
interface JobKind {
  readonly type: string
  /** `report`: reports progress, 0..1. Interrupted when the job is cancelled. */
  readonly run: (job: ClaimedJob, report: (progress: number) => Effect.Effect<void>) => Effect.Effect<JobEnd, JobFailed>
  /** Jobs at a time in a process, one per organization; `AT_WORK_MAX` if absent. */ readonly atWorkMax?: number
}
interface JobWorker {
  /** Signals a new job. */ readonly wake: Effect.Effect<void>
}

/** How soon a job that was requested in another process is found. */
const POLL_MS = 2_000
const RENEW_MS = 1_000
/** Default for kinds that set no other number. */
const AT_WORK_MAX = 2

type Claims = Effect.Success<typeof makeJobClaims>
interface Parts {
  readonly sql: SqlClient.SqlClient
  readonly claims: Claims
  readonly process: string
}

/** Ends the job with its result; does nothing if it was cancelled meanwhile. */
const finish = ({ claims, process, sql }: Parts, { id }: ClaimedJob, end: JobEnd | JobFailed) =>
  sql.withTransaction(
    Effect.gen(function* () {
      if (!(yield* claims.hold(id, process))) return
      if (!(end instanceof JobFailed)) yield* end.alongside ?? Effect.void
      const now = yield* Clock.currentTimeMillis
      yield* claims.finish(id, end instanceof JobFailed ? { error: end.message } : { result: end.result }, now)
    })
  )
/** Completes when the claim is lost or the job has ended; until then the claim is renewed. */
const renewing = ({ claims, process }: Parts, { id }: ClaimedJob, progress: Ref.Ref<number>) =>
  Effect.gen(function* () {
    for (;;) {
      yield* Effect.sleep(RENEW_MS)
      const renewed = Effect.flatMap(Effect.all([Ref.get(progress), Clock.currentTimeMillis]), ([done, now]) =>
        claims.renew(id, process, now, done)
      )
      // If the database does not answer, renewal is retried: the claim lasts longer than an outage.
      if (!(yield* Effect.catch(renewed, () => Effect.succeed(true)))) return undefined
    }
  })

const work = Effect.fnUntraced(function* (parts: Parts, { run, type }: JobKind, job: ClaimedJob) {
  const progress = yield* Ref.make(0)
  const ended = Effect.catchCause(
    Effect.catchTag(
      run(job, (done) => Ref.set(progress, done)),
      "JobFailed",
      (failed) => Effect.succeed(failed)
    ),
    (cause) =>
      Effect.as(
        Effect.logError(`The job ${job.id} (${type}) stopped`, cause),
        new JobFailed({ message: "Unexpected error." })
      )
  )
  const end = yield* Effect.raceFirst(ended, renewing(parts, job, progress))
  if (end !== undefined) yield* finish(parts, job, end)
})

type Claimed = NonNullable<Effect.Success<ReturnType<Claims["next"]>>>
const next = ({ claims, process, sql }: Parts, type: string) =>
  sql.withTransaction(Effect.flatMap(Clock.currentTimeMillis, (now) => claims.next(type, process, now)))
/** Runs a claimed job; the claim is released if the process stops. */
const done = Effect.fnUntraced(function* (parts: Parts, kind: JobKind, { attempts, job }: Claimed) {
  if (attempts > ATTEMPTS_MAX)
    return yield* finish(parts, job, new JobFailed({ message: `The work was cut off ${ATTEMPTS_MAX} times.` }))
  yield* Effect.onExit(counted(`job ${kind.type}`)(work(parts, kind, job)), (exit) =>
    Exit.isSuccess(exit) ? Effect.void : Effect.ignore(parts.claims.release(job.id, parts.process))
  )
})

/** Runs jobs of a kind as long as the scope is open. */
export const makeJobWorker = Effect.fnUntraced(function* (
  kind: JobKind
): Effect.fn.Return<JobWorker, never, Identifiers | Installation | Scope.Scope | SqlClient.SqlClient> {
  const claims = yield* makeJobClaims
  const parts: Parts = {
    sql: yield* SqlClient.SqlClient,
    claims,
    process: yield* (yield* Identifiers).make("prc")
  }
  if ((yield* Installation).isAlone) yield* Effect.orDie(claims.forget(kind.type))
  // A job may be claimed at the very moment at which its process is stopped.
  yield* Effect.addFinalizer(() => Effect.ignore(claims.releaseAll(parts.process)))
  const latch = yield* Latch.make()
  const places = yield* Semaphore.make(kind.atWorkMax ?? AT_WORK_MAX)
  const doing = (claimed: Claimed) =>
    Effect.ensuring(
      Effect.catch(done(parts, kind, claimed), (error) =>
        Effect.logError(`A job (${kind.type}) was released; the next claim starts it again`, error)
      ),
      Effect.andThen(places.release(1), latch.open)
    )
  // A single poller: one query every two seconds, however many jobs may run.
  const looking = Effect.gen(function* () {
    yield* places.take(1)
    yield* latch.close
    const claimed = yield* Effect.catch(next(parts, kind.type), (error) =>
      Effect.as(Effect.logError(`Jobs (${kind.type}) could not be read; tried again in a moment`, error), undefined)
    )
    if (claimed !== undefined) return void (yield* Effect.forkScoped(doing(claimed)))
    yield* places.release(1)
    yield* Effect.raceFirst(latch.await, Effect.sleep(POLL_MS))
  })
  yield* Effect.forkScoped(Effect.forever(looking))
  return { wake: Effect.asVoid(latch.open) }
})
