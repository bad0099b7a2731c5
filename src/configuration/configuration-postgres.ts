/**
 * Configuration for one of several processes over one Postgres. A write takes the next version in its transaction and
 * notifies all processes; each process reads the changes up to a version, then confirms it; the writer responds when
 * every lease has confirmed or ended. A request finds this process in one of four states:
 *
 * - held: the lease is renewed; memory has every acknowledged write, and requests are answered from it.
 * - silent: the lease may be over, because this process stood still or Postgres does not respond. Each request first
 *   reads what changed; no writer waits for this process.
 * - away: Postgres has not responded for a while. Memory is used as it is, for `SERVED_WITHOUT_POSTGRES_MS`;
 *   then requests are refused.
 * - unread: Postgres responds, but the changes cannot be read. Requests are refused, and the lease is released.
 *
 * From each of them a new lease leads back to held: first the row, then everything written before it existed.
 */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Queue, Semaphore } from "effect"
import { SqlClient } from "effect/sql"
import { makeAuditRecorder } from "../audit/record.ts"
import type { RowReaders } from "../identity/row-readers.ts"
import { Identifiers } from "@dowser/log/identifiers"
import type { Change } from "./change.ts"
import { Configuration, type ConfigurationShape, SERVED_WITHOUT_POSTGRES_MS, unreadable } from "./configuration.ts"
import { ConfigurationUnavailable } from "../http/errors.ts"
import { makeLeasesRepository } from "./leases-repository.ts"
import { LEASE_MS } from "./leases.ts"
import { ChangeReader } from "./postgres/change-reader.ts"
import { listening } from "./postgres/notifications.ts"
import { OtherLeases } from "./postgres/other-leases.ts"
import { OwnLease } from "./postgres/own-lease.ts"
import { OwnStatements } from "./postgres/own-statements.ts"
import { makeRooms } from "./rooms.ts"

/** How long a request waits for a read from Postgres; once failures have lasted this long, requests no longer wait. */
const AWAY_AFTER_MS = 1_000
/** Decision: a write that is stored but not confirmed everywhere by then is reported as unavailable, not as done. */
const CONFIRM_WITHIN_MS = 10_000
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

/** The state of this process. */
interface ProcessState {
  readonly lease: OwnLease
  readonly others: OtherLeases
  readonly reader: ChangeReader
  readonly statements: OwnStatements
  /** Milliseconds of the monotonic clock. */ readonly now: () => number
}

/** Keeps the lease and reads changes until the scope closes, then gives up the lease. */
const hold = Effect.fnUntraced(function* (
  own: PgClient.PgClient,
  rooms: ReturnType<typeof makeRooms>,
  lease_ms: number
) {
  const scope = yield* Effect.scope
  const member = yield* (yield* Identifiers).make("cfg")
  const now = () => performance.now()
  const repository = makeLeasesRepository(own)
  const statements = new OwnStatements(now)
  const applied = yield* Effect.orDie(repository.version)
  // If the notification fails, the writer waits until the next renewal, which confirms the same version.
  const onNews = (version: number) =>
    lease.holding === undefined
      ? Effect.void
      : Effect.ignore(statements.run(repository.confirm(lease.holding, version)))
  const reader = new ChangeReader(
    { repository, rooms, statements, now, onNews },
    applied,
    yield* Queue.sliding<void>(1),
    yield* Semaphore.make(1)
  )
  const others = new OtherLeases({
    repository,
    statements,
    lease_ms,
    now,
    isOwn: (process) => process === lease.holding
  })
  const lease: OwnLease = new OwnLease({ repository, statements, reader, others, member, lease_ms, now })
  const heard = listening(own, {
    onListening: () => reader.want(),
    onChange: () => reader.fellBehind(now()),
    onConfirmed: (process, version) => others.hear(process, version)
  })
  yield* Effect.addFinalizer(() =>
    Effect.suspend(() => {
      lease.letGo()
      return Effect.ignore(Effect.timeout(repository.leave(member), LEAVE_WITHIN_MS))
    })
  )
  for (const loop of [reader.loop, heard, lease.loop]) yield* Effect.forkIn(loop, scope)
  const held: ProcessState = { lease, others, reader, statements, now }
  return held
})

/** Resolves when memory is current, or when it may be used as it is while Postgres is unavailable. */
const currentOf = ({ lease, now, reader, statements }: ProcessState, servedWithoutPostgres_ms: number) => {
  const degraded = Effect.suspend(() =>
    now() - Math.max(reader.readAt, lease.validUntil) < servedWithoutPostgres_ms
      ? Effect.void
      : Effect.fail(unreadable())
  )
  return Effect.suspend(() => {
    if (now() < lease.validUntil) return Effect.void
    if (statements.hasFailedFor(AWAY_AFTER_MS)) return degraded
    const arrivedAt = now()
    return Effect.timeoutOrElse(reader.freshly, {
      duration: AWAY_AFTER_MS,
      orElse: () => (statements.hasAnsweredSince(arrivedAt) ? Effect.fail(unreadable()) : degraded)
    })
  })
}

const make = Effect.fnUntraced(function* (
  own: PgClient.PgClient,
  { lease_ms = LEASE_MS, servedWithoutPostgres_ms = SERVED_WITHOUT_POSTGRES_MS }: ConfigurationOptions
) {
  const sql = yield* SqlClient.SqlClient
  const audit = yield* makeAuditRecorder
  const writing = makeLeasesRepository(sql)
  const rooms = makeRooms()
  const held = yield* hold(own, rooms, lease_ms)
  const { lease, now, others, reader } = held
  /** Whether this process and every lease have the version, in time. */
  const isConfirmed = (version: number) =>
    Effect.suspend(() =>
      Effect.andThen(reader.applied < version ? reader.freshly : Effect.void, others.confirmed(version))
    ).pipe(
      Effect.as(true),
      Effect.orElseSucceed(() => false),
      Effect.timeoutOrElse({ duration: CONFIRM_WITHIN_MS, orElse: () => Effect.succeed(false) })
    )
  const shape: ConfigurationShape = {
    damages: rooms.damages,
    isCurrent: () => now() < lease.validUntil,
    current: currentOf(held, servedWithoutPostgres_ms),
    keep: reader.keep,
    write: Effect.fnUntraced(function* <A, E>(change: Change, effect: Effect.Effect<A, E>) {
      const { answer, version } = yield* sql.withTransaction(
        Effect.gen(function* () {
          const answer = yield* audit.recorded(change, effect)
          return { answer, version: yield* writing.nextVersion(change) }
        })
      )
      if (!(yield* isConfirmed(version))) return yield* unconfirmedWrite()
      return answer
    })
  }
  return Configuration.of(shape)
})

/**
 * `connection` is a separate client for leases and notifications, with at least three connections, so that no pool
 * queue can make a lease end.
 */
export const layerPostgres = <E>(
  connection: Layer.Layer<PgClient.PgClient, E>,
  options: ConfigurationOptions = {}
): Layer.Layer<Configuration, E, Identifiers | RowReaders | SqlClient.SqlClient> =>
  // Built here rather than provided, because the transactions of writes belong to the rooms' client.
  Layer.effect(
    Configuration,
    Effect.flatMap(Layer.build(Layer.fresh(connection)), (own) => make(Context.get(own, PgClient.PgClient), options))
  )
