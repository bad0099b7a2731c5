/**
 * Every half minute a process renews its leases, and sweeps those of processes that stopped doing so: their units count
 * as used.
 */
import { Cause, Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { TimelyStatements } from "./statements.ts"

const RENEW_MS = 30_000
/** A lease that was not renewed for this long belongs to a dead process. */
const DEAD_AFTER_MS = 180_000

export class Heartbeat {
  readonly #renewal: Effect.Effect<unknown, unknown>
  readonly #monotonic: () => number
  #renewedAt: number

  constructor(sql: SqlClient.SqlClient, process: string, statements: TimelyStatements, monotonic: () => number) {
    this.#monotonic = monotonic
    this.#renewedAt = monotonic()
    this.#renewal =
      statements.run(sql`WITH mine AS (UPDATE counter_leases SET seen_at = (extract(epoch FROM clock_timestamp()) * 1000)::int8 WHERE process = ${process} RETURNING process)
      DELETE FROM counter_leases WHERE process <> ${process} AND seen_at < (extract(epoch FROM clock_timestamp()) * 1000)::int8 - ${String(DEAD_AFTER_MS)}::text::int8`)
  }

  /** Renews the leases when due. A failure is logged and retried at the next renewal: five more fit in time. */
  readonly beat: Effect.Effect<void> = Effect.suspend(() => {
    if (this.#monotonic() - this.#renewedAt < RENEW_MS) return Effect.void
    this.#renewedAt = this.#monotonic()
    return Effect.catchCause(Effect.asVoid(this.#renewal), (cause) =>
      Cause.hasInterruptsOnly(cause)
        ? Effect.failCause(cause as Cause.Cause<never>)
        : Effect.logWarning(
            `Limits: the leases of this process could not be renewed; tried again in ${RENEW_MS / 1_000} s, and lost after ${DEAD_AFTER_MS / 1_000} s`,
            cause
          )
    )
  })
}
