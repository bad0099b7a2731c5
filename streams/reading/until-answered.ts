/**
 * Waits until the database answers, which may be unavailable for a while; the log keeps everything meanwhile. A refusal
 * is an answer.
 */
import { Effect, Schedule } from "effect"
import type { SqlError } from "effect/sql"
import { isRefused } from "./refusal.ts"

export const backoff = Schedule.min([Schedule.exponential("100 millis"), Schedule.spaced("5 seconds")]).pipe(
  Schedule.jittered
)

export const untilAnswered = <A, E extends { readonly _tag: string }, R>(
  effect: Effect.Effect<A, E | SqlError.SqlError, R>
) =>
  effect.pipe(
    Effect.tapError((error) =>
      error._tag === "SqlError" && !isRefused(error as SqlError.SqlError)
        ? Effect.logError("Counts could not be written; tried again until it works", error)
        : Effect.void
    ),
    Effect.retry({
      schedule: backoff,
      while: (error) => error._tag === "SqlError" && !isRefused(error as SqlError.SqlError)
    })
  )
