/** Statements that are given up after a second, and whether Postgres is away because it lately did not answer one. */
import { Cause, Effect, Fiber, type Scope } from "effect"
import { CounterUnavailable } from "../counter.ts"
import { settlesWithin } from "./settles-within.ts"

export const STATEMENT_MAX_MS = 1_000
/** After a failure nobody waits for another until then. */
const AWAY_MS = 1_000

/** Sends statements apart from the waiter: abandoning a statement can itself wait for an unresponsive server. */
export class TimelyStatements {
  readonly #scope: Scope.Scope
  #isClosing = false

  constructor(scope: Scope.Scope) {
    this.#scope = scope
  }

  /** A scope that closes takes no fibers. */
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

/** Whether Postgres is away; one warning each time it goes. */
export class Availability {
  #awayUntil = -Infinity
  #isTold = false
  readonly #monotonic: () => number

  constructor(monotonic: () => number) {
    this.#monotonic = monotonic
  }

  isAway(): boolean {
    return this.#monotonic() < this.#awayUntil
  }

  /** A statement was answered. */
  answered(): void {
    this.#awayUntil = -Infinity
    this.#isTold = false
  }

  /** A process that stops tries once more, however long Postgres has been away. */
  tryAgain(): void {
    this.#awayUntil = -Infinity
  }

  /** From now on Postgres is away for a second. */
  failed(): void {
    this.#awayUntil = this.#monotonic() + AWAY_MS
  }

  /** Says why, unless that was said already. */
  warn(cause: Cause.Cause<unknown>): Effect.Effect<void> {
    if (this.#isTold || Cause.hasInterruptsOnly(cause)) return Effect.void
    this.#isTold = true
    return Effect.logWarning(
      "Limits: Postgres does not answer; using the units in hand, then a bounded number on credit",
      cause
    )
  }
}
