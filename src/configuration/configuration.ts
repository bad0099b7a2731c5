/**
 * Configuration as every request sees it: rows in Postgres, cached in the memory of the rooms that need them. A write
 * is acknowledged when every process has it, so that the next request sees it wherever it arrives; reads need no
 * communication. This file contains the service and its adapter for a single process; `configuration-postgres.ts` is
 * the one for several.
 */
import { Context, Effect, Layer, Semaphore } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { makeAuditRecorder } from "../audit/record.ts"
import type { Identifiers } from "@dowser/log/identifiers"
import type { Change, ConfigurationKind } from "./change.ts"
import { Damages } from "./damages.ts"
import { ConfigurationUnavailable } from "../http/errors.ts"
import { type Load, makeRooms } from "./rooms.ts"
import type { RowReaders } from "../identity/row-readers.ts"

/**
 * Decision: a process that cannot reach Postgres continues with its memory for one minute after the last moment at
 * which that was certainly current, then responds with 503. While Postgres is unavailable for an entire installation
 * nothing can be written, so nothing is stale; a single process that is cut off cannot know that, and accepts a key
 * that was revoked in the meantime for at most this minute. A minute is what a database needs to fail over, and short
 * for a stolen key.
 */
export const SERVED_WITHOUT_POSTGRES_MS = 60_000

export const unreadable = () =>
  new ConfigurationUnavailable({
    message:
      "The configuration cannot be read at the moment, and this server's copy is too old to use; send the request again.",
    retry_after_s: 5
  })

export interface ConfigurationShape {
  /** Whether memory has every write acknowledged before this moment. A read costs only this comparison. */
  readonly isCurrent: () => boolean
  /** Resolves when memory has every write acknowledged before the call; queries Postgres if `isCurrent` is false. */
  readonly current: Effect.Effect<void, ConfigurationUnavailable>
  /**
   * Rows that a `load` could not read: it records them here and continues, so that only their organization is affected.
   */
  readonly damages: Damages
  /** Calls `load` once for all rows before this resolves, then for changes. Never from two fibers at a time. */
  readonly keep: (kind: ConfigurationKind, load: Load) => Effect.Effect<void>
  /**
   * Runs the effect in a transaction, reads the changed row into memory here and in all other processes, then
   * returns. Rooms do not write to memory themselves. The change is recorded in the audit log, in the same
   * transaction. Fails with ConfigurationUnavailable if the change is stored but not every process could be reached.
   * Cost: a transaction, four statements of the audit log and a point read. With several processes, also a
   * notification to each and the point read of the slowest; it waits at most one lease for a process that ended, two
   * for one that cannot read. An installation commits its writes one at a time.
   */
  readonly write: <A, E>(
    change: Change,
    effect: Effect.Effect<A, E>
  ) => Effect.Effect<A, E | SqlError.SqlError | ConfigurationUnavailable>
}

export class Configuration extends Context.Service<Configuration, ConfigurationShape>()(
  "dowser/configuration/Configuration"
) {
  /** No other process writes to this database, so there are no versions, no leases, and no waiting. */
  static readonly layerEmbedded: Layer.Layer<Configuration, never, Identifiers | RowReaders | SqlClient.SqlClient> =
    Layer.effect(
      Configuration,
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const audit = yield* makeAuditRecorder
        const rooms = makeRooms()
        const reading = yield* Semaphore.make(1)
        /** Since when (monotonic ms) a row may have been written that could not be read. */
        let doubtfulSince: number | undefined

        const load = (changes: ReadonlyArray<Change> | "all") =>
          reading.withPermits(1)(
            Effect.matchCauseEffect(rooms.load(changes), {
              onSuccess: () =>
                Effect.sync(() => {
                  if (changes === "all") doubtfulSince = undefined
                }),
              onFailure: (cause) =>
                Effect.suspend(() => {
                  const isNew = doubtfulSince === undefined
                  doubtfulSince ??= performance.now()
                  return isNew
                    ? Effect.logError(
                        "Configuration was written and could not be read again; tried with the next request",
                        cause
                      )
                    : Effect.void
                })
            })
          )
        return Configuration.of({
          damages: rooms.damages,
          isCurrent: () => doubtfulSince === undefined,
          current: Effect.suspend(() =>
            doubtfulSince === undefined
              ? Effect.void
              : Effect.flatMap(load("all"), () =>
                  doubtfulSince === undefined || performance.now() - doubtfulSince < SERVED_WITHOUT_POSTGRES_MS
                    ? Effect.void
                    : Effect.fail(unreadable())
                )
          ),
          keep: (kind, room) => reading.withPermits(1)(Effect.orDie(rooms.keep(kind, room))),
          // The row is also read after a failure, because an interrupted commit may have happened.
          write: (change, effect) =>
            Effect.uninterruptible(
              Effect.onExit(sql.withTransaction(audit.recorded(change, effect)), () => load([change]))
            )
        })
      })
    )
}
