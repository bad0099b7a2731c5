/**
 * Quota and AI allowance over several processes of one installation, through kills and without Postgres. Each member
 * has its own layers over one database, as processes do.
 */
import type { RowReaders } from "../../../src/identity/row-readers.ts"
import { PgClient } from "@effect/sql-pg"
import { assert, it } from "@effect/vitest"
import { Clock, Context, Effect, Exit, Layer, Redacted, Schedule, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { Configuration } from "../../../src/configuration/configuration.ts"
import { AiAllowance } from "../../../src/metering/ai-allowance.ts"
import { Entitlements } from "../../../src/metering/entitlements.ts"
import { hourOf, monthOf } from "../../../src/metering/period.ts"
import { Quota } from "../../../src/metering/quota.ts"
import { Wallet } from "../../../src/metering/wallet.ts"
import { layer as layerMigrations } from "../../../src/migrations/index.ts"
import { Outbox } from "../../../log/outbox.ts"
import { HELD_MAX } from "../../../src/ports/counter/counter.ts"
import { layerLeased } from "../../../src/ports/counter/leased-sql.ts"
import { Identifiers } from "../../../log/identifiers.ts"
import { layerSql } from "../../../src/runtime/embedded.ts"
import { startBreakableProxy } from "../../support/breakable-proxy.ts"
import { makeSetClock } from "../../support/clock.ts"
import { acquireTestPostgres } from "../../support/postgres.ts"

interface Address {
  readonly host: string
  readonly port: number
  readonly username: string
  readonly password: string
  readonly database: string
}
/** A time in the middle of a month and of an hour. */
const START = Date.UTC(2031, 4, 15, 12, 30)

const member = (address: Address, isAlone = false) =>
  Effect.gen(function* () {
    const sql = PgClient.layer({
      host: address.host,
      port: address.port,
      username: address.username,
      password: Redacted.make(address.password),
      database: address.database,
      maxConnections: 4
    })
    const layer = Layer.mergeAll(Quota.layer, AiAllowance.layer).pipe(
      Layer.provideMerge(Layer.mergeAll(Entitlements.layer, Wallet.layer, Outbox.layer)),
      Layer.provideMerge(Layer.mergeAll(Configuration.layerEmbedded, layerLeased({ isAlone }))),
      Layer.provideMerge(Layer.mergeAll(Identifiers.layer, sql))
    )
    const context = yield* Layer.build(Layer.fresh(layer))
    return {
      quota: Context.get(context, Quota),
      allowance: Context.get(context, AiAllowance),
      wallet: Context.get(context, Wallet),
      entitlements: Context.get(context, Entitlements)
    }
  })
type Member = Effect.Success<ReturnType<typeof member>>
const organization = (id: string, plan: string, quota: number | null, overage = false) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) =>
      sql`INSERT INTO organizations (id, name, status, plan, created_at, quota_units, has_overage) VALUES (${id}, ${id}, 'active', ${plan}, 0, ${quota === null ? null : String(quota)}::text::int8, ${overage})`
  )
const scenario = (
  title: string,
  body: (
    address: Address,
    time: { readonly forward: (ms: number) => void; readonly now: () => number }
  ) => Effect.Effect<void, unknown, RowReaders | Scope.Scope | SqlClient.SqlClient>
) =>
  it.live(title, () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { clock, forward, now } = yield* makeSetClock(START)
        const server = yield* acquireTestPostgres
        yield* Effect.provideService(
          Effect.provide(body(server, { forward, now }), Layer.provideMerge(layerMigrations, layerSql(server))),
          Clock.Clock,
          clock
        )
      })
    )
  )
const searches = ({ quota }: Member, organizationId: string, times: number) =>
  Effect.map(
    Effect.forEach(Array.from({ length: times }), () => quota.reserve(organizationId), { concurrency: 32 }),
    (units) => units.filter(({ refusal }) => refusal === undefined)
  )
const eventually = <E, R>(check: Effect.Effect<void, E, R>) =>
  Effect.retry(check, { times: 1_200, schedule: Schedule.spaced(50) })
const every = (sql: SqlClient.SqlClient) =>
  Effect.map(
    sql<{
      organization_id: string
      event: string
    }>`SELECT organization_id, event FROM outbox ORDER BY organization_id, event`,
    (rows) => rows.map(({ event, organization_id }) => `${organization_id} ${event}`)
  )

scenario(
  "three processes share a month's quota to the unit, send its events once, and start again with the month",
  (address, { forward, now }) =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* organization("org_a", "standard", 1_000)
      yield* organization("org_b", "standard", 1_000)
      const all = yield* Effect.forEach([1, 2, 3], () => member(address))
      const answered = yield* Effect.forEach(all, (each, i) => searches(each, "org_a", [900, 300, 20][i]!), {
        concurrency: "unbounded"
      })
      // A holder that is too slow to return its units has them refused for a second: the shop asks again.
      let passed = answered.flat().length
      assert.isAtMost(passed, 1_000)
      yield* eventually(
        Effect.flatMap(searches(all[0]!, "org_a", 1_000 - passed), ({ length }) => {
          passed += length
          forward(1_001)
          return passed === 1_000 ? Effect.void : Effect.fail(passed)
        })
      )
      assert.strictEqual((yield* searches(all[1]!, "org_a", 5)).length, 0)
      assert.strictEqual((yield* searches(all[1]!, "org_b", 850)).length, 850)
      yield* eventually(
        Effect.flatMap(
          Effect.forEach(all, ({ quota }) => quota.state("org_a")),
          (states) => (states.every(({ used }) => used === 1_000) ? Effect.void : Effect.fail(states))
        )
      )
      yield* eventually(
        Effect.flatMap(every(sql), (events) =>
          events.join() === "org_a quota.exhausted,org_a quota.warning,org_b quota.warning"
            ? Effect.void
            : Effect.fail(events)
        )
      )
      // Units of failed searches can be used elsewhere.
      for (const unit of answered[0]!.slice(0, 5)) {
        unit.giveBack()
        unit.giveBack()
      }
      let late = 0
      yield* eventually(
        Effect.flatMap(searches(all[2]!, "org_a", 20), ({ length }) => {
          late += length
          forward(1_001)
          return late === 5 ? Effect.void : Effect.fail(late)
        })
      )
      forward(monthOf(now()).ends_at - now())
      assert.strictEqual((yield* searches(all[0]!, "org_a", 3)).length, 3)
      assert.deepStrictEqual(
        yield* Effect.map(all[0]!.quota.state("org_a"), ({ resets_at, used }) => [used, resets_at]),
        [3, Date.UTC(2031, 6, 1)]
      )
      assert.strictEqual((yield* every(sql)).length, 3)
    })
)

scenario("used units survive a kill, and units held by a killed process count as used", (address) =>
  Effect.gen(function* () {
    yield* organization("org_a", "standard", 2_000)
    let passed = 0
    for (let life = 1; life <= 3; life++) {
      const scope = yield* Scope.make()
      const one = yield* Effect.provideService(member(address, true), Scope.Scope, scope)
      passed += (yield* searches(one, "org_a", 200)).length
      const { used } = yield* one.quota.state("org_a")
      assert.isAtLeast(used, passed)
      assert.isAtMost(used, passed + HELD_MAX)
      // The second run ends in order, the others are killed.
      if (life === 2) yield* Scope.close(scope, Exit.void)
    }
  })
)

scenario("overage in three processes spends the wallet to the last unit and leaves nothing reserved", (address) =>
  Effect.gen(function* () {
    yield* organization("org_a", "standard", 10, true)
    yield* organization("org_b", "standard", 0, false)
    const all: Array<{ readonly member: Member; readonly stop: Effect.Effect<void> }> = []
    for (let i = 0; i < 3; i++) {
      const scope = yield* Scope.make()
      all.push({
        member: yield* Effect.provideService(member(address), Scope.Scope, scope),
        stop: Scope.close(scope, Exit.void)
      })
    }
    const { quota, wallet } = all[0]!.member
    // Enough for 250 units, and a rest that buys none.
    yield* wallet.topUp("org_a", 250 * 10_000 + 9_999, "")
    const answered = yield* Effect.forEach(all, ({ member: each }) => searches(each, "org_a", 40), {
      concurrency: "unbounded"
    })
    // Blocks of a hundred: the third process got what was left.
    assert.strictEqual(answered.flat().length, 120)
    answered[0]!.at(-1)!.giveBack()
    assert.strictEqual((yield* searches(all[0]!.member, "org_b", 1)).length, 0)
    yield* eventually(
      Effect.flatMap(quota.state("org_a"), ({ used }) => (used === 119 ? Effect.void : Effect.fail(used)))
    )
    for (const { stop } of all) yield* stop
    const late = yield* member(address)
    const { balance, reserved } = yield* late.wallet.balance("org_a")
    // The returned unit came either from the quota or from the paid ones.
    assert.include(
      [250 - 109, 250 - 110].map((units) => units * 10_000 + 9_999),
      balance
    )
    assert.strictEqual(reserved, 0)
    assert.strictEqual((yield* searches(late, "org_a", 300)).length, 141)
  })
)

scenario(
  "without Postgres held units and a bounded credit pass, then 503, and what was used is counted afterwards",
  (address) =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* organization("org_a", "standard", null)
      yield* organization("org_b", "unlimited", null)
      const proxy = yield* Effect.acquireRelease(
        Effect.promise(() => startBreakableProxy(address.host, address.port)),
        (started) => Effect.promise(started.stop)
      )
      const one = yield* member({ ...address, host: "127.0.0.1", port: proxy.port })
      yield* searches(one, "org_a", 5)
      proxy.cut()
      const passed = (yield* searches(one, "org_a", 1_500)).length
      assert.isAtLeast(passed, 1_000)
      assert.isAtMost(passed, 1_000 + HELD_MAX)
      assert.strictEqual((yield* one.quota.reserve("org_a")).refusal?._tag, "LimitsUnavailable")
      assert.strictEqual((yield* searches(one, "org_b", 3_000)).length, 3_000)
      proxy.heal()
      const used = (name: string) =>
        Effect.map(
          sql<{
            used: number
          }>`SELECT (granted - coalesce((SELECT sum(held) FROM counter_leases l WHERE l.name = ${name}), 0))::float8 AS used FROM counter_windows WHERE name = ${name}`,
          ([row]) => row?.used ?? 0
        )
      yield* eventually(
        Effect.flatMap(Effect.all([used("org_a"), used("org_b")]), ([a, b]) =>
          a! >= passed + 5 && b === 3_000 ? Effect.void : Effect.fail([a, b])
        )
      )
    })
)

scenario(
  "a session's allowance applies across processes, only to search keys, and ends with the hour",
  (address, { forward, now }) =>
    Effect.gen(function* () {
      yield* organization("org_a", "free", null)
      yield* organization("org_b", "unlimited", null)
      const all = yield* Effect.forEach([1, 2], () => member(address))
      const take = (
        each: Member,
        sessionId: string | undefined,
        units = 1,
        organizationId = "org_a",
        scope: "full" | "search" = "search"
      ) =>
        Effect.match(each.allowance.take({ organizationId, scope, sessionId }, units), {
          onFailure: (error) => error,
          onSuccess: () => undefined
        })
      const outcomes = yield* Effect.forEach(
        Array.from({ length: 30 }, (_, i) => all[i % 2]!),
        (each) => take(each, "s1"),
        { concurrency: 8 }
      )
      assert.strictEqual(outcomes.filter((each) => each === undefined).length, 20)
      const refused = yield* take(all[0]!, "s1")
      assert.deepInclude(
        { ...refused },
        { _tag: "AllowanceExhausted", retry_after: Math.ceil((hourOf(now()).ends_at - now()) / 1000) }
      )
      assert.strictEqual((yield* take(all[0]!, undefined))?._tag, "SessionRequired")
      assert.strictEqual(yield* take(all[0]!, "s2", 20), undefined)
      assert.strictEqual((yield* take(all[1]!, "s2"))?._tag, "AllowanceExhausted")
      assert.strictEqual(yield* take(all[0]!, "s1", 50, "org_b"), undefined)
      assert.strictEqual(yield* take(all[0]!, undefined, 50, "org_a", "full"), undefined)
      forward(3_600_000)
      assert.strictEqual(yield* take(all[0]!, "s1", 20), undefined)
    })
)

it("a period is a month of UTC, an allowance an hour", () => {
  const at = Date.UTC(2028, 1, 29, 23, 59, 59, 999)
  assert.deepStrictEqual(monthOf(at), { started_at: Date.UTC(2028, 1, 1), ends_at: Date.UTC(2028, 2, 1) })
  assert.deepStrictEqual(monthOf(at + 1), { started_at: Date.UTC(2028, 2, 1), ends_at: Date.UTC(2028, 3, 1) })
  assert.deepStrictEqual(monthOf(Date.UTC(2028, 11, 31)), {
    started_at: Date.UTC(2028, 11, 1),
    ends_at: Date.UTC(2029, 0, 1)
  })
  assert.deepStrictEqual(hourOf(at), { started_at: Date.UTC(2028, 1, 29, 23), ends_at: Date.UTC(2028, 2, 1) })
})
