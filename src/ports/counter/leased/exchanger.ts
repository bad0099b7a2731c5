/**
 * Exchanges budgets with Postgres, one numbered statement at a time, always from one fiber. If a statement gets no
 * answer, its number is checked before the next one is sent, so nothing is counted twice and nothing is lost.
 */
import { type Cause, Deferred, Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { BudgetEntry, BudgetTable } from "./budget-table.ts"
import {
  applyExchange,
  applyOutcome,
  exchangeStatement,
  outcomeStatement,
  type BudgetReport,
  reportOf,
  type Speaker
} from "./exchange.ts"
import type { Availability, TimelyStatements } from "./statements.ts"

/** Maximum number of budgets in one statement. */
const ROWS_MAX = 500

interface ExchangerParts {
  readonly sql: SqlClient.SqlClient
  readonly speaker: Speaker
  readonly table: BudgetTable
  readonly availability: Availability
  readonly statements: TimelyStatements
  /** Unix milliseconds. */ readonly now: () => number
  /** Milliseconds. */ readonly monotonic: () => number
}

export class Exchanger {
  readonly #parts: ExchangerParts
  #number = 0
  /** What the last statement reported, if its answer was lost. */
  #unsure: ReadonlyArray<BudgetReport> | undefined
  #lastStatementMs = 0

  constructor(parts: ExchangerParts) {
    this.#parts = parts
  }

  /** Duration of the last statement. */
  get lastStatementMs(): number {
    return this.#lastStatementMs
  }

  /** Exchanges these entries, at most `ROWS_MAX`. A failure marks Postgres as unavailable and is not raised. */
  readonly exchange = (entries: ReadonlyArray<BudgetEntry>): Effect.Effect<void> =>
    Effect.uninterruptibleMask((restore) =>
      this.#unsure === undefined
        ? this.#send(entries, restore)
        : Effect.flatMap(Effect.exit(restore(this.#settle(this.#unsure))), (outcome) =>
            outcome._tag === "Failure" ? this.#away(outcome.cause) : this.#send(entries, restore)
          )
    )

  /** Exchanges requested budgets until none is left. */
  readonly exchangeAsked: Effect.Effect<void> = Effect.gen({ self: this }, function* () {
    const { asking } = this.#parts.table
    while (asking.size > 0) yield* this.exchange(firstOf(asking, ROWS_MAX))
  })

  /** Reports removed entries and usage, and resolves a lost answer. */
  readonly report: Effect.Effect<void> = Effect.gen({ self: this }, function* () {
    const { leaving, reporting } = this.#parts.table
    if (this.#unsure !== undefined) yield* this.exchange([])
    if (leaving.size > 0) yield* this.#flush(leaving)
    if (reporting.size > 0) yield* this.#flush(reporting)
  })

  /** Reports what is left when the process stops. */
  readonly reportLast: Effect.Effect<void> = Effect.suspend(() => {
    const { leaving } = this.#parts.table
    for (const { entry } of this.#unsure ?? []) leaving.add(entry)
    return this.#flush(leaving)
  })

  /** One pass: entries added meanwhile are reported in the next. */
  readonly #flush = Effect.fnUntraced({ self: this }, function* (all: ReadonlySet<BudgetEntry>) {
    const entries = [...all]
    for (let at = 0; at < entries.length && !this.#parts.availability.isAway(); at += ROWS_MAX)
      yield* this.exchange(entries.slice(at, at + ROWS_MAX))
  })

  readonly #settle = Effect.fnUntraced({ self: this }, function* (reports: ReadonlyArray<BudgetReport>) {
    const { speaker, sql, statements, table } = this.#parts
    const rows = yield* statements.run(outcomeStatement(sql, speaker, this.#number, reports))
    this.#unsure = undefined
    applyOutcome(reports, rows)
    for (const { entry } of reports) table.resume(entry)
  })

  readonly #send = Effect.fnUntraced(
    { self: this },
    function* (
      entries: ReadonlyArray<BudgetEntry>,
      restore: <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E>
    ) {
      const { availability, monotonic, now, speaker, sql, statements, table } = this.#parts
      if (entries.length === 0) return
      const reports = entries.map((entry) => {
        table.asking.delete(entry)
        table.reporting.delete(entry)
        table.leaving.delete(entry)
        return reportOf(entry, monotonic())
      })
      this.#number++
      const sentAt = monotonic()
      const answer = yield* Effect.exit(restore(statements.run(exchangeStatement(sql, speaker, this.#number, reports))))
      this.#lastStatementMs = monotonic() - sentAt
      if (answer._tag === "Failure") {
        this.#unsure = reports
        yield* this.#away(answer.cause)
      } else {
        availability.answered()
        applyExchange(reports, answer.value, speaker.options, now())
      }
      for (const { entry, pending } of reports) {
        // Another process recalled the units while they were being granted.
        if (entry.isRecalled) table.recall(entry)
        settlePending(entry, pending)
      }
    }
  )

  /** Lets the waiters continue, on credit. */
  #away(cause: Cause.Cause<unknown>): Effect.Effect<void> {
    const { availability, table } = this.#parts
    // Called before the waiters continue, because they check whether Postgres is available.
    availability.failed()
    for (const entry of table.asking) {
      table.reporting.add(entry)
      settlePending(entry, entry.pending)
    }
    table.asking.clear()
    return availability.warn(cause)
  }
}

const settlePending = (entry: BudgetEntry, pending: Deferred.Deferred<void> | undefined): void => {
  if (pending === undefined) return
  if (entry.pending === pending) entry.pending = undefined
  Deferred.doneUnsafe(pending, Effect.void)
}

const firstOf = (entries: Iterable<BudgetEntry>, countMax: number): ReadonlyArray<BudgetEntry> => {
  const first: Array<BudgetEntry> = []
  for (const entry of entries) {
    if (first.length === countMax) break
    first.push(entry)
  }
  return first
}
