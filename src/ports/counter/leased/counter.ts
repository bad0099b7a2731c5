/**
 * A counter of budgets leased from Postgres: the table decides, the exchanger talks to Postgres, and one fiber runs the
 * exchanger for all callers. Waiting happens here.
 */
import { Clock, Deferred, Effect, Option, Queue } from "effect"
import { SqlClient } from "effect/sql"
import { type Budget, type Counter, type CounterOptions, CounterUnavailable } from "../counter.ts"
import { type BudgetEntry, BudgetTable } from "./budget-table.ts"
import { EXHAUSTED_MS } from "./exchange.ts"
import { Exchanger } from "./exchanger.ts"
import { Heartbeat } from "./heartbeat.ts"
import { settlesWithin } from "./settles-within.ts"
import { Availability, STATEMENT_MAX_MS, TimelyStatements } from "./statements.ts"

/** Interval between two reports of usage. */
const REPORT_MS = 1_000
/** How long others have to return recalled units: at least this, and this multiple of the last statement's time. */
const RECALL_WAIT_MS = 250
const RECALL_STATEMENTS = 4
/** After this many tries, the use of a budget that is constantly being exchanged is read anyway. */
const USED_TRIES = 25
const USED_AGAIN_MS = 20

/** What was granted to all processes in one window, minus what the others still hold. */
const usedStatement = (sql: SqlClient.SqlClient, process: string, kind: string, { name, started_at }: Budget) => sql<{
  readonly used: number
}>`SELECT (w.granted - coalesce((SELECT sum(l.held) FROM counter_leases l WHERE l.kind = w.kind AND l.name = w.name AND l.started_at = w.started_at AND l.process <> ${process}), 0))::float8 AS used
        FROM counter_windows w WHERE w.kind = ${kind} AND w.name = ${name} AND w.started_at = ${String(started_at)}::text::int8`

/** Called with the name of a budget about which another process reports. */
interface Recalls {
  readonly recall: (name: string) => void
  readonly returned: (name: string) => void
}
/** What the budgets of all kinds in a process share. */
export interface Shared {
  readonly process: string
  readonly isAlone: boolean
  /** By kind. */ readonly recalls: Map<string, Recalls>
}

const monotonic = () => performance.now()

class LeasedCounter implements Counter, Recalls {
  readonly #options: CounterOptions
  readonly #process: string
  readonly #sql: SqlClient.SqlClient
  readonly #now: () => number
  readonly #table: BudgetTable
  readonly #availability = new Availability(monotonic)
  readonly #statements: TimelyStatements
  readonly #exchanger: Exchanger
  readonly #heartbeat: Heartbeat
  readonly #wanted: Queue.Queue<void>
  #isReportDue = false

  constructor(
    options: CounterOptions,
    { isAlone, process }: Shared,
    sql: SqlClient.SqlClient,
    statements: TimelyStatements,
    wanted: Queue.Queue<void>,
    now: () => number
  ) {
    this.#options = options
    this.#process = process
    this.#sql = sql
    this.#now = now
    this.#statements = statements
    this.#wanted = wanted
    this.#table = new BudgetTable(options, { isAway: () => this.#availability.isAway(), wake: this.#wake })
    this.#exchanger = new Exchanger({
      sql,
      speaker: { process, isAlone, options },
      table: this.#table,
      availability: this.#availability,
      statements,
      now,
      monotonic
    })
    this.#heartbeat = new Heartbeat(sql, process, statements, monotonic)
  }

  readonly #wake = () => {
    Queue.offerUnsafe(this.#wanted, undefined)
  }

  readonly take: Counter["take"] = (budget, units) => {
    const now = this.#now()
    return this.#table.take(this.#table.entryOf(budget, now), units, now)
  }
  readonly peek: Counter["peek"] = (budget) => this.#table.peek(budget)
  readonly giveBack: Counter["giveBack"] = (budget, units) =>
    this.#table.giveBack(this.#table.entryOf(budget, this.#now()), units)
  readonly add: Counter["add"] = (budget, units) => this.#table.add(this.#table.entryOf(budget, this.#now()), units)

  readonly ask: Counter["ask"] = Effect.fnUntraced({ self: this }, function* (budget: Budget, units: number) {
    const entry = this.#table.entryOf(budget, this.#now())
    for (;;) {
      const taken = this.#table.take(entry, units, this.#now())
      if (taken !== undefined) return taken
      if (this.#availability.isAway())
        return (
          this.#table.takeOnCredit(entry, units) ??
          (yield* new CounterUnavailable({ message: "Units of a limit are not available at the moment." }))
        )
      entry.waiting += units
      // A recalled budget counts as waiting until the other processes have answered.
      yield* Effect.ensuring(
        Effect.andThen(this.#exchanged(entry), this.#recalled(entry, units)),
        Effect.sync(() => {
          entry.waiting -= units
        })
      )
    }
  })

  /** Completes after the next exchange that includes this budget; never fails. */
  readonly #exchanged = (entry: BudgetEntry): Effect.Effect<void> =>
    Effect.suspend(() => {
      entry.pending ??= Deferred.makeUnsafe<void>()
      entry.wantsBlock = true
      this.#table.want(entry)
      return Deferred.await(entry.pending)
    })

  /** Completes when the other processes have returned what was recalled, or their time for it is over. */
  readonly #recalled = (entry: BudgetEntry, units: number): Effect.Effect<void> =>
    Effect.suspend(() => {
      if (!entry.isRecalling || entry.held >= units) return Effect.void
      entry.returned ??= Deferred.makeUnsafe<void>()
      const time_ms = Math.min(
        STATEMENT_MAX_MS,
        Math.max(RECALL_WAIT_MS, RECALL_STATEMENTS * this.#exchanger.lastStatementMs)
      )
      return Effect.map(settlesWithin(Deferred.await(entry.returned), time_ms), (settled) => {
        // A process that does not answer is dead or stalled: its units are returned with its lease, or count as used.
        if (Option.isNone(settled) && entry.held < units)
          entry.exhaustedUntil = Math.min(entry.budget.ends_at, this.#now() + EXHAUSTED_MS)
      })
    })

  readonly used: Counter["used"] = (budget) =>
    Effect.mapError(
      this.#readUsed(budget, USED_TRIES),
      () => new CounterUnavailable({ message: "Usage cannot be read at the moment." })
    )

  readonly #readUsed = (budget: Budget, triesLeft: number): Effect.Effect<number, unknown> =>
    Effect.suspend(() => {
      const before = this.#table.get(budget.name)
      const exchanges = before?.exchanges
      return Effect.flatMap(
        this.#statements.run(usedStatement(this.#sql, this.#process, this.#options.kind, budget)),
        ([row]) => {
          const entry = this.#table.get(budget.name)
          // The statement in progress may or may not include this budget, so read again afterwards.
          if (triesLeft > 0 && (entry !== before || entry?.exchanges !== exchanges || entry?.isUnderWay === true))
            return Effect.andThen(Effect.sleep(USED_AGAIN_MS), this.#readUsed(budget, triesLeft - 1))
          const own =
            entry === undefined || entry.budget.started_at !== budget.started_at
              ? 0
              : entry.held + entry.back - entry.debt
          return Effect.succeed(Math.max(0, (row?.used ?? 0) - own))
        }
      )
    })

  readonly recall: Recalls["recall"] = (name) => {
    const entry = this.#table.get(name)
    // A process without units has already reported so.
    if (entry === undefined || (entry.reported === 0 && entry.held === 0 && !entry.isUnderWay)) return
    this.#table.recall(entry)
  }
  readonly returned: Recalls["returned"] = (name) => {
    const entry = this.#table.get(name)
    if (entry === undefined) return
    // The units arrived after this process stopped waiting, so there are some again.
    entry.exhaustedUntil = 0
    if (entry.returned === undefined) return
    Deferred.doneUnsafe(entry.returned, Effect.void)
    entry.returned = undefined
  }

  /** The only fiber that talks to Postgres. */
  readonly speaking: Effect.Effect<never> = Effect.forever(
    Effect.gen({ self: this }, function* () {
      yield* Queue.take(this.#wanted)
      // Callers in the same turn of the loop share the statement.
      yield* Effect.yieldNow
      if (this.#isReportDue) {
        this.#isReportDue = false
        if (!this.#availability.isAway()) {
          this.#table.sweep(this.#now())
          yield* this.#exchanger.report
          yield* this.#heartbeat.beat
        }
      }
      yield* this.#exchanger.exchangeAsked
    })
  )
  /** Reports usage every `REPORT_MS`. */
  readonly ticking: Effect.Effect<never> = Effect.forever(
    Effect.andThen(
      Effect.sleep(REPORT_MS),
      Effect.sync(() => {
        this.#isReportDue = true
        this.#wake()
      })
    )
  )

  /** Returns all units. */
  readonly close: Effect.Effect<void> = Effect.suspend(() => {
    this.#statements.close()
    this.#table.releaseAll()
    this.#availability.tryAgain()
    return this.#exchanger.reportLast
  })
}

/** Opens the budgets of one kind until the scope closes; then the units in hand are returned. */
export const makeLeased = Effect.fnUntraced(function* (options: CounterOptions, shared: Shared) {
  const clock = yield* Clock.Clock
  const counter = new LeasedCounter(
    options,
    shared,
    yield* SqlClient.SqlClient,
    new TimelyStatements(yield* Effect.scope),
    yield* Queue.sliding<void>(1),
    () => clock.currentTimeMillisUnsafe()
  )
  shared.recalls.set(options.kind, counter)
  yield* Effect.addFinalizer(() =>
    Effect.suspend(() => {
      shared.recalls.delete(options.kind)
      return counter.close
    })
  )
  yield* Effect.forkScoped(counter.speaking)
  yield* Effect.forkScoped(counter.ticking)
  return counter satisfies Counter as Counter
})
