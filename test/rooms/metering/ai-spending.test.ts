/**
 * What AI operations cost: who pays, which refusals there are, and what happens to the reservations of a dead process.
 */
import { assert, it } from "@effect/vitest"
import { Clock, Deferred, Effect, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { AiAllowance } from "../../../src/metering/ai-allowance.ts"
import { parseAiPrices } from "../../../src/metering/ai-prices.ts"
import { AiSpending } from "../../../src/metering/ai-spending.ts"
import { Entitlements } from "../../../src/metering/entitlements.ts"
import { expireReservations, Wallet } from "../../../src/metering/wallet.ts"
import { Configuration } from "../../../src/configuration/configuration.ts"
import { Outbox } from "../../../log/outbox.ts"
import { layerLeased } from "../../../src/ports/counter/leased-sql.ts"
import { Identifiers } from "../../../log/identifiers.ts"
import { makeSetClock } from "../../support/clock.ts"
import { layerTestSql } from "../../support/postgres.ts"

const START = Date.UTC(2031, 4, 15, 12, 30)
const CREDIT = 1_000_000
const layer = AiSpending.layer.pipe(
  Layer.provideMerge(AiAllowance.layer),
  Layer.provideMerge(Layer.mergeAll(Entitlements.layer, Wallet.layer, Outbox.layer)),
  Layer.provideMerge(Layer.mergeAll(Configuration.layerEmbedded, layerLeased({ isAlone: true }))),
  Layer.provideMerge(Identifiers.layer)
)
const owner = (organizationId: string) => ({ organizationId, scope: "full", sessionId: undefined }) as const
const visitor = (organizationId: string, sessionId: string) => ({ organizationId, scope: "search", sessionId }) as const

const scenario = (title: string, body: (forward: (ms: number) => void) => Effect.Effect<void, unknown, Needs>) =>
  it.live(title, () =>
    Effect.gen(function* () {
      const { clock, forward } = yield* makeSetClock(START)
      const sql = yield* SqlClient.SqlClient
      for (const [id, plan] of [
        ["org_a", "standard"],
        ["org_b", "free"]
      ] as const)
        yield* sql`INSERT INTO organizations (id, name, status, plan, created_at) VALUES (${id}, ${id}, 'active', ${plan}, 0)`
      yield* Effect.provideService(Effect.provide(body(forward), Layer.fresh(layer)), Clock.Clock, clock)
    }).pipe(Effect.provide(layerTestSql))
  )
type Needs = AiSpending | Wallet | SqlClient.SqlClient

scenario("64 visitors spend the last five searches: five answers, 59 times 402, and another tenant pays nothing", () =>
  Effect.gen(function* () {
    const spending = yield* AiSpending
    const wallet = yield* Wallet
    yield* wallet.topUp("org_a", CREDIT / 2, "")
    yield* wallet.topUp("org_b", CREDIT, "")
    let worked = 0
    const outcomes = yield* Effect.forEach(
      Array.from({ length: 64 }, (_, i) => visitor("org_a", `s${i}`)),
      (caller) =>
        Effect.result(
          spending.spend(
            caller,
            "semantic_search",
            1,
            Effect.sync(() => [++worked, 1] as const)
          )
        ),
      { concurrency: 64 }
    )
    assert.strictEqual(worked, 5)
    const refusals = outcomes.flatMap((outcome) => (outcome._tag === "Failure" ? [outcome.failure] : []))
    assert.strictEqual(refusals.length, 59)
    for (const refusal of refusals) assert.deepInclude(refusal, { _tag: "CreditsExhausted", requested: 0.1 })
    assert.deepStrictEqual(yield* wallet.balance("org_a"), { balance: 0, reserved: 0 })
    assert.deepStrictEqual(yield* wallet.balance("org_b"), { balance: CREDIT, reserved: 0 })
  })
)

scenario("a session's units come before credits; a full key has none; failures cost nothing", (forward) =>
  Effect.gen(function* () {
    const spending = yield* AiSpending
    const wallet = yield* Wallet
    yield* wallet.topUp("org_b", 10 * CREDIT, "")
    const search = (caller: Parameters<typeof spending.spend>[0]) =>
      Effect.result(spending.spend(caller, "semantic_search", 1, Effect.succeed(["", 1] as const)))
    for (let i = 0; i < 20; i++) assert.strictEqual((yield* search(visitor("org_b", "s")))._tag, "Success")
    const refused = yield* search(visitor("org_b", "s"))
    assert.deepInclude(refused._tag === "Failure" ? refused.failure : {}, {
      _tag: "AllowanceExhausted",
      retry_after: 1800
    })
    assert.strictEqual((yield* search(visitor("org_b", "another")))._tag, "Success")
    assert.strictEqual((yield* search(owner("org_b")))._tag, "Success")
    forward(1_800_000)
    assert.strictEqual((yield* search(visitor("org_b", "s")))._tag, "Success")
    const before = yield* wallet.balance("org_b")
    assert.strictEqual(before.balance, 10 * CREDIT - 23 * 100_000)
    const failed = spending.spend(owner("org_b"), "embeddings", 5_000, Effect.fail("down"))
    assert.strictEqual((yield* Effect.exit(failed))._tag, "Failure")
    assert.deepStrictEqual(yield* wallet.balance("org_b"), before)
    // Of 5,000 reserved characters, 1,001 were used: two started thousands.
    yield* spending.spend(owner("org_b"), "embeddings", 5_000, Effect.succeed(["", 1_001] as const))
    assert.strictEqual((yield* wallet.balance("org_b")).balance, before.balance - 100_000)
  })
)

scenario("a job reserves when it is requested, lives longer than a reservation, and pays at its end", (forward) =>
  Effect.gen(function* () {
    const spending = yield* AiSpending
    const wallet = yield* Wallet
    const sql = yield* SqlClient.SqlClient
    yield* wallet.topUp("org_a", 5 * CREDIT, "")
    const reservation = yield* spending.reserveForJob(owner("org_a"), "graph", 2_500)
    assert.deepStrictEqual(yield* wallet.balance("org_a"), { balance: 5 * CREDIT, reserved: 3 * CREDIT })
    // It waited for longer than reservations last.
    forward(16 * 60_000)
    yield* expireReservations(10)
    assert.strictEqual((yield* wallet.balance("org_a")).reserved, 0)
    const working = yield* Deferred.make<void>()
    const job = yield* Effect.forkChild(
      spending.runJob("org_a", "graph", reservation, ({ settle }) => Effect.as(Deferred.await(working), settle(1_500)))
    )
    yield* Effect.sleep(50)
    assert.strictEqual((yield* wallet.balance("org_a")).reserved, 3 * CREDIT)
    yield* Deferred.succeed(working, undefined)
    const settle = yield* Fiber.join(job)
    // The transaction that ends the job fails, so nothing is paid; repeated, it pays once.
    yield* Effect.exit(sql.withTransaction(Effect.andThen(settle, Effect.fail("the job's row"))))
    assert.strictEqual((yield* wallet.balance("org_a")).balance, 5 * CREDIT)
    yield* sql.withTransaction(Effect.andThen(settle, settle))
    assert.deepStrictEqual(yield* wallet.balance("org_a"), { balance: 3 * CREDIT, reserved: 0 })
    const cancelled = yield* spending.reserveForJob(owner("org_a"), "graph", 1)
    const fiber = yield* Effect.forkChild(spending.runJob("org_a", "graph", cancelled, () => Effect.never))
    yield* Effect.sleep(50)
    yield* Fiber.interrupt(fiber)
    assert.deepStrictEqual(yield* wallet.balance("org_a"), { balance: 3 * CREDIT, reserved: 0 })
    const refused = yield* Effect.result(spending.reserveForJob(owner("org_a"), "graph", 3_001))
    assert.deepInclude(refused._tag === "Failure" ? refused.failure : {}, {
      _tag: "CreditsExhausted",
      available: 3,
      requested: 4
    })
    // Killed between its reservation and its end.
    yield* spending.reserveForJob(owner("org_a"), "graph", 3_000)
    forward(15 * 60_000 + 1)
    assert.strictEqual(yield* expireReservations(10), 1)
    assert.deepStrictEqual(yield* wallet.balance("org_a"), { balance: 3 * CREDIT, reserved: 0 })
  })
)

it("prices are read in the operator's notation", () => {
  const prices = parseAiPrices("semantic_search=0.25, graph=0")
  assert.isTrue(typeof prices !== "string")
  if (typeof prices === "string") return
  assert.deepStrictEqual(
    [prices.get("semantic_search"), prices.get("graph"), prices.get("embeddings")],
    [250_000, 0, 50_000]
  )
  for (const wrong of ["x=1", "graph", "graph=-1", "graph=1e9", "graph=10001", "__proto__=1", "graph=0.0000001"])
    assert.include(String(parseAiPrices(wrong)), `\`${wrong}\` is not a price`)
})
