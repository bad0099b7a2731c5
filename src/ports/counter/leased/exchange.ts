/**
 * One exchange with Postgres: what a process reports about its budgets, the two statements, and how the answers change
 * the state in memory. `reportOf`, `applyExchange` and `applyOutcome` only decide; `Exchanger` sends.
 */
import type { Deferred } from "effect"
import type { SqlClient } from "effect/sql"
import type { Budget, CounterOptions } from "../counter.ts"
import { type BudgetEntry, resizeBlock, SHARE } from "./budget-table.ts"

/** A monthly budget is requested again after this time, because units may be returned and plans may change. */
export const EXHAUSTED_MS = 1_000
/** How an unlimited budget is stored as a limit in Postgres. */
const ENDLESS = Number.MAX_SAFE_INTEGER

/** What a statement reports about an entry; the entry itself continues to change meanwhile. */
export interface BudgetReport {
  readonly entry: BudgetEntry
  readonly back: number
  readonly debt: number
  readonly held: number
  readonly isRecalled: boolean
  readonly wantsBlock: boolean
  /** Units that requests wait for, beyond those in hand. */ readonly least: number
  readonly pending: Deferred.Deferred<void> | undefined
}
interface ExchangedRow {
  readonly name: string
  readonly started_at: number
  readonly taken: number
  readonly available: number
  readonly others: number
  readonly used: number
}
interface OutcomeRow {
  readonly name: string
  readonly started_at: number
  readonly held: number
}
/** The reporting process, and the kind of budgets. */
export interface Speaker {
  readonly process: string
  readonly isAlone: boolean
  readonly options: CounterOptions
}

/** Reads from an entry what the next statement reports, and marks the entry as in progress. */
export const reportOf = (entry: BudgetEntry, monotonic: number): BudgetReport => {
  const { back, debt, held, isRecalled, pending, waiting, wantsBlock } = entry
  entry.isRecalled = false
  entry.isUnderWay = true
  entry.exchanges++
  entry.wantsBlock = false
  if (wantsBlock) resizeBlock(entry, monotonic)
  return { entry, back, debt, held, isRecalled, wantsBlock, least: Math.max(0, waiting - held), pending }
}

const int8s = (reports: ReadonlyArray<BudgetReport>, of: (row: BudgetReport) => number) =>
  reports.map((row) => String(of(row)))
const names = (reports: ReadonlyArray<BudgetReport>) => reports.map(({ entry }) => entry.budget.name)
const starts = (reports: ReadonlyArray<BudgetReport>) => int8s(reports, ({ entry }) => entry.budget.started_at)

/** Statement `number` of a process: returns units, reports debts and requests units of all named budgets. */
export const exchangeStatement = (
  sql: SqlClient.SqlClient,
  { isAlone, options, process }: Speaker,
  number: number,
  reports: ReadonlyArray<BudgetReport>
) =>
  sql<ExchangedRow>`SELECT o_name AS name, o_started AS started_at, o_taken AS taken, o_available AS available, o_others AS others, o_used AS used FROM counter_exchange(${String(number)}::text::int8,
      ${options.kind}::text, ${process}::text, ${isAlone ? "1" : String(SHARE)}::text::int8, ${names(reports)}::text[],
      ${starts(reports)}::text[]::int8[], ${int8s(reports, ({ entry }) => entry.budget.ends_at + options.kept_ms)}::text[]::int8[],
      ${int8s(reports, ({ entry }) => Math.min(ENDLESS, entry.budget.limit))}::text[]::int8[], ${int8s(reports, ({ least }) => least)}::text[]::int8[],
      ${int8s(reports, ({ entry, wantsBlock }) => (wantsBlock ? entry.block : 0))}::text[]::int8[], ${int8s(reports, ({ back }) => back)}::text[]::int8[],
      ${int8s(reports, ({ debt }) => debt)}::text[]::int8[], ${int8s(reports, ({ held }) => held)}::text[]::int8[], ${reports.map(({ isRecalled }) => String(isRecalled))}::text[]::bool[])`

/** Whether statement `number`, whose answer was lost, was executed; prevents it from being executed later. */
export const outcomeStatement = (
  sql: SqlClient.SqlClient,
  { options, process }: Speaker,
  number: number,
  reports: ReadonlyArray<BudgetReport>
) =>
  sql<OutcomeRow>`SELECT o_name AS name, o_started AS started_at, o_held AS held FROM counter_exchange_outcome(
      ${String(number)}::text::int8, ${options.kind}::text, ${process}::text, ${names(reports)}::text[], ${starts(reports)}::text[]::int8[])`

const keyOf = ({ name, started_at }: Pick<Budget, "name" | "started_at">) => `${started_at} ${name}`

/** Applies the granted units to the entries, and notes which must wait for other processes or are exhausted. */
export const applyExchange = (
  reports: ReadonlyArray<BudgetReport>,
  rows: ReadonlyArray<ExchangedRow>,
  { isDurable, onUsed }: Pick<CounterOptions, "isDurable" | "onUsed">,
  now: number
): void => {
  const byName = new Map(rows.map((row) => [keyOf(row), row]))
  for (const { back, debt, entry, held, least } of reports) {
    const { available, others, taken, used } = byName.get(keyOf(entry.budget))!
    entry.back -= back
    entry.debt -= debt
    entry.held += taken
    entry.reported = held + taken
    entry.pool = available
    entry.isUnderWay = false
    entry.isRecalling = taken < least && others > 0
    if (taken < least && others === 0)
      entry.exhaustedUntil = isDurable ? Math.min(entry.budget.ends_at, now + EXHAUSTED_MS) : entry.budget.ends_at
    onUsed?.(entry.budget, used + entry.debt)
  }
}

/** Makes up for a lost answer: budgets without a row are unchanged, because the statement was not executed. */
export const applyOutcome = (reports: ReadonlyArray<BudgetReport>, rows: ReadonlyArray<OutcomeRow>): void => {
  const byName = new Map(rows.map((row) => [keyOf(row), row.held]))
  for (const { back, debt, entry, held: before } of reports) {
    const after = byName.get(keyOf(entry.budget))
    if (after !== undefined) {
      entry.back -= back
      entry.debt -= debt
      entry.held += Math.max(0, after - before)
      entry.reported = after
    }
    entry.isUnderWay = false
  }
}
