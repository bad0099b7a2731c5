/**
 * How dispatchers are notified of work immediately, in this process or another: Postgres' notifications, which arrive
 * when the transaction that caused them commits. An empty text means that the outbox has rows (sent by a trigger), any
 * other names an endpoint with something due. A lost signal costs time, never a delivery.
 */
import { PgClient } from "@effect/sql-pg"
import { Cause, Effect, Queue } from "effect"
import { SqlClient } from "effect/sql"

const channel = "dowser_webhooks"
/** Delay after a lost connection. */
const AGAIN_MS = 1_000

export const signalDue = (endpointId: string) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) => sql`SELECT pg_notify(${channel}, ${endpointId})`)

/**
 * Calls back for each signal, and with undefined whenever some may have been missed. Holds one connection. Never ends.
 */
export const listenSignals = (onSignal: (endpointId: string | undefined) => void) =>
  Effect.flatMap(PgClient.PgClient, (pg) =>
    Effect.forever(
      Effect.andThen(
        Effect.catchCause(
          Effect.scoped(
            Effect.gen(function* () {
              const signals = yield* pg.listen(channel)
              onSignal(undefined)
              for (;;) for (const { payload } of yield* Queue.takeAll(signals)) onSignal(payload ?? "")
            })
          ),
          (cause) =>
            Cause.hasInterruptsOnly(cause)
              ? Effect.interrupt
              : Effect.logWarning(
                  "Webhooks: Postgres sends no more notifications; listening again, meanwhile the tables are read once a minute",
                  cause
                )
        ),
        Effect.sleep(AGAIN_MS)
      )
    )
  )
