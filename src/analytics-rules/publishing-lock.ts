/**
 * A rule's counts are in Postgres and in a document of the engine; a round updates both, one after the other. A
 * backup, which copies both stores, blocks rounds until both copies are of one moment: otherwise, what was added to a
 * document after the copy of Postgres would be added again. The lock is in Postgres, so that it ends with its holder.
 */
import { Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"

const LOCK = "hashtextextended('dowser: figures in documents', 0)"

/** Runs the round unless rounds are blocked; the next one follows soon enough. Uses one connection meanwhile. */
export const unlessHeldOff = <E, R>(
  round: Effect.Effect<void, E, R>
): Effect.Effect<void, E | SqlError.SqlError, R | SqlClient.SqlClient> =>
  Effect.scoped(
    Effect.gen(function* () {
      const connection = yield* (yield* SqlClient.SqlClient).reserve
      const [{ held }] = (yield* connection.execute(
        `SELECT pg_try_advisory_lock_shared(${LOCK}) AS held`,
        [],
        undefined
      )) as readonly [{ readonly held: boolean }]
      if (!held) return
      yield* Effect.ensuring(
        round,
        Effect.ignore(connection.execute(`SELECT pg_advisory_unlock_shared(${LOCK})`, [], undefined))
      )
    })
  )

/** Blocks rounds until the scope closes; returns once none runs. `wait_ms`: limit for a round in progress. */
export const holdOff = (wait_ms: number) =>
  Effect.gen(function* () {
    const connection = yield* (yield* SqlClient.SqlClient).reserve
    yield* connection.execute(`SELECT set_config('lock_timeout', '${wait_ms}', false)`, [], undefined)
    yield* Effect.acquireRelease(connection.execute(`SELECT pg_advisory_lock(${LOCK})`, [], undefined), () =>
      Effect.ignore(connection.execute(`SELECT pg_advisory_unlock(${LOCK})`, [], undefined))
    )
  })
