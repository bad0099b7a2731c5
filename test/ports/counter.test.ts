/**
 * Counters in memory, leased by a single process, and leased by three; and what happens to the leases of a process that
 * dies.
 */
import { PgClient } from "@effect/sql-pg"
import { assert, it } from "@effect/vitest"
import { Clock, Context, Effect, Exit, Layer, Redacted, Schedule, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { layer as layerMigrations } from "../../src/migrations/index.ts"
import { type Counter, Counters, type CounterOptions, HELD_MAX } from "../../src/ports/counter/counter.ts"
import { expireCounters, layerLeased } from "../../src/ports/counter/leased-sql.ts"
import { makeMemoryCounter } from "../../src/ports/counter/memory.ts"
import { Identifiers } from "../../log/identifiers.ts"
import { layerSql } from "../../src/runtime/embedded.ts"
import { startBreakableProxy } from "../support/breakable-proxy.ts"
import { makeSetClock } from "../support/clock.ts"
import { acquireTestPostgres } from "../support/postgres.ts"
import { counterSuite, minute, passes, taking, volatile } from "./counter.suite.ts"

const every = Schedule.spaced(50)
interface Address {
  readonly host: string
  readonly port: number
  readonly username: string
  readonly password: string
  readonly database: string
}
const durable: CounterOptions = { ...volatile, kind: "quota", isDurable: true }

/** One process's counter, until the scope closes. The clock stands inside the window. */
const member = (address: Address, options: CounterOptions, isAlone = false) =>
  Effect.gen(function* () {
    const sql = Layer.fresh(
      PgClient.layer({
        host: address.host,
        port: address.port,
        username: address.username,
        password: Redacted.make(address.password),
        database: address.database,
        maxConnections: 4
      })
    )
    const context = yield* Layer.build(
      Layer.fresh(Layer.provideMerge(layerLeased({ isAlone }), Layer.mergeAll(Identifiers.layer, sql)))
    )
    return yield* Context.get(context, Counters).open(options)
  })
const inDatabase = (body: (address: Address) => Effect.Effect<void, unknown, Scope.Scope | SqlClient.SqlClient>) =>
  Effect.scoped(
    Effect.gen(function* () {
      const { clock } = yield* makeSetClock(minute("", 0).started_at + 1_000)
      const server = yield* acquireTestPostgres
      yield* Effect.provideService(
        Effect.provide(body(server), Layer.provideMerge(layerMigrations, layerSql(server))),
        Clock.Clock,
        clock
      )
    })
  )

counterSuite("memory", 1, (body) => Effect.scoped(Effect.suspend(() => body([makeMemoryCounter({ entriesMax: 100 })]))))
counterSuite("leased, alone", 1, (body) =>
  inDatabase((address) => Effect.flatMap(member(address, durable, true), (one) => body([one])))
)
counterSuite("leased, three processes", 3, (body) =>
  inDatabase((address) =>
    Effect.flatMap(
      Effect.forEach([1, 2, 3], () => member(address, volatile)),
      body
    )
  )
)
counterSuite("leased for long, three processes", 3, (body) =>
  inDatabase((address) =>
    Effect.flatMap(
      Effect.forEach([1, 2, 3], () => member(address, durable)),
      body
    )
  )
)

it("memory keeps the budgets of one window, and no more than its bound", () => {
  const counter = makeMemoryCounter({ entriesMax: 2 })
  for (const name of ["a", "b", "c"]) counter.take(minute(name, 1), 1)
  assert.deepStrictEqual(
    ["b", "c"].map((name) => counter.take(minute(name, 1), 1)?.isAllowed),
    [false, false]
  )
  // The oldest budget was forgotten, and starts again.
  assert.strictEqual(counter.take(minute("a", 1), 1)?.isAllowed, true)
})

const own = (address: Address, options: CounterOptions, isAlone = false) =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    const counter = yield* Effect.provideService(member(address, options, isAlone), Scope.Scope, scope)
    return { counter, stop: Scope.close(scope, Exit.void) }
  })

it.live("a process that stops returns what it held; used units stay used", () =>
  inDatabase((address) =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const budget = minute("org", 1_000)
      for (let life = 1; life <= 3; life++) {
        const { counter, stop } = yield* own(address, durable, true)
        assert.strictEqual(yield* passes(counter, budget, 100), 100)
        assert.strictEqual(yield* counter.used(budget), life * 100)
        yield* stop
        assert.deepStrictEqual(yield* sql`SELECT granted::int4 AS granted FROM counter_windows`, [
          { granted: life * 100 }
        ])
        assert.deepStrictEqual(yield* sql`SELECT process FROM counter_leases`, [])
      }
    })
  )
)

it.live("a killed process costs the units that it held, never fewer than were used, and nothing passes twice", () =>
  inDatabase((address) =>
    Effect.gen(function* () {
      const budget = minute("org", 1_000)
      let passed = 0
      let counter: Counter | undefined
      for (let life = 1; life <= 4; life++) {
        // The previous counter was never stopped, as if its process had been killed.
        ;({ counter } = yield* own(address, durable, true))
        passed += yield* passes(counter, budget, 150)
        const used = yield* counter.used(budget)
        assert.isAtLeast(used, passed)
        assert.isAtMost(used, passed + (life - 1) * HELD_MAX)
      }
      const { counter: last } = yield* own(address, durable, true)
      passed += yield* passes(last, budget, 1_000)
      assert.isAtMost(passed, 1_000)
      assert.isAtLeast(passed, 1_000 - 4 * HELD_MAX)
    })
  )
)

it.live("units of a dead process that is not swept yet are refused soon, and others' units pass", () =>
  inDatabase((address) =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const budget = minute("key", 600)
      const [a, b] = yield* Effect.all([member(address, volatile), member(address, volatile)])
      assert.strictEqual(yield* passes(a!, budget, 1), 1)
      yield* sql`INSERT INTO counter_leases SELECT kind, name, started_at, 'gone', 40, seen_at FROM counter_leases WHERE name = 'key'`
      yield* sql`UPDATE counter_windows SET granted = granted + 40`
      assert.strictEqual(yield* passes(b!, budget, 700), 600 - 40 - 1)
      assert.strictEqual((yield* taking(a!, budget)).isAllowed, false)
    })
  )
)

it.live("units that are returned after the wait for them can be taken, by the same clock", () =>
  inDatabase((address) =>
    Effect.gen(function* () {
      const proxy = yield* Effect.acquireRelease(
        Effect.promise(() => startBreakableProxy(address.host, address.port)),
        (started) => Effect.promise(started.stop)
      )
      const budget = minute("late", 60)
      const [near, far] = yield* Effect.all([
        member(address, durable),
        member({ ...address, host: "127.0.0.1", port: proxy.port }, durable)
      ])
      assert.strictEqual(yield* passes(far!, budget, 1), 1)
      proxy.block()
      const passed = yield* passes(near!, budget, 60)
      assert.isBelow(passed, 59)
      assert.strictEqual((yield* taking(near!, budget)).isAllowed, false)
      proxy.heal()
      yield* Effect.retry(
        Effect.flatMap(taking(near!, budget), ({ isAllowed }) => (isAllowed ? Effect.void : Effect.fail("refused"))),
        { times: 100, schedule: every }
      )
      assert.strictEqual(yield* passes(near!, budget, 60), 60 - 1 - passed - 1)
    })
  )
)

it.live("units that others return while this process stalls are not refused", () =>
  inDatabase((address) =>
    Effect.gen(function* () {
      const STALL_MS = 1_300
      const budget = minute("stalled", 60)
      const far = yield* member(address, durable)
      // Stalls after the exchange that recalls, once the wait for the others has begun.
      const near = yield* member(address, {
        ...durable,
        onUsed: () => {
          // After what arrived was read, so that the timers that are due come first.
          setImmediate(() => {
            const until = performance.now() + STALL_MS
            while (performance.now() < until);
          })
        }
      })
      assert.strictEqual(yield* passes(far, budget, 1), 1)
      assert.strictEqual(yield* passes(near, budget, 60), 59)
    })
  )
)

it.live("processes that report at the same time lose nothing", () =>
  inDatabase((address) =>
    Effect.gen(function* () {
      const budget = minute("endless", Infinity)
      const all = yield* Effect.forEach([1, 2, 3], () => member(address, durable))
      yield* Effect.forEach(all, (counter) => passes(counter, budget, 777), { concurrency: "unbounded" })
      yield* Effect.retry(
        Effect.flatMap(all[0]!.used(budget), (used) => (used === 3 * 777 ? Effect.void : Effect.fail(used))),
        { times: 100, schedule: every }
      )
    })
  )
)

it.live("while Postgres is away held units pass, then a bounded number on credit, which is reported afterwards", () =>
  inDatabase((address) =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const proxy = yield* Effect.acquireRelease(
        Effect.promise(() => startBreakableProxy(address.host, address.port)),
        (started) => Effect.promise(started.stop)
      )
      const counter = yield* member({ ...address, host: "127.0.0.1", port: proxy.port }, durable)
      const budget = minute("org", 1_000)
      yield* passes(counter, budget, 10)
      proxy.cut()
      const outcome = yield* Effect.forEach(Array.from({ length: 500 }), () =>
        Effect.match(taking(counter, budget), { onFailure: ({ _tag }) => _tag as string, onSuccess: () => "passed" })
      )
      const passed = outcome.filter((each) => each === "passed").length
      assert.isAtLeast(passed, durable.creditMax)
      assert.isAtMost(passed, HELD_MAX + durable.creditMax)
      assert.strictEqual(outcome[499], "CounterUnavailable")
      proxy.heal()
      const used = Effect.map(
        sql<{
          used: number
        }>`SELECT (granted - coalesce((SELECT sum(held) FROM counter_leases), 0))::float8 AS used FROM counter_windows`,
        ([row]) => row!.used
      )
      yield* Effect.retry(
        Effect.flatMap(used, (n) => (n >= 10 + passed ? Effect.void : Effect.fail(n))),
        { times: 300, schedule: every }
      )
    })
  )
)

it.live("a statement that took effect but was never answered is counted once, and its granted units are held", () =>
  inDatabase((address) =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const proxy = yield* Effect.acquireRelease(
        Effect.promise(() => startBreakableProxy(address.host, address.port)),
        (started) => Effect.promise(started.stop)
      )
      const budget = minute("org", 1_000)
      const endless = minute("beyond", Infinity)
      const { counter, stop } = yield* own({ ...address, host: "127.0.0.1", port: proxy.port }, durable, true)
      yield* passes(counter, budget, 1)
      yield* counter.used(budget)
      proxy.mute()
      counter.add(endless, 5)
      counter.add(budget, 3)
      const granted = Effect.map(
        sql<{ granted: number }>`SELECT granted::float8 AS granted FROM counter_windows WHERE name = 'beyond'`,
        ([row]) => row?.granted
      )
      yield* Effect.retry(
        Effect.flatMap(granted, (n) => (n === 5 ? Effect.void : Effect.fail(n))),
        { times: 300, schedule: every }
      )
      counter.add(endless, 2)
      // Longer than a statement may take, so that this statement and the next are abandoned.
      yield* Effect.sleep(2_500)
      proxy.heal()
      const used = (which: typeof budget, wanted: number) =>
        Effect.retry(
          Effect.flatMap(counter.used(which), (n) => (n === wanted ? Effect.void : Effect.fail(n))),
          { times: 200, schedule: every }
        )
      yield* used(endless, 7)
      yield* used(budget, 4)
      yield* stop
      assert.deepStrictEqual(yield* sql`SELECT name, granted::float8 AS granted FROM counter_windows ORDER BY name`, [
        { name: "beyond", granted: 7 },
        { name: "org", granted: 4 }
      ])
      assert.deepStrictEqual(yield* sql`SELECT process FROM counter_leases`, [])
    })
  )
)

it.live("no request waits for more than a statement or two while Postgres hangs, and what passed is counted once", () =>
  inDatabase((address) =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const proxy = yield* Effect.acquireRelease(
        Effect.promise(() => startBreakableProxy(address.host, address.port)),
        (started) =>
          Effect.promise(() => {
            started.heal()
            return started.stop()
          })
      )
      const counter = yield* member(
        { ...address, host: "127.0.0.1", port: proxy.port },
        { ...durable, creditMax: 1_000 }
      )
      const organization = minute("org", 1_000_000)
      let passed = yield* passes(counter, organization, 5)
      proxy.block()
      for (const until = performance.now() + 6_000; performance.now() < until;) {
        // Includes budgets that nobody used before, as in a new minute.
        for (const budget of [organization, minute(`key_${passed}`, 600)]) {
          const taken = yield* Effect.timeoutOption(taking(counter, budget), 5_000)
          assert.strictEqual(taken._tag === "Some" && taken.value.isAllowed, true)
        }
        passed++
        yield* Effect.sleep(50)
      }
      proxy.heal()
      const used = Effect.map(
        sql<{
          used: number
        }>`SELECT (granted - coalesce((SELECT sum(held) FROM counter_leases l WHERE l.name = 'org'), 0))::float8 AS used FROM counter_windows WHERE name = 'org'`,
        ([row]) => row!.used
      )
      yield* Effect.retry(
        Effect.flatMap(used, (n) => (n === passed ? Effect.void : Effect.fail(n))),
        { times: 300, schedule: every }
      )
    })
  )
)

it.live("windows that have ended are removed", () =>
  inDatabase((address) =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const counter = yield* member(address, durable)
      yield* passes(counter, minute("old", 5, -3), 2)
      yield* passes(counter, minute("new", 5), 2)
      assert.strictEqual(yield* expireCounters(10), 1)
      assert.strictEqual(yield* expireCounters(10), 0)
      assert.deepStrictEqual(yield* sql`SELECT name FROM counter_windows`, [{ name: "new" }])
    })
  )
)
