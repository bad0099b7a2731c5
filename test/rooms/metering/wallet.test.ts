/**
 * The wallet under many spenders, crashes and an unavailable Postgres: it is never below zero, and every movement is in
 * the ledger.
 */
import { PgClient } from "@effect/sql-pg"
import { assert, it } from "@effect/vitest"
import { Clock, Context, Deferred, Effect, Fiber, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { makeRandom } from "../../../fixtures/random.ts"
import { CreditsExhausted } from "../../../src/metering/errors.ts"
import { expireReservations, RESERVATION_MS, Wallet } from "../../../src/metering/wallet.ts"
import { layer as layerMigrations, layerRowReaders } from "../../../src/migrations/index.ts"
import { Identifiers } from "../../../log/identifiers.ts"
import { layerSql } from "../../../src/runtime/embedded.ts"
import { startBreakableProxy } from "../../support/breakable-proxy.ts"
import { makeShiftedClock } from "../../support/clock.ts"
import { acquireTestPostgres, layerTestSql } from "../../support/postgres.ts"

const layer = Layer.provideMerge(Wallet.layer, Layer.provideMerge(Identifiers.layer, layerTestSql))
const organization = (id: string) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) =>
      sql`INSERT INTO organizations (id, name, status, plan, created_at) VALUES (${id}, ${id}, 'active', 'standard', 0)`
  )

/** The ledger has the whole history: each line follows from the one before, and the last one equals the wallet. */
const checkLedger = (id: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const lines = yield* sql<{ amount: number; reserved: number; balance_after: number; reserved_after: number }>`
    SELECT amount::float8 AS amount, reserved::float8 AS reserved, balance_after::float8 AS balance_after, reserved_after::float8 AS reserved_after FROM wallet_ledger WHERE organization_id = ${id} ORDER BY id`
    const balances: Array<string> = []
    let balance = 0,
      reserved = 0
    for (const line of lines) {
      balance += line.amount
      reserved += line.reserved
      balances.push(`${line.balance_after}/${line.reserved_after}`)
      assert.isTrue(
        line.balance_after >= 0 && line.reserved_after >= 0 && line.reserved_after <= line.balance_after,
        JSON.stringify(line)
      )
    }
    // Ids are drawn before rows are locked, so lines of the same moment may be in a different order: the sums are
    // right, and the final state is among them.
    const now = yield* (yield* Wallet).balance(id)
    assert.deepStrictEqual(now, { balance, reserved })
    if (lines.length > 0) assert.include(balances, `${now.balance}/${now.reserved}`)
    return { lines: lines.length, ...now }
  })

it.live(
  "64 spenders at once: never negative, never more than there is, and two organizations do not affect each other",
  () =>
    Effect.gen(function* () {
      const wallet = yield* Wallet
      const sql = yield* SqlClient.SqlClient
      for (const id of ["org_a", "org_b"]) yield* organization(id)
      const random = makeRandom(64)
      for (let round = 0; round < 3; round++) {
        const before = { org_a: yield* wallet.balance("org_a"), org_b: yield* wallet.balance("org_b") }
        const added = 1_000 + random.below(4_000)
        yield* wallet.topUp("org_a", added, "")
        yield* wallet.topUp("org_b", 7, "")
        let spent = 0
        yield* Effect.forEach(
          Array.from({ length: 64 }, (_, i) => i),
          () =>
            Effect.gen(function* () {
              for (let i = 0; i < 5; i++) {
                const amount = 1 + random.below(200)
                const how = random.below(4)
                const used = random.below(amount + 1)
                const outcome = yield* Effect.result(wallet.reserve("org_a", amount, `round ${round}`))
                if (outcome._tag === "Failure") {
                  assert.instanceOf(outcome.failure, CreditsExhausted)
                  assert.strictEqual((outcome.failure as CreditsExhausted).requested, amount / 1e6)
                  continue
                }
                yield* Effect.yieldNow
                if (how === 0) yield* wallet.release(outcome.success)
                else {
                  // Settled twice, also concurrently, and released afterwards: it counts once.
                  const settled = yield* Effect.forEach(
                    Array.from({ length: how }),
                    () => wallet.settle(outcome.success, used),
                    { concurrency: "unbounded" }
                  )
                  assert.strictEqual(settled.filter((each) => each).length, 1)
                  assert.isFalse(yield* wallet.release(outcome.success))
                  spent += used
                }
              }
            }),
          { concurrency: 64 }
        )
        assert.deepStrictEqual(yield* wallet.balance("org_a"), {
          balance: before.org_a.balance + added - spent,
          reserved: 0
        })
        assert.deepStrictEqual(yield* wallet.balance("org_b"), { balance: before.org_b.balance + 7, reserved: 0 })
        yield* checkLedger("org_a")
        assert.strictEqual((yield* checkLedger("org_b")).lines, round + 1)
      }
      // The table refuses what none of our statements does.
      assert.isTrue((yield* Effect.exit(sql`UPDATE wallets SET balance = -1`))._tag === "Failure")
      assert.isTrue((yield* Effect.exit(sql`UPDATE wallets SET reserved = balance + 1`))._tag === "Failure")
    }).pipe(Effect.provide(layer))
)

it.live("the last credit is spent by only one of 64", () =>
  Effect.gen(function* () {
    const wallet = yield* Wallet
    yield* organization("org_a")
    yield* wallet.topUp("org_a", 100, "")
    const outcomes = yield* Effect.forEach(
      Array.from({ length: 64 }),
      () => Effect.result(wallet.reserve("org_a", 100, "x")),
      { concurrency: 64 }
    )
    assert.strictEqual(outcomes.filter(({ _tag }) => _tag === "Success").length, 1)
    const refused = outcomes.find(({ _tag }) => _tag === "Failure") as { readonly failure: CreditsExhausted }
    assert.deepStrictEqual([refused.failure.available, refused.failure.requested], [0, 0.0001])
  }).pipe(Effect.provide(layer))
)

it.live("failed or interrupted spending releases its reservation, and that of a dead spender expires", () =>
  Effect.gen(function* () {
    const { clock, forward } = yield* makeShiftedClock
    yield* Effect.gen(function* () {
      const wallet = yield* Wallet
      const sql = yield* SqlClient.SqlClient
      yield* organization("org_a")
      yield* wallet.topUp("org_a", 1_000, "")
      assert.strictEqual(
        yield* wallet.spending("org_a", 600, "a model", Effect.succeed(["answer", 250] as const)),
        "answer"
      )
      assert.deepStrictEqual(yield* wallet.balance("org_a"), { balance: 750, reserved: 0 })
      assert.strictEqual(
        (yield* Effect.exit(wallet.spending("org_a", 600, "a model", Effect.fail("down"))))._tag,
        "Failure"
      )
      const started = yield* Deferred.make<void>()
      const fiber = yield* Effect.forkChild(
        wallet.spending("org_a", 600, "a model", Effect.andThen(Deferred.succeed(started, undefined), Effect.never))
      )
      yield* Deferred.await(started)
      assert.deepStrictEqual(yield* wallet.balance("org_a"), { balance: 750, reserved: 600 })
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(yield* wallet.balance("org_a"), { balance: 750, reserved: 0 })

      const dead = yield* wallet.reserve("org_a", 700, "died")
      assert.strictEqual(yield* expireReservations(10), 0)
      forward(RESERVATION_MS + 1_000)
      assert.strictEqual(yield* expireReservations(10), 1)
      assert.deepStrictEqual(yield* wallet.balance("org_a"), { balance: 750, reserved: 0 })
      // The spender was not dead, only late: nothing is taken from what others may have reserved meanwhile.
      assert.isFalse(yield* wallet.settle(dead, 700))
      assert.deepStrictEqual(yield* wallet.balance("org_a"), { balance: 750, reserved: 0 })
      yield* checkLedger("org_a")
      forward(31 * 86_400_000)
      assert.isAbove(yield* expireReservations(10), 0)
      assert.deepStrictEqual(yield* sql`SELECT id FROM wallet_reservations`, [])
      yield* checkLedger("org_a")
    }).pipe(Effect.provide(layer), Effect.provideService(Clock.Clock, clock))
  })
)

it.live("a payment that is sent again, also concurrently, is booked once", () =>
  Effect.gen(function* () {
    const wallet = yield* Wallet
    yield* organization("org_a")
    yield* organization("org_b")
    yield* Effect.forEach(Array.from({ length: 16 }), () => wallet.topUp("org_a", 50, "invoice 1"), {
      concurrency: 16
    })
    yield* wallet.topUp("org_b", 50, "invoice 1")
    assert.deepStrictEqual(
      [(yield* wallet.balance("org_a")).balance, (yield* wallet.balance("org_b")).balance],
      [50, 50]
    )
    assert.strictEqual((yield* Effect.flip(wallet.topUp("org_none", 1, "")))._tag, "NotFound")
  }).pipe(Effect.provide(layer))
)

it.live("an unreachable wallet is reported within its time, and works again afterwards", () =>
  Effect.scoped(
    Effect.gen(function* () {
      const server = yield* acquireTestPostgres
      const proxy = yield* Effect.acquireRelease(
        Effect.promise(() => startBreakableProxy(server.host, server.port)),
        (started) => Effect.promise(started.stop)
      )
      yield* Effect.provide(organization("org_a"), Layer.provideMerge(layerMigrations, layerSql(server)))
      const far = PgClient.layer({
        host: "127.0.0.1",
        port: proxy.port,
        username: server.username,
        password: Redacted.make(server.password),
        database: server.database,
        maxConnections: 2
      })
      const wallet = Context.get(
        yield* Layer.build(Layer.provide(Wallet.layer, Layer.mergeAll(Identifiers.layer, layerRowReaders, far))),
        Wallet
      )
      yield* wallet.topUp("org_a", 50, "")
      for (const cut of [proxy.cut, proxy.block]) {
        cut()
        const errors = yield* Effect.all(
          [Effect.flip(wallet.reserve("org_a", 1, "x")), Effect.flip(wallet.balance("org_a"))],
          { concurrency: 2 }
        )
        assert.deepStrictEqual(
          errors.map(({ _tag }) => _tag),
          ["WalletUnreachable", "WalletUnreachable"]
        )
        proxy.heal()
        yield* Effect.retry(wallet.balance("org_a"), { times: 50 })
      }
    })
  )
)
