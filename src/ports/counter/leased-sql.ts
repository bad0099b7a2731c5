/**
 * Budgets in Postgres, used from blocks in memory. A block grows with demand up to `HELD_MAX` and shrinks with what is
 * left (an eighth, then single units), and is fetched before it is used up, so that a busy budget waits for its first
 * block only. Who finds nothing left while others hold units recalls these: the others give back what they have not
 * used, so the last unit passes wherever it is asked for, and not one more.
 *
 * All that a process says of one kind goes through one fiber, one numbered statement at a time: what it tells of its
 * holdings is never older than what it told before. A statement without an answer is asked after by its number before
 * the next one is sent, so nothing is counted twice and nothing is lost.
 *
 * Bounds: `entriesMax` budgets in memory; 500 of them in one statement; a statement takes a second, a recall a quarter,
 * or where statements are slow up to a second.
 * While Postgres is away a budget passes `creditMax` units, told when it is back; then `CounterUnavailable`.
 */
import { PgClient } from "@effect/sql-pg"
import { Cause, Clock, Deferred, Effect, Fiber, Layer, Queue } from "effect"
import { SqlClient } from "effect/sql"
import {
  type Budget,
  type Counter,
  Counters,
  type CounterOptions,
  CounterUnavailable,
  HELD_MAX,
  type Taken
} from "./counter.ts"
import { makeMemoryCounter } from "./memory.ts"
import { Identifiers } from "../../../log/identifiers.ts"

const BLOCK_MIN = 8
/** Several processes leave each other something; one that is alone may take what is left. */
const SHARE = 8
const ROWS_MAX = 500
const STATEMENT_MAX_MS = 1_000
/** After a failure nobody waits for another until then. */
const AWAY_MS = 1_000
/** What was used is told this often. */
const TELL_MS = 1_000
/**
 * How long others have to give back what is recalled, and as many statements of theirs, by the time the own last one
 * took.
 */
const RECALL_WAIT_MS = 250
const RECALL_STATEMENTS = 4
/** A budget of a month is asked for again: units come back, plans change. */
const EXHAUSTED_MS = 1_000
/** Numbers of processes that are long gone. */
const EXCHANGES_KEPT_MS = 7 * 86_400_000
const IDLE_MS = 10 * 60_000
const RENEW_MS = 30_000
/** A lease that was not renewed for so long is of a process that is gone: its units count as used. */
const DEAD_AFTER_MS = 180_000
const LISTEN_AGAIN_MS = 200
/** A budget that is exchanged without end is read as it is after so many tries. */
const USED_TRIES = 25
const USED_AGAIN_MS = 20
/** As a limit in Postgres. */
const ENDLESS = Number.MAX_SAFE_INTEGER
const channel = "dowser_counters"

interface Entry {
  budget: Budget
  /** Units in hand. */ held: number
  /** Units of this process as Postgres knows them. */ told: number
  /** Units that nobody held when Postgres last answered. */ pool: number
  block: number
  askedAt: number
  /** Units that requests wait for. */ waiting: number
  wantsBlock: boolean
  back: number
  debt: number
  isRecalled: boolean
  /** A statement that names it is under way, or its answer was lost. */ isUnderWay: boolean
  /** Statements that named it and were sent. */ exchanges: number
  /** Nobody has any, until then (Unix milliseconds). */ exhaustedUntil: number
  isRecalling: boolean
  returned: Deferred.Deferred<void> | undefined
  pending: Deferred.Deferred<void> | undefined
  usedAt: number
}
/** What a statement says of a budget; the entry itself goes on while it is under way. */
interface Said {
  readonly entry: Entry
  readonly back: number
  readonly debt: number
  readonly held: number
  readonly isRecalled: boolean
  readonly wantsBlock: boolean
  readonly least: number
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

export interface LeasedOptions {
  /**
   * No other process uses this database: nobody to recall from, and every lease found at the start is of a dead one.
   */
  readonly isAlone: boolean
}

interface Shared {
  readonly process: string
  readonly isAlone: boolean
  readonly recalls: Map<string, { readonly recall: (name: string) => void; readonly returned: (name: string) => void }>
}

const makeLeased = Effect.fnUntraced(function* (options: CounterOptions, { isAlone, process, recalls }: Shared) {
  const sql = yield* SqlClient.SqlClient
  const clock = yield* Clock.Clock
  const scope = yield* Effect.scope
  const now = () => clock.currentTimeMillisUnsafe()
  const monotonic = () => performance.now()
  const entries = new Map<string, Entry>()
  /** Evicted or past their window, with something left to tell. */
  const leaving = new Set<Entry>()
  const asking = new Set<Entry>()
  const telling = new Set<Entry>()
  const wanted = yield* Queue.sliding<void>(1)
  let awayUntil = -Infinity
  let isAwayTold = false
  let isClosing = false
  let statementMs = 0
  /** The number of the last statement, and what it said where its answer was lost. */
  let number = 0
  let unsure: ReadonlyArray<Said> | undefined

  const release = (entry: Entry) => {
    entry.back += entry.held
    entry.held = 0
    if (entry.back > 0 || entry.debt !== 0 || options.isDurable) leaving.add(entry)
  }
  const entryOf = (budget: Budget): Entry => {
    const known = entries.get(budget.name)
    if (known !== undefined && known.budget.started_at === budget.started_at) {
      if (known.budget.limit !== budget.limit) {
        known.exhaustedUntil = 0
        known.budget = budget
      }
      return known
    }
    const made: Entry = {
      budget,
      held: 0,
      told: 0,
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
      usedAt: now()
    }
    if (known !== undefined) {
      // A busy budget begins its next window with a block of the size it had.
      made.block = known.block
      entries.delete(budget.name)
      if (options.isDurable || known.debt !== 0) release(known)
    }
    entries.set(budget.name, made)
    if (entries.size > options.entriesMax) {
      for (const [name, oldest] of entries) {
        entries.delete(name)
        release(oldest)
        break
      }
    }
    return made
  }
  const want = (entry: Entry) => {
    asking.add(entry)
    Queue.offerUnsafe(wanted, undefined)
  }
  const recall = (entry: Entry) => {
    entry.isRecalled = true
    if (entry.isUnderWay) return
    entry.back += entry.held
    entry.held = 0
    entry.block = BLOCK_MIN
    want(entry)
  }
  const isAway = () => monotonic() < awayUntil

  const takeFrom = (entry: Entry, units: number): Taken | undefined => {
    const { limit } = entry.budget
    entry.usedAt = now()
    if (limit === Infinity) {
      entry.debt += units
      telling.add(entry)
      return { isAllowed: true, remaining: Infinity }
    }
    if (entry.held >= units) {
      entry.held -= units
      if (options.isDurable) telling.add(entry)
      if (entry.held * 2 < entry.block && entry.pool >= BLOCK_MIN * SHARE && !entry.wantsBlock && !isAway()) {
        entry.wantsBlock = true
        want(entry)
      }
      return { isAllowed: true, remaining: entry.held + entry.pool }
    }
    if (units > limit || entry.usedAt < entry.exhaustedUntil)
      return { isAllowed: false, remaining: entry.held + entry.pool }
    return undefined
  }
  const onCredit = (entry: Entry, units: number): Effect.Effect<Taken, CounterUnavailable> =>
    Effect.suspend(() => {
      if (entry.debt + units > Math.min(options.creditMax, entry.budget.limit))
        return Effect.fail(new CounterUnavailable({ message: "Units of a limit cannot be asked for at the moment." }))
      entry.debt += units
      telling.add(entry)
      return Effect.succeed({ isAllowed: true, remaining: 0 })
    })

  /** Beside the wait: giving a statement up can itself wait for a server that does not answer. */
  const timely = <A, E>(statement: Effect.Effect<A, E>): Effect.Effect<A, E | CounterUnavailable> =>
    Effect.gen(function* () {
      // A scope that closes takes no fibers.
      const fork = <B, F>(effect: Effect.Effect<B, F>) =>
        isClosing ? Effect.forkDetach(effect) : Effect.forkIn(effect, scope)
      const fiber = yield* fork(statement)
      const answer = yield* Effect.timeoutOption(Fiber.await(fiber), STATEMENT_MAX_MS)
      if (answer._tag === "Some") return yield* answer.value
      yield* fork(Fiber.interrupt(fiber))
      return yield* new CounterUnavailable({ message: "Postgres does not answer in time." })
    })
  const rowsOf = (all: Iterable<Entry>): ReadonlyArray<Entry> => {
    const rows: Array<Entry> = []
    for (const entry of all) {
      if (rows.length === ROWS_MAX) break
      rows.push(entry)
    }
    return rows
  }
  const int8s = (values: ReadonlyArray<number>) => values.map(String)
  const keyOf = ({ name, started_at }: Budget) => `${started_at} ${name}`
  const settlePending = (entry: Entry, pending: Deferred.Deferred<void> | undefined) => {
    if (pending === undefined) return
    if (entry.pending === pending) entry.pending = undefined
    Deferred.doneUnsafe(pending, Effect.void)
  }
  const away = (cause: Cause.Cause<unknown>) =>
    Effect.suspend(() => {
      // Before whoever waits goes on: it looks whether Postgres is away.
      awayUntil = monotonic() + AWAY_MS
      for (const entry of asking) {
        telling.add(entry)
        settlePending(entry, entry.pending)
      }
      asking.clear()
      if (isAwayTold || Cause.hasInterruptsOnly(cause)) return Effect.void
      isAwayTold = true
      return Effect.logWarning(
        "Limits: Postgres does not answer; what is in hand is used, then a bounded number of units on credit",
        cause
      )
    })
  /** Whether the statement whose answer was lost was done; from then on it will not be. */
  const settleUnsure = Effect.fnUntraced(function* (said: ReadonlyArray<Said>) {
    const held = yield* timely(sql<{
      readonly name: string
      readonly started_at: number
      readonly held: number
    }>`SELECT o_name AS name, o_started AS started_at, o_held AS held FROM counter_exchange_outcome(
      ${String(number)}::text::int8, ${options.kind}::text, ${process}::text, ${said.map(({ entry }) => entry.budget.name)}::text[], ${int8s(said.map(({ entry }) => entry.budget.started_at))}::text[]::int8[])`)
    const byName = new Map(held.map((row) => [`${row.started_at} ${row.name}`, row.held]))
    unsure = undefined
    for (const { back, debt, entry, held: before } of said) {
      const after = byName.get(keyOf(entry.budget))
      if (after !== undefined) {
        entry.back -= back
        entry.debt -= debt
        entry.held += Math.max(0, after - before)
        entry.told = after
      }
      entry.isUnderWay = false
      if (entries.get(entry.budget.name) !== entry) release(entry)
      else if (entry.isRecalled) recall(entry)
      else telling.add(entry)
    }
  })
  const exchange = (rows: ReadonlyArray<Entry>) =>
    Effect.uninterruptibleMask((restore) =>
      Effect.gen(function* () {
        if (unsure !== undefined) {
          const outcome = yield* Effect.exit(restore(settleUnsure(unsure)))
          if (outcome._tag === "Failure") return yield* away(outcome.cause)
        }
        const said: ReadonlyArray<Said> = rows.map((entry) => {
          asking.delete(entry)
          telling.delete(entry)
          leaving.delete(entry)
          const { back, debt, held, isRecalled, wantsBlock } = entry
          entry.isRecalled = false
          entry.isUnderWay = true
          entry.exchanges++
          entry.wantsBlock = false
          if (wantsBlock) {
            entry.block =
              monotonic() - entry.askedAt < 1_000
                ? Math.min(HELD_MAX / 2, entry.block * 2)
                : Math.max(BLOCK_MIN, Math.floor(entry.block / 2))
            entry.askedAt = monotonic()
          }
          return {
            entry,
            back,
            debt,
            held,
            isRecalled,
            wantsBlock,
            least: Math.max(0, entry.waiting - held),
            pending: entry.pending
          }
        })
        if (said.length === 0) return
        number++
        const column = (of: (row: Said) => number) => int8s(said.map(of))
        const statement = sql<ExchangedRow>`SELECT o_name AS name, o_started AS started_at, o_taken AS taken, o_available AS available, o_others AS others, o_used AS used FROM counter_exchange(${String(number)}::text::int8,
      ${options.kind}::text, ${process}::text, ${isAlone ? "1" : String(SHARE)}::text::int8, ${said.map(({ entry }) => entry.budget.name)}::text[],
      ${column(({ entry }) => entry.budget.started_at)}::text[]::int8[], ${column(({ entry }) => entry.budget.ends_at + options.kept_ms)}::text[]::int8[],
      ${column(({ entry }) => Math.min(ENDLESS, entry.budget.limit))}::text[]::int8[], ${column(({ least }) => least)}::text[]::int8[],
      ${column(({ entry, wantsBlock }) => (wantsBlock ? entry.block : 0))}::text[]::int8[], ${column(({ back }) => back)}::text[]::int8[],
      ${column(({ debt }) => debt)}::text[]::int8[], ${column(({ held }) => held)}::text[]::int8[], ${said.map(({ isRecalled }) => String(isRecalled))}::text[]::bool[])`
        const sentAt = monotonic()
        const answer = yield* Effect.exit(restore(timely(statement)))
        statementMs = monotonic() - sentAt
        if (answer._tag === "Failure") {
          unsure = said
          yield* away(answer.cause)
        } else {
          awayUntil = -Infinity
          isAwayTold = false
          const byName = new Map(answer.value.map((row) => [`${row.started_at} ${row.name}`, row]))
          for (const { back, debt, entry, held, least } of said) {
            const { available, others, taken, used } = byName.get(keyOf(entry.budget))!
            entry.back -= back
            entry.debt -= debt
            entry.held += taken
            entry.told = held + taken
            entry.pool = available
            entry.isUnderWay = false
            entry.isRecalling = taken < least && others > 0
            if (taken < least && others === 0)
              entry.exhaustedUntil = options.isDurable
                ? Math.min(entry.budget.ends_at, now() + EXHAUSTED_MS)
                : entry.budget.ends_at
            options.onUsed?.(entry.budget, used + entry.debt)
          }
        }
        for (const { entry, pending } of said) {
          // Recalled while it was granted.
          if (entry.isRecalled) recall(entry)
          settlePending(entry, pending)
        }
      })
    )

  /** Settles after the next exchange that names this budget; never fails. */
  const asked = (entry: Entry) =>
    Effect.suspend(() => {
      entry.pending ??= Deferred.makeUnsafe<void>()
      entry.wantsBlock = true
      want(entry)
      return Deferred.await(entry.pending)
    })
  const ask = Effect.fnUntraced(function* (budget: Budget, units: number) {
    const entry = entryOf(budget)
    for (;;) {
      const taken = takeFrom(entry, units)
      if (taken !== undefined) return taken
      if (isAway()) return yield* onCredit(entry, units)
      entry.waiting += units
      // One that is recalled from others counts as waiting until they have answered.
      yield* Effect.ensuring(
        Effect.andThen(
          asked(entry),
          Effect.suspend(() => {
            if (!entry.isRecalling || entry.held >= units) return Effect.void
            entry.returned ??= Deferred.makeUnsafe<void>()
            return Effect.timeoutOrElse(Deferred.await(entry.returned), {
              duration: Math.min(STATEMENT_MAX_MS, Math.max(RECALL_WAIT_MS, RECALL_STATEMENTS * statementMs)),
              // Who does not answer is dead or stands still: its units come back with its lease, or count as used.
              orElse: () =>
                Effect.sync(() => {
                  if (entry.held < units) entry.exhaustedUntil = Math.min(entry.budget.ends_at, now() + EXHAUSTED_MS)
                })
            })
          })
        ),
        Effect.sync(() => {
          entry.waiting -= units
        })
      )
    }
  })

  const flush = (all: Set<Entry>) =>
    Effect.gen(function* () {
      // Once through: who is added meanwhile is told next time.
      const rows = [...all]
      for (let at = 0; at < rows.length && !isAway(); at += ROWS_MAX) yield* exchange(rows.slice(at, at + ROWS_MAX))
    })
  let renewedAt = monotonic()
  const tell = Effect.gen(function* () {
    if (isAway()) return
    const time = now()
    for (const [name, entry] of entries) {
      const isOver = entry.budget.ends_at + 1_000 < time
      if (entry.waiting > 0 || entry.pending !== undefined || !(isOver || time - entry.usedAt > IDLE_MS)) continue
      entries.delete(name)
      // Rows of a past minute are swept, whatever they say.
      if (options.isDurable || !isOver || entry.debt !== 0) release(entry)
    }
    if (unsure !== undefined) yield* exchange([])
    if (leaving.size > 0) yield* flush(leaving)
    if (telling.size > 0) yield* flush(telling)
    if (monotonic() - renewedAt < RENEW_MS) return
    renewedAt = monotonic()
    yield* Effect.ignore(
      timely(sql`WITH mine AS (UPDATE counter_leases SET seen_at = (extract(epoch FROM clock_timestamp()) * 1000)::int8 WHERE process = ${process} RETURNING process)
      DELETE FROM counter_leases WHERE process <> ${process} AND seen_at < (extract(epoch FROM clock_timestamp()) * 1000)::int8 - ${String(DEAD_AFTER_MS)}::text::int8`)
    )
  })

  recalls.set(options.kind, {
    recall: (name) => {
      const entry = entries.get(name)
      // One that has nothing has said so.
      if (entry === undefined || (entry.told === 0 && entry.held === 0 && !entry.isUnderWay)) return
      recall(entry)
    },
    returned: (name) => {
      const entry = entries.get(name)
      if (entry === undefined) return
      // Later than this process waited: there is something again.
      entry.exhaustedUntil = 0
      if (entry.returned === undefined) return
      Deferred.doneUnsafe(entry.returned, Effect.void)
      entry.returned = undefined
    }
  })
  yield* Effect.addFinalizer(() =>
    Effect.suspend(() => {
      isClosing = true
      recalls.delete(options.kind)
      for (const entry of entries.values()) release(entry)
      entries.clear()
      for (const { entry } of unsure ?? []) leaving.add(entry)
      awayUntil = -Infinity
      return flush(leaving)
    })
  )
  let isTellDue = false
  yield* Effect.forkScoped(
    Effect.forever(
      Effect.gen(function* () {
        yield* Queue.take(wanted)
        // Whoever asks in the same turn of the loop shares the statement.
        yield* Effect.yieldNow
        if (isTellDue) {
          isTellDue = false
          yield* tell
        }
        while (asking.size > 0) yield* exchange(rowsOf(asking))
      })
    )
  )
  yield* Effect.forkScoped(
    Effect.forever(
      Effect.andThen(
        Effect.sleep(TELL_MS),
        Effect.sync(() => {
          isTellDue = true
          Queue.offerUnsafe(wanted, undefined)
        })
      )
    )
  )

  const counter: Counter = {
    take: (budget, units) => takeFrom(entryOf(budget), units),
    ask,
    peek: (budget) => {
      const entry = entries.get(budget.name)
      const remaining =
        entry === undefined || entry.budget.started_at !== budget.started_at ? budget.limit : entry.held + entry.pool
      return { isAllowed: remaining > 0, remaining }
    },
    giveBack: (budget, units) => {
      const entry = entryOf(budget)
      if (budget.limit === Infinity) {
        const unsaid = Math.min(units, entry.debt)
        entry.debt -= unsaid
        entry.back += units - unsaid
      } else entry.held += units
      entry.exhaustedUntil = 0
      telling.add(entry)
    },
    add: (budget, units) => {
      const entry = entryOf(budget)
      entry.debt += units
      telling.add(entry)
    },
    used: (budget) => {
      const statement = sql<{
        used: number
      }>`SELECT (w.granted - coalesce((SELECT sum(l.held) FROM counter_leases l WHERE l.kind = w.kind AND l.name = w.name AND l.started_at = w.started_at AND l.process <> ${process}), 0))::float8 AS used
        FROM counter_windows w WHERE w.kind = ${options.kind} AND w.name = ${budget.name} AND w.started_at = ${String(budget.started_at)}::text::int8`
      const read = (triesLeft: number): Effect.Effect<number, unknown> =>
        Effect.suspend(() => {
          const before = entries.get(budget.name)
          const exchanges = before?.exchanges
          return Effect.flatMap(timely(statement), ([row]) =>
            Effect.suspend(() => {
              const entry = entries.get(budget.name)
              // What is under way may have been read or not: once more when it is through.
              if (triesLeft > 0 && (entry !== before || entry?.exchanges !== exchanges || entry?.isUnderWay === true))
                return Effect.andThen(Effect.sleep(USED_AGAIN_MS), read(triesLeft - 1))
              const own =
                entry === undefined || entry.budget.started_at !== budget.started_at
                  ? 0
                  : entry.held + entry.back - entry.debt
              return Effect.succeed(Math.max(0, (row?.used ?? 0) - own))
            })
          )
        })
      return Effect.mapError(
        read(USED_TRIES),
        () => new CounterUnavailable({ message: "What was used cannot be read at the moment." })
      )
    }
  }
  return counter
})

/**
 * Hands what other processes say to the budgets they mean. Holds one connection; what is not heard costs a recall its
 * wait.
 */
const listening = (process: string, { recalls }: Shared) =>
  Effect.flatMap(PgClient.PgClient, (pg) =>
    Effect.forever(
      Effect.andThen(
        Effect.catchCause(
          Effect.scoped(
            Effect.gen(function* () {
              const told = yield* pg.listen(channel)
              for (;;)
                for (const { payload } of yield* Queue.takeAll(told)) {
                  const [what, kind, name, from] = JSON.parse(payload ?? "[]") as ReadonlyArray<string>
                  const mine = from === process ? undefined : recalls.get(kind ?? "")
                  if (what === "recall") mine?.recall(name ?? "")
                  else mine?.returned(name ?? "")
                }
            })
          ),
          (cause) =>
            Cause.hasInterruptsOnly(cause)
              ? Effect.interrupt
              : Effect.logWarning("Limits: Postgres no longer tells of units that are recalled; asked again", cause)
        ),
        Effect.sleep(LISTEN_AGAIN_MS)
      )
    )
  )

/** Volatile budgets of a process that is alone stay in memory. */
export const layerLeased = ({
  isAlone
}: LeasedOptions): Layer.Layer<Counters, never, Identifiers | PgClient.PgClient | SqlClient.SqlClient> =>
  Layer.effect(
    Counters,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const process = yield* (yield* Identifiers).make("ctr")
      const shared: Shared = { process, isAlone, recalls: new Map() }
      if (isAlone) yield* Effect.orDie(sql`DELETE FROM counter_leases`)
      else yield* Effect.forkScoped(listening(process, shared))
      return Counters.of({
        open: (options) =>
          isAlone && !options.isDurable
            ? Effect.succeed(makeMemoryCounter(options))
            : Effect.provideService(makeLeased(options, shared), SqlClient.SqlClient, sql)
      })
    })
  )

/** What is removed of windows that nobody asks for any more; answers how many. */
export const expireCounters = Effect.fnUntraced(function* (rowsMax: number) {
  const sql = yield* SqlClient.SqlClient
  const now = yield* Clock.currentTimeMillis
  const gone =
    yield* sql`WITH gone AS (DELETE FROM counter_windows WHERE (kind, name, started_at) IN (SELECT kind, name, started_at FROM counter_windows WHERE kept_until < ${String(now)}::text::int8 ORDER BY kept_until LIMIT ${rowsMax}::int4) RETURNING kind, name, started_at),
    leases AS (DELETE FROM counter_leases l USING gone g WHERE l.kind = g.kind AND l.name = g.name AND l.started_at = g.started_at)
    SELECT kind FROM gone`
  yield* sql`DELETE FROM counter_exchanges WHERE (process, kind) IN (SELECT process, kind FROM counter_exchanges WHERE at < ${String(now - EXCHANGES_KEPT_MS)}::text::int8 ORDER BY at LIMIT ${rowsMax}::int4)`
  return gone.length
})
