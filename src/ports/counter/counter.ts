/**
 * Budgets of a window: a key's requests per minute, an organization's searches per month, an AI session's calls per
 * hour. Taking a unit costs a memory look-up. If several processes share a budget, or it must survive a restart, they
 * lease units from Postgres in blocks (`leased-sql.ts`). A budget never grants more units than it has.
 *
 * Decision: the clock of the counting process determines the window (minutes and months of UTC). A wrong clock charges
 * a request to the neighbouring window; within each window the limit holds whatever the clocks say.
 */
import { Context, type Effect, Schema, type Scope } from "effect"

/** One window of one budget. */
export interface Budget {
  readonly name: string
  /** Infinity for a budget whose units are counted and never refused. */ readonly limit: number
  /** Unix milliseconds; identifies the window together with `name`. */ readonly started_at: number
  readonly ends_at: number
}
/** `remaining`: the units that this process holds, plus those that were unassigned at its last exchange. */
export interface Taken {
  readonly isAllowed: boolean
  readonly remaining: number
}

/** No units could be obtained, and the credit for outages is used up. */
export class CounterUnavailable extends Schema.TaggedError<CounterUnavailable>()("CounterUnavailable", {
  message: Schema.String
}) {}

export interface CounterOptions {
  /** Budgets of different kinds are independent. */ readonly kind: string
  /** Whether budgets survive a restart. A killed process costs a budget at most the units it held: `HELD_MAX`. */
  readonly isDurable: boolean
  /**
   * Maximum number of budgets in memory. Beyond that the oldest is evicted: a volatile one starts its window again, a
   * leased one returns the units it held.
   */
  readonly entriesMax: number
  /**
   * Units of each budget, at most its limit, that a process grants while Postgres is unavailable; they are counted once
   * it is back.
   */
  readonly creditMax: number
  /** How long rows are kept after their window. */ readonly kept_ms: number
  /** Called after each exchange with Postgres with the units used by all processes. */ readonly onUsed?: (
    budget: Budget,
    used: number
  ) => void
}

export interface Counter {
  /**
   * Takes units without waiting, all or none; undefined if Postgres must be queried (`ask`). O(1), allocates only the
   * answer.
   */
  readonly take: (budget: Budget, units: number) => Taken | undefined
  /** Like `take`, with a round trip if needed; concurrent callers share one. */
  readonly ask: (budget: Budget, units: number) => Effect.Effect<Taken, CounterUnavailable>
  /** Reads the state of a budget without taking anything. */
  readonly peek: (budget: Budget) => Taken
  /** Returns units that were taken but not used. */
  readonly giveBack: (budget: Budget, units: number) => void
  /** Counts units regardless of the limit. */
  readonly add: (budget: Budget, units: number) => void
  /** Units used by all processes, each of which reports within two seconds. A shared budget costs one statement. */
  readonly used: (budget: Budget) => Effect.Effect<number, CounterUnavailable>
}

/** Maximum number of units of one budget that one process holds. */
export const HELD_MAX = 256

export class Counters extends Context.Service<
  Counters,
  {
    readonly open: (options: CounterOptions) => Effect.Effect<Counter, never, Scope.Scope>
  }
>()("dowser/ports/Counters") {}
