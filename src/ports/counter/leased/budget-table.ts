/**
 * What one process holds of the budgets of one kind: units in hand, units to return, units used but not reported yet.
 * It only decides over memory: it sends no statements and never waits, and the time is an argument. `Exchanger` reports
 * its state to Postgres and applies the answers.
 */
import type { Deferred } from "effect"
import { type Budget, type CounterOptions, HELD_MAX, type Taken } from "../counter.ts"

const BLOCK_MIN = 8
/** The share of the pool that a process takes when there are several; a single process may take the rest. */
export const SHARE = 8
const IDLE_MS = 10 * 60_000
/** A block used up within this time is followed by one of twice its size, a slower one by one of half. */
const BUSY_BLOCK_MS = 1_000
/** A window that ended this long ago receives no late requests. */
const OVER_AFTER_MS = 1_000

export interface BudgetEntry {
  budget: Budget
  /** Units in hand. */ held: number
  /** Units of this process that have been reported to Postgres. */ reported: number
  /** Units that no process held at the last answer of Postgres. */ pool: number
  /** Units to request next, in addition to those that requests wait for. */ block: number
  /** When a block was last requested, in milliseconds of the monotonic clock. */ askedAt: number
  /** Units that requests wait for. */ waiting: number
  wantsBlock: boolean
  /** Units to return with the next statement. */ back: number
  /** Units used without a lease: from a budget without a limit, or on credit. */ debt: number
  isRecalled: boolean
  /** A statement that includes this entry is in progress, or its answer was lost. */ isUnderWay: boolean
  /** Number of statements sent that included this entry. */ exchanges: number
  /** No process has any units until then (Unix milliseconds). */ exhaustedUntil: number
  isRecalling: boolean
  /** Completed when another process has returned recalled units. */ returned: Deferred.Deferred<void> | undefined
  /** Completed after the next exchange that includes this entry. */ pending: Deferred.Deferred<void> | undefined
  /** Time of the last use, in Unix milliseconds. */ usedAt: number
}

const entryFor = (budget: Budget, now: number): BudgetEntry => ({
  budget,
  held: 0,
  reported: 0,
  pool: 0,
  block: BLOCK_MIN,
  askedAt: -Infinity,
  waiting: 0,
  wantsBlock: false,
  back: 0,
  debt: 0,
  isRecalled: false,
  isUnderWay: false,
  exchanges: 0,
  exhaustedUntil: 0,
  isRecalling: false,
  returned: undefined,
  pending: undefined,
  usedAt: now
})

/** Grows the block of a busy budget up to half of what a process may hold, and shrinks the block of a quiet one. */
export const resizeBlock = (entry: BudgetEntry, monotonic: number): void => {
  entry.block =
    monotonic - entry.askedAt < BUSY_BLOCK_MS
      ? Math.min(HELD_MAX / 2, entry.block * 2)
      : Math.max(BLOCK_MIN, Math.floor(entry.block / 2))
  entry.askedAt = monotonic
}

/** What the table needs to know of its environment. */
interface Surroundings {
  /** Whether Postgres failed to answer recently. */ readonly isAway: () => boolean
  /** Called when an entry needs an exchange soon. */ readonly wake: () => void
}

export class BudgetTable {
  readonly #entries = new Map<string, BudgetEntry>()
  /** Entries that were evicted or whose window has passed, with something left to report. */
  readonly leaving = new Set<BudgetEntry>()
  /** Entries to exchange immediately. */
  readonly asking = new Set<BudgetEntry>()
  /** Entries to exchange with the next report. */
  readonly reporting = new Set<BudgetEntry>()
  readonly #options: Pick<CounterOptions, "creditMax" | "entriesMax" | "isDurable">
  readonly #surroundings: Surroundings

  constructor(options: Pick<CounterOptions, "creditMax" | "entriesMax" | "isDurable">, surroundings: Surroundings) {
    this.#options = options
    this.#surroundings = surroundings
  }

  /** The entry with that name, whichever window it is of. */
  get(name: string): BudgetEntry | undefined {
    return this.#entries.get(name)
  }

  /** The entry of this window, created if missing; that drops the previous window's, and the oldest if too many. */
  entryOf(budget: Budget, now: number): BudgetEntry {
    const known = this.#entries.get(budget.name)
    if (known !== undefined && known.budget.started_at === budget.started_at) {
      if (known.budget.limit !== budget.limit) {
        known.exhaustedUntil = 0
        known.budget = budget
      }
      return known
    }
    const made = entryFor(budget, now)
    if (known !== undefined) {
      // A budget's next window begins with the block size of the previous one.
      made.block = known.block
      this.#entries.delete(budget.name)
      if (this.#options.isDurable || known.debt !== 0) this.release(known)
    }
    this.#entries.set(budget.name, made)
    if (this.#entries.size > this.#options.entriesMax) this.#evictOldest()
    return made
  }

  #evictOldest(): void {
    for (const [name, oldest] of this.#entries) {
      this.#entries.delete(name)
      this.release(oldest)
      return
    }
  }

  /** Takes units without waiting; undefined if Postgres must be queried. O(1), allocates only the answer. */
  take(entry: BudgetEntry, units: number, now: number): Taken | undefined {
    const { limit } = entry.budget
    entry.usedAt = now
    if (limit === Infinity) {
      entry.debt += units
      this.reporting.add(entry)
      return { isAllowed: true, remaining: Infinity }
    }
    if (entry.held >= units) {
      entry.held -= units
      if (this.#options.isDurable) this.reporting.add(entry)
      if (
        entry.held * 2 < entry.block &&
        entry.pool >= BLOCK_MIN * SHARE &&
        !entry.wantsBlock &&
        !this.#surroundings.isAway()
      ) {
        entry.wantsBlock = true
        this.want(entry)
      }
      return { isAllowed: true, remaining: entry.held + entry.pool }
    }
    if (units > limit || now < entry.exhaustedUntil) return { isAllowed: false, remaining: entry.held + entry.pool }
    return undefined
  }

  /**
   * Grants units while Postgres is unavailable, at most `creditMax` of a budget; undefined when they are used up. They
   * are reported afterwards.
   */
  takeOnCredit(entry: BudgetEntry, units: number): Taken | undefined {
    if (entry.debt + units > Math.min(this.#options.creditMax, entry.budget.limit)) return undefined
    entry.debt += units
    this.reporting.add(entry)
    return { isAllowed: true, remaining: 0 }
  }

  /** The state of a budget; takes nothing. */
  peek(budget: Budget): Taken {
    const entry = this.#entries.get(budget.name)
    const remaining =
      entry === undefined || entry.budget.started_at !== budget.started_at ? budget.limit : entry.held + entry.pool
    return { isAllowed: remaining > 0, remaining }
  }

  /** Returns units that were taken but not used: to the units in hand, or off the debt of a budget without a limit. */
  giveBack(entry: BudgetEntry, units: number): void {
    if (entry.budget.limit === Infinity) {
      const unreported = Math.min(units, entry.debt)
      entry.debt -= unreported
      entry.back += units - unreported
    } else entry.held += units
    entry.exhaustedUntil = 0
    this.reporting.add(entry)
  }

  /** Counts units regardless of the limit. */
  add(entry: BudgetEntry, units: number): void {
    entry.debt += units
    this.reporting.add(entry)
  }

  /** Requests an immediate exchange of an entry. */
  want(entry: BudgetEntry): void {
    this.asking.add(entry)
    this.#surroundings.wake()
  }

  /** Another process needs the units in hand: returns them immediately, or after the exchange in progress. */
  recall(entry: BudgetEntry): void {
    entry.isRecalled = true
    if (entry.isUnderWay) return
    entry.back += entry.held
    entry.held = 0
    entry.block = BLOCK_MIN
    this.want(entry)
  }

  /** An entry that is removed from memory returns what it holds. */
  release(entry: BudgetEntry): void {
    entry.back += entry.held
    entry.held = 0
    if (entry.back > 0 || entry.debt !== 0 || this.#options.isDurable) this.leaving.add(entry)
  }

  /** Releases entries that are idle or whose window has passed. */
  sweep(now: number): void {
    for (const [name, entry] of this.#entries) {
      const isOver = entry.budget.ends_at + OVER_AFTER_MS < now
      if (entry.waiting > 0 || entry.pending !== undefined || !(isOver || now - entry.usedAt > IDLE_MS)) continue
      this.#entries.delete(name)
      // The rows of a volatile budget expire after its window anyway, so that only a debt must still be reported.
      if (this.#options.isDurable || !isOver || entry.debt !== 0) this.release(entry)
    }
  }

  /** Releases everything when the process stops. */
  releaseAll(): void {
    for (const entry of this.#entries.values()) this.release(entry)
    this.#entries.clear()
  }

  /** After a lost answer: releases the entry if it was removed meanwhile, recalls it if it was recalled. */
  resume(entry: BudgetEntry): void {
    if (this.#entries.get(entry.budget.name) !== entry) this.release(entry)
    else if (entry.isRecalled) this.recall(entry)
    else this.reporting.add(entry)
  }
}
