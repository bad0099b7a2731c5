/** The parts of leased counters alone: the table, how answers change it, and a heartbeat that fails. */
import { Deferred, Effect, Logger } from "effect"
import type { SqlClient } from "effect/sql"
import { describe, expect, it } from "vitest"
import type { Budget } from "../../src/ports/counter/counter.ts"
import { BudgetTable } from "../../src/ports/counter/leased/budget-table.ts"
import { applyExchange, applyOutcome, reportOf } from "../../src/ports/counter/leased/exchange.ts"
import { Heartbeat } from "../../src/ports/counter/leased/heartbeat.ts"
import { TimelyStatements } from "../../src/ports/counter/leased/statements.ts"

const budget = (limit: number, name = "a", started_at = 0): Budget => ({
  name,
  limit,
  started_at,
  ends_at: started_at + 60_000
})
const tableOf = (options: { readonly isDurable?: boolean; readonly entriesMax?: number } = {}) => {
  let woken = 0
  const table = new BudgetTable(
    { isDurable: true, entriesMax: 10, creditMax: 5, ...options },
    { isAway: () => false, wake: () => woken++ }
  )
  return { table, woken: () => woken }
}
const granted = (entry: { readonly budget: Budget }, taken: number, others = 0, available = 0) => ({
  name: entry.budget.name,
  started_at: entry.budget.started_at,
  taken,
  available,
  others,
  used: taken
})

describe("a table of budgets", () => {
  it("takes what it holds and requests the rest", () => {
    const { table } = tableOf()
    const entry = table.entryOf(budget(100), 1_000)
    expect(table.take(entry, 1, 1_000)).toBe(undefined)
    entry.held = 3
    expect(table.take(entry, 2, 1_000)).toEqual({ isAllowed: true, remaining: 1 })
    expect(table.take(entry, 2, 1_000)).toBe(undefined)
    expect(table.take(entry, 101, 1_000)).toEqual({ isAllowed: false, remaining: 1 })
  })
  it("gives five units on credit, and no more than the limit", () => {
    const { table } = tableOf()
    const entry = table.entryOf(budget(100), 0)
    expect(table.takeOnCredit(entry, 5)).toEqual({ isAllowed: true, remaining: 0 })
    expect(table.takeOnCredit(entry, 1)).toBe(undefined)
    expect(table.takeOnCredit(table.entryOf(budget(2, "b"), 0), 3)).toBe(undefined)
    expect([...table.reporting]).toEqual([entry])
  })
  it("returns recalled units at once, or after the statement that is under way", () => {
    const { table, woken } = tableOf()
    const entry = table.entryOf(budget(100), 0)
    entry.held = 7
    entry.isUnderWay = true
    table.recall(entry)
    expect([entry.held, entry.back, entry.isRecalled, woken()]).toEqual([7, 0, true, 0])
    entry.isUnderWay = false
    table.recall(entry)
    expect([entry.held, entry.back, woken()]).toEqual([0, 7, 1])
    expect([...table.asking]).toEqual([entry])
  })
  it("releases the oldest budgets beyond its bound, the previous window, and what is idle for ten minutes", () => {
    const { table } = tableOf({ entriesMax: 1 })
    const first = table.entryOf(budget(100), 0)
    first.held = 4
    const second = table.entryOf(budget(100, "b"), 0)
    expect([first.held, first.back, table.get("a")]).toEqual([0, 4, undefined])
    const next = table.entryOf(budget(100, "b", 60_000), 60_000)
    expect([...table.leaving]).toEqual([first, second])
    table.sweep(60_000 + 61_000)
    expect(table.get("b")).toBe(next)
    table.sweep(60_000 + 61_001)
    expect(table.get("b")).toBe(undefined)
  })
})

describe("an exchange", () => {
  it("adds granted units to the entry and keeps what changed meanwhile", () => {
    const { table } = tableOf()
    const entry = table.entryOf(budget(100), 0)
    entry.back = 2
    entry.waiting = 4
    const report = reportOf(entry, 0)
    expect([report.back, report.least, entry.isUnderWay]).toEqual([2, 4, true])
    entry.back += 1
    entry.debt += 3
    const used: Array<number> = []
    applyExchange([report], [granted(entry, 8)], { isDurable: true, onUsed: (_, units) => used.push(units) }, 0)
    expect([entry.held, entry.back, entry.debt, entry.isUnderWay, used]).toEqual([8, 1, 3, false, [11]])
  })
  it("notes that others hold what is missing, or that nobody does", () => {
    const { table } = tableOf()
    const waiting = table.entryOf(budget(100), 0)
    const exhausted = table.entryOf(budget(100, "b"), 0)
    waiting.waiting = exhausted.waiting = 1
    const reports = [reportOf(waiting, 0), reportOf(exhausted, 0)]
    applyExchange(reports, [granted(waiting, 0, 9), granted(exhausted, 0)], { isDurable: true }, 5_000)
    expect([waiting.isRecalling, waiting.exhaustedUntil]).toEqual([true, 0])
    expect([exhausted.isRecalling, exhausted.exhaustedUntil]).toEqual([false, 6_000])
  })
  it("counts unanswered statements once if they took effect, and not at all otherwise", () => {
    const { table } = tableOf()
    const done = table.entryOf(budget(100), 0)
    const lost = table.entryOf(budget(100, "b"), 0)
    done.debt = lost.debt = 2
    const reports = [reportOf(done, 0), reportOf(lost, 0)]
    applyOutcome(reports, [{ name: "a", started_at: 0, held: 8 }])
    expect([done.debt, done.held, done.reported]).toEqual([0, 8, 8])
    expect([lost.debt, lost.held, lost.isUnderWay]).toEqual([2, 0, false])
  })
  it("leaves a waiting request's deferred to whoever settles it", () => {
    const { table } = tableOf()
    const entry = table.entryOf(budget(100), 0)
    entry.pending = Deferred.makeUnsafe<void>()
    expect(reportOf(entry, 0).pending).toBe(entry.pending)
  })
})

describe("a heartbeat", () => {
  it("logs its failure every 30 s at most, and makes no request fail", async () => {
    const warnings: Array<unknown> = []
    let monotonic = 0
    let sent = 0
    const sql = (() =>
      Effect.suspend(() => {
        sent++
        return Effect.fail("no table")
      })) as unknown as SqlClient.SqlClient
    await Effect.runPromise(
      Effect.scoped(
        Effect.gen(function* () {
          const heartbeat = new Heartbeat(sql, "ctr_1", new TimelyStatements(yield* Effect.scope), () => monotonic)
          for (monotonic of [1_000, 29_999, 30_000, 59_999, 60_000]) yield* heartbeat.beat
        })
      ).pipe(Effect.provide(Logger.layer([Logger.make(({ message }) => warnings.push(message))])))
    )
    expect(sent).toBe(2)
    expect(warnings.length).toBe(2)
    expect(String(warnings[0])).toMatch(/could not be renewed; tried again in 30 s, and lost after 180 s/)
  })
})
