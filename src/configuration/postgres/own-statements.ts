/** This module's own statements, which also show whether Postgres is reachable. */
import { Cause, Effect } from "effect"
import type { SqlError } from "effect/sql"

/** The statements are point reads; one that takes longer is on a dead connection. */
const STATEMENT_MAX_MS = 3_000

export class OwnStatements {
  readonly #now: () => number
  #answeredAt: number
  /** First and latest failure of Postgres since its last response. */
  #awaySince: number | undefined
  #failedAt = -Infinity

  /** `now` returns milliseconds of the monotonic clock. */
  constructor(now: () => number) {
    this.#now = now
    this.#answeredAt = now()
  }

  /** Whether Postgres has responded to anything since then. */
  hasAnsweredSince(at: number): boolean {
    return this.#answeredAt >= at
  }

  /** Whether failures have lasted for `ms`; a single one from before this process froze does not count. */
  hasFailedFor(ms: number): boolean {
    return this.#awaySince !== undefined && this.#failedAt - this.#awaySince >= ms
  }

  readonly run = <A>(statement: Effect.Effect<A, SqlError.SqlError>) =>
    Effect.timeout(statement, STATEMENT_MAX_MS).pipe(
      Effect.tap(() =>
        Effect.sync(() => {
          this.#answeredAt = this.#now()
          this.#awaySince = undefined
        })
      ),
      Effect.tapCause((cause) => this.#failed(cause))
    )

  #failed(cause: Cause.Cause<unknown>): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (Cause.hasInterruptsOnly(cause)) return Effect.void
      const isNew = this.#awaySince === undefined
      this.#failedAt = this.#now()
      this.#awaySince ??= this.#failedAt
      return isNew ? Effect.logWarning("Configuration: Postgres does not answer; asked again", cause) : Effect.void
    })
  }
}
