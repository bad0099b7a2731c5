/**
 * Budgets of a window: requests of a key's minute, searches of an organization's month, an AI session's hour. Taking a
 * unit costs a memory look-up; if several processes share a budget, or it must survive this one, units come from
 * Postgres in blocks (`leased-sql.ts`). Never more units pass than the budget has.
 *
 * Decision: the counting process's clock names the window (minutes and months of UTC). A wrong clock charges a request
 * to the neighbouring window; within each window the limit holds whatever the clocks say.
 */
import { Context, type Effect, Schema, type Scope } from "effect"

/** One window of one budget. */
export interface Budget {
  readonly name: string
  /** Infinity: counted and never refused. */ readonly limit: number
  /** Unix milliseconds; names the window together with `name`. */ readonly started_at: number
  readonly ends_at: number
}
/** `remaining`: what this process holds plus what was unassigned when it last asked. */
export interface Taken {
  readonly isAllowed: boolean
  readonly remaining: number
}

/** Units could not be obtained, and the credit for such times is used up. */
export class CounterUnavailable extends Schema.TaggedError<CounterUnavailable>()("CounterUnavailable", {
  message: Schema.String
}) {}

export interface CounterOptions {
  /** Budgets of one kind do not meet those of another. */ readonly kind: string
  /** Survives a restart. A kill costs a budget at most what the process held: `HELD_MAX` units. */
  readonly isDurable: boolean
  /**
   * Budgets in memory; beyond it the oldest is forgotten: a volatile one begins its window again, a leased one gives
   * back what it held.
   */
  readonly entriesMax: number
  /**
   * Units of each budget, at most its limit, that a process lets pass while Postgres is away; they are counted when it
   * is back.
   */
  readonly creditMax: number
  /** How long rows are kept after their window. */ readonly kept_ms: number
  /** Called after each exchange with Postgres: units used by all processes. */ readonly onUsed?: (
    budget: Budget,
    used: number
  ) => void
}

export interface Counter {
  /**
   * Takes units at once, all or none; undefined where Postgres has to be asked (`ask`). O(1), no allocation beyond the
   * answer.
   */
  readonly take: (budget: Budget, units: number) => Taken | undefined
  /** Like `take`, with a round trip if needed: one for all who ask at the same time. */
  readonly ask: (budget: Budget, units: number) => Effect.Effect<Taken, CounterUnavailable>
  /** The state of a budget, without taking anything. */
  readonly peek: (budget: Budget) => Taken
  /** Units that were taken and not used after all. */
  readonly giveBack: (budget: Budget, units: number) => void
  /** Counts units whatever the limit. */
  readonly add: (budget: Budget, units: number) => void
  /** Units used by all processes, each of which reports within two seconds. One statement if it is shared. */
  readonly used: (budget: Budget) => Effect.Effect<number, CounterUnavailable>
}

/** Units of one budget in one process's hands, at most. */
export const HELD_MAX = 256

export class Counters extends Context.Service<
  Counters,
  {
    readonly open: (options: CounterOptions) => Effect.Effect<Counter, never, Scope.Scope>
  }
>()("dowser/ports/Counters") {}
