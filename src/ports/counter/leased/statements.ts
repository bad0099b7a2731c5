/** Statements with a time limit of a second, and whether Postgres recently failed to answer one. */
import { Cause, Effect, Fiber, type Scope } from "effect"
import { CounterUnavailable } from "../counter.ts"
import { settlesWithin } from "./settles-within.ts"

export const STATEMENT_MAX_MS = 1_000
/** After a failure, callers do not wait for statements until this time has passed. */
const AWAY_MS = 1_000

/** Sends statements in their own fibers, because abandoning one can itself block on an unresponsive server. */
export class TimelyStatements {
  readonly #scope: Scope.Scope
  #isClosing = false

  constructor(scope: Scope.Scope) {
    this.#scope = scope
  }

  /** A closing scope accepts no new fibers. */
  close(): void {
    this.#isClosing = true
  }

  #fork<A, E>(effect: Effect.Effect<A, E>) {
    return this.#isClosing ? Effect.forkDetach(effect) : Effect.forkIn(effect, this.#scope)
  }

  /** Fails with `CounterUnavailable` after `STATEMENT_MAX_MS`. */
  run<A, E>(statement: Effect.Effect<A, E>): Effect.Effect<A, E | CounterUnavailable> {
    return Effect.gen({ self: this }, function* () {
      const fiber = yield* this.#fork(statement)
      const answer = yield* settlesWithin(Fiber.await(fiber), STATEMENT_MAX_MS)
      if (answer._tag === "Some") return yield* answer.value
      yield* this.#fork(Fiber.interrupt(fiber))
      return yield* new CounterUnavailable({ message: "Postgres does not answer in time." })
    })
  }
}

/** Whether Postgres is available; logs one warning each time it becomes unavailable. */
export class Availability {
  #awayUntil = -Infinity
  #isWarned = false
  readonly #monotonic: () => number

  constructor(monotonic: () => number) {
    this.#monotonic = monotonic
  }

  isAway(): boolean {
    return this.#monotonic() < this.#awayUntil
  }

  /** Called when a statement was answered. */
  answered(): void {
    this.#awayUntil = -Infinity
    this.#isWarned = false
  }

  /** Lets a stopping process try once more, however long Postgres has been unavailable. */
  tryAgain(): void {
    this.#awayUntil = -Infinity
  }

  /** Marks Postgres as unavailable for a second. */
  failed(): void {
    this.#awayUntil = this.#monotonic() + AWAY_MS
  }

  /** Logs the reason, unless it was logged already. */
  warn(cause: Cause.Cause<unknown>): Effect.Effect<void> {
    if (this.#isWarned || Cause.hasInterruptsOnly(cause)) return Effect.void
    this.#isWarned = true
    return Effect.logWarning(
      "Limits: Postgres does not answer; using the units in hand, then a bounded number on credit",
      cause
    )
  }
}
