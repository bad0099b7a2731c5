/**
 * Waiters for changes of a thread, in this process. Postgres notifies every process when a message is committed; a lost
 * notification costs time, never a message, because a stream reads everything after the last message it sent.
 */
import { PgClient } from "@effect/sql-pg"
import { Cause, Effect, Queue, Scope } from "effect"
import { SqlClient } from "effect/sql"

const CHANNEL = "dowser_support"
/** Delay after a lost connection. */
const AGAIN_MS = 1_000

/** Call in the transaction of the change. */
export const notifyThread = (organizationId: string, threadId: string) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) => sql`SELECT pg_notify(${CHANNEL}, ${`${organizationId} ${threadId}`})`)

interface LiveThreads {
  /** Calls `wake` whenever there may be changes, until the returned function is called. */
  readonly watch: (organizationId: string, threadId: string, wake: () => void) => Effect.Effect<() => void>
}

/** Holds one connection from the first stream on. */
export const makeLiveThreads = Effect.gen(function* () {
  const pg = yield* PgClient.PgClient
  const scope = yield* Scope.Scope
  const waiting = new Map<string, Set<() => void>>()
  const wakeAll = () => {
    for (const wakes of waiting.values()) for (const wake of wakes) wake()
  }
  const heard = Effect.scoped(
    Effect.gen(function* () {
      const news = yield* pg.listen(CHANNEL)
      // Some notifications may have been missed.
      wakeAll()
      for (;;)
        for (const { payload = "" } of yield* Queue.takeAll(news)) for (const wake of waiting.get(payload) ?? []) wake()
    })
  )
  const listening = Effect.forever(
    Effect.andThen(
      Effect.catchCause(heard, (cause) =>
        Cause.hasInterruptsOnly(cause)
          ? Effect.interrupt
          : Effect.logWarning(
              "Support: Postgres sends no more notifications; listening again, meanwhile streams look every 15 s",
              cause
            )
      ),
      Effect.sleep(AGAIN_MS)
    )
  )
  let isListening = false
  return {
    watch: Effect.fnUntraced(function* (organizationId, threadId, wake) {
      const key = `${organizationId} ${threadId}`
      const wakes = waiting.get(key) ?? new Set()
      waiting.set(key, wakes.add(wake))
      if (!isListening) {
        isListening = true
        yield* Effect.forkIn(listening, scope)
      }
      return () => {
        wakes.delete(wake)
        if (wakes.size === 0 && waiting.get(key) === wakes) waiting.delete(key)
      }
    })
  } satisfies LiveThreads
})
