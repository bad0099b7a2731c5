/**
 * Configuration of one of several processes over one Postgres. A write takes the next version in its transaction and
 * tells everybody; each process reads what changed up to a version, then confirms it; the writer answers when every
 * lease has confirmed or ended.
 *
 *   held     the lease is renewed; memory has every write that was answered: requests are answered from it
 * silent the lease may be over (this process stood still, or Postgres does not answer): each request first reads what
 *   changed. Nobody waits for this process away Postgres has not answered anything for a while: memory as it is, for
 *   SERVED_WITHOUT_POSTGRES_MS; then refused unread Postgres answers and what changed cannot be read: refused. The
 *   lease is let go
 *
 * From all of them a new lease leads back to held: the row first, then whatever was written until it was there.
 */
import { PgClient } from "@effect/sql-pg"
import { Cause, Context, Deferred, Effect, Layer, Queue, Semaphore } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { makeAuditRecorder } from "../audit/record.ts"
import type { RowReaders } from "../audit/subjects.ts"
import { Identifiers } from "@dowser/log/identifiers"
import type { Change } from "./change.ts"
import { Configuration, SERVED_WITHOUT_POSTGRES_MS, unreadable } from "./configuration.ts"
import { ConfigurationUnavailable } from "./errors.ts"
import { channel, makeLeasesRepository } from "./leases-repository.ts"
import { ended, LEASE_MS, leaseEnd, mayRenew, type Observed, observe, unconfirmed } from "./leases.ts"
import { makeRooms } from "./rooms.ts"

/** In one lease: two renewals may fail. */
const RENEWALS = 3
/** A read-through waits this long for Postgres, and the next ones no more. */
const AWAY_AFTER_MS = 1_000
/** Between attempts to read, doubling; to listen again. */
const AGAIN_MS = 50
const AGAIN_MAX_MS = 400
const LISTEN_AGAIN_MS = 200
/** Statements here are point reads; one that takes longer is on a connection that is dead and does not know it. */
const STATEMENT_MAX_MS = 3_000
/** Decision: a write that is stored and not confirmed everywhere by then is answered as unavailable, not as done. */
const CONFIRM_WITHIN_MS = 10_000
/** The rows are read again this often while confirmations are awaited: for what a lost connection did not tell. */
const LOOK_AGAIN_MS = 100
const LEAVE_WITHIN_MS = 1_000

export interface ConfigurationOptions {
  readonly lease_ms?: number
  readonly servedWithoutPostgres_ms?: number
}

const unconfirmedWrite = () =>
  new ConfigurationUnavailable({
    message: "The change is stored, but not every server could be asked whether it has it; send it again to be sure.",
    retry_after_s: 1
  })

interface Waiting {
  readonly arrivedAt: number
  readonly done: Deferred.Deferred<void>
}

const make = Effect.fnUntraced(function* (
  own: PgClient.PgClient,
  { lease_ms = LEASE_MS, servedWithoutPostgres_ms = SERVED_WITHOUT_POSTGRES_MS }: ConfigurationOptions
) {
  const sql = yield* SqlClient.SqlClient
  const scope = yield* Effect.scope
  const member = yield* (yield* Identifiers).make("cfg")
  const audit = yield* makeAuditRecorder
  const writing = makeLeasesRepository(sql)
  const repository = makeLeasesRepository(own)
  const rooms = makeRooms()
  const now = () => performance.now()

  /** Memory has every change up to this version. */
  let applied = yield* Effect.orDie(repository.version)
  /** Memory has every change that was committed before this moment. */
  let readAt = now()
  let validUntil = -Infinity
  let holding: string | undefined
  let joins = 0
  let behindSince: number | undefined
  let answeredAt = now()
  /** First and newest failure of Postgres since it answered. */
  let awaySince: number | undefined,
    failedAt = -Infinity
  let isUnreadTold = false
  let observed: ReadonlyMap<string, Observed> = new Map()
  /** Newest versions told by other processes, at most one for each lease. */
  const heard = new Map<string, number>()
  let told = Deferred.makeUnsafe<void>()
  /** Requests and writes that wait for a reading; each leaves after its time. */
  const waiting = new Set<Waiting>()
  const wanted = yield* Queue.sliding<void>(1)

  /** A statement of ours, which also tells whether Postgres is there. */
  const timely = <A>(statement: Effect.Effect<A, SqlError.SqlError>) =>
    Effect.timeout(statement, STATEMENT_MAX_MS).pipe(
      Effect.tap(() =>
        Effect.sync(() => {
          answeredAt = now()
          awaySince = undefined
        })
      ),
      Effect.tapCause((cause) =>
        Effect.suspend(() => {
          if (Cause.hasInterruptsOnly(cause)) return Effect.void
          const isNew = awaySince === undefined
          failedAt = now()
          awaySince ??= failedAt
          return isNew ? Effect.logWarning("Configuration: Postgres does not answer; asked again", cause) : Effect.void
        })
      )
    )

  const unread = (cause: Cause.Cause<unknown>) =>
    Effect.suspend(() => {
      if (isUnreadTold || Cause.hasInterruptsOnly(cause)) return Effect.void
      isUnreadTold = true
      return Effect.logError("Configuration: what changed cannot be read; tried again", cause)
    })
  const reading = yield* Semaphore.make(1)
  const read = reading.withPermits(1)(
    Effect.gen(function* () {
      const startedAt = now()
      const { changes, version } = yield* timely(repository.changesSince(applied))
      if (changes === "all" || changes.length > 0) yield* Effect.tapCause(rooms.load(changes), unread)
      const isNews = version > applied
      applied = version
      readAt = startedAt
      behindSince = undefined
      isUnreadTold = false
      for (const one of waiting) {
        if (one.arrivedAt > startedAt) continue
        waiting.delete(one)
        Deferred.doneUnsafe(one.done, Effect.void)
      }
      if (waiting.size > 0) Queue.offerUnsafe(wanted, undefined)
      // A failure costs the writer the time until the next renewal, which tells the same.
      if (isNews && holding !== undefined) yield* Effect.ignore(timely(repository.confirm(holding, version)))
    })
  )
  const reader = Effect.forever(
    Effect.andThen(
      Queue.take(wanted),
      Effect.suspend(() => attempt(AGAIN_MS))
    )
  )
  const attempt = (again_ms: number): Effect.Effect<void> =>
    Effect.catchCause(read, (cause) => {
      if (Cause.hasInterruptsOnly(cause)) return Effect.interrupt
      behindSince ??= now()
      return Effect.andThen(
        Effect.sleep(again_ms),
        Effect.suspend(() => attempt(Math.min(2 * again_ms, AGAIN_MAX_MS)))
      )
    })
  /** Settles once a reading that began after the call is done. */
  const freshly = Effect.suspend(() => {
    const one: Waiting = { arrivedAt: now(), done: Deferred.makeUnsafe() }
    waiting.add(one)
    Queue.offerUnsafe(wanted, undefined)
    return Effect.ensuring(
      Deferred.await(one.done),
      Effect.sync(() => {
        waiting.delete(one)
      })
    )
  })

  const endSilent = Effect.suspend(() =>
    Effect.forEach(
      ended(observed, now(), lease_ms).filter(({ process }) => process !== holding),
      (lease) => timely(repository.end(lease)),
      { discard: true }
    )
  )
  const look = Effect.map(timely(repository.leases), (leases) => (observed = observe(observed, leases, now())))
  const join = Effect.gen(function* () {
    holding = undefined
    validUntil = -Infinity
    const process = `${member}.${++joins}`
    const sentAt = now()
    yield* timely(repository.join(process, applied))
    holding = process
    // Writes that were answered before the row was there did not wait for it.
    yield* freshly
    validUntil = leaseEnd(sentAt, lease_ms)
  })
  const renew = Effect.gen(function* () {
    if (holding === undefined) return yield* join
    const sentAt = now()
    if (!mayRenew(behindSince, sentAt, lease_ms)) return
    const renewed = yield* timely(repository.renew(holding, applied))
    if (renewed === undefined) return yield* join
    validUntil = leaseEnd(sentAt, lease_ms)
    if (renewed.version > applied) {
      behindSince ??= sentAt
      Queue.offerUnsafe(wanted, undefined)
    }
    observed = observe(observed, renewed.leases, now())
    for (const process of heard.keys()) if (!observed.has(process)) heard.delete(process)
    yield* endSilent
  })
  // What fails was told where it was asked; the next renewal tries again.
  const renewing = Effect.forever(
    Effect.andThen(
      Effect.catchCause(renew, (cause) =>
        Cause.hasInterruptsOnly(cause)
          ? Effect.interrupt
          : Cause.hasDies(cause)
            ? Effect.logError("Configuration: a renewal of the lease failed for a reason of ours", cause)
            : Effect.void
      ),
      Effect.sleep(lease_ms / RENEWALS)
    )
  )

  const onNotification = (payload: string) => {
    if (payload === "") {
      behindSince ??= now()
      return void Queue.offerUnsafe(wanted, undefined)
    }
    const [process, version] = payload.split(" ") as [string, string]
    if (process === holding) return
    heard.set(process, version === "gone" ? Infinity : Math.max(heard.get(process) ?? 0, Number(version)))
    const before = told
    told = Deferred.makeUnsafe()
    Deferred.doneUnsafe(before, Effect.void)
  }
  let isDeaf = false
  const deaf = (cause: Cause.Cause<unknown>) =>
    Effect.suspend(() => {
      const isNew = !isDeaf
      isDeaf = true
      return isNew
        ? Effect.logWarning(
            "Configuration: Postgres no longer tells of changes; listened again, meanwhile renewals of the lease ask",
            cause
          )
        : Effect.void
    })
  const listening = Effect.forever(
    Effect.andThen(
      Effect.catchCause(
        Effect.scoped(
          Effect.gen(function* () {
            const notifications = yield* own.listen(channel)
            isDeaf = false
            // Whatever was told while nobody listened.
            Queue.offerUnsafe(wanted, undefined)
            for (;;) for (const { payload } of yield* Queue.takeAll(notifications)) onNotification(payload ?? "")
          })
        ),
        (cause) => (Cause.hasInterruptsOnly(cause) ? Effect.interrupt : deaf(cause))
      ),
      Effect.sleep(LISTEN_AGAIN_MS)
    )
  )

  /** Until every lease has the version or has ended. */
  const confirmed = Effect.fnUntraced(function* (version: number) {
    if (applied < version) yield* freshly
    // Kept here: a renewal that was sent earlier may answer later, with leases of before the commit.
    let after = yield* look
    for (;;) {
      // Taken before looking, so that what is told meanwhile is not missed.
      const next = told
      const missing = unconfirmed(after, heard, version).filter(({ process }) => process !== holding)
      if (missing.length === 0) return
      const over_ms = Math.min(...missing.map(({ seenAt }) => seenAt + lease_ms - now()))
      const isTold =
        over_ms > 0 &&
        (yield* Effect.timeoutOption(Deferred.await(next), Math.min(over_ms, LOOK_AGAIN_MS)))._tag === "Some"
      if (isTold) continue
      yield* endSilent
      after = yield* look
    }
  })
  const degraded = Effect.suspend(() =>
    now() - Math.max(readAt, validUntil) < servedWithoutPostgres_ms ? Effect.void : Effect.fail(unreadable())
  )

  yield* Effect.addFinalizer(() =>
    Effect.suspend(() => {
      holding = undefined
      validUntil = -Infinity
      return Effect.ignore(Effect.timeout(repository.leave(member), LEAVE_WITHIN_MS))
    })
  )
  for (const loop of [reader, listening, renewing]) yield* Effect.forkIn(loop, scope)
  return Configuration.of({
    damages: rooms.damages,
    isCurrent: () => now() < validUntil,
    current: Effect.suspend(() => {
      if (now() < validUntil) return Effect.void
      // Failures that lasted, not one that a frozen process remembers.
      if (awaySince !== undefined && failedAt - awaySince >= AWAY_AFTER_MS) return degraded
      const arrivedAt = now()
      return Effect.timeoutOrElse(freshly, {
        duration: AWAY_AFTER_MS,
        orElse: () => (answeredAt >= arrivedAt ? Effect.fail(unreadable()) : degraded)
      })
    }),
    keep: (kind, load) => reading.withPermits(1)(Effect.orDie(rooms.keep(kind, load))),
    write: Effect.fnUntraced(function* <A, E>(change: Change, effect: Effect.Effect<A, E>) {
      const { answer, version } = yield* sql.withTransaction(
        Effect.gen(function* () {
          const answer = yield* audit.recorded(change, effect)
          return { answer, version: yield* writing.nextVersion(change) }
        })
      )
      yield* Effect.timeoutOrElse(
        Effect.orElseSucceed(Effect.as(confirmed(version), true), () => false),
        { duration: CONFIRM_WITHIN_MS, orElse: () => Effect.succeed(false) }
      ).pipe(Effect.flatMap((isConfirmed) => (isConfirmed ? Effect.void : Effect.fail(unconfirmedWrite()))))
      return answer
    })
  })
})

/**
 * `connection`: a client for leases and notifications alone, at least three connections, so that no queue of a pool
 * makes a lease end.
 */
export const layerPostgres = <E>(
  connection: Layer.Layer<PgClient.PgClient, E>,
  options: ConfigurationOptions = {}
): Layer.Layer<Configuration, E, Identifiers | RowReaders | SqlClient.SqlClient> =>
  // Built beside and not provided: the transactions of writes are those of the rooms' client.
  Layer.effect(
    Configuration,
    Effect.flatMap(Layer.build(Layer.fresh(connection)), (own) => make(Context.get(own, PgClient.PgClient), options))
  )
