/** Attempts to sign in as several processes over one Postgres count them. */
import { PgClient } from "@effect/sql-pg"
import { assert, it } from "@effect/vitest"
import { Clock, Effect, Layer, Redacted } from "effect"
import { makeSignInAttempts } from "../../src/console/attempts.ts"
import { layer as layerMigrations } from "../../src/migrations/index.ts"
import { layerLeased } from "../../src/ports/counter-leased-sql.ts"
import { Identifiers } from "../../src/ports/identifiers.ts"
import { layerSql } from "../../src/runtime/embedded.ts"
import { makeSetClock } from "../support/clock.ts"
import { acquireTestPostgres } from "../support/postgres.ts"

const QUARTER_MS = 15 * 60_000

it.live("ten of an account and fifty from an address pass, whichever process is asked; right ones are given back", () => Effect.scoped(Effect.gen(function*() {
  const { clock, forward } = yield* makeSetClock(10 * QUARTER_MS + 1_000)
  const server = yield* acquireTestPostgres
  const { database, host, password, port, username } = server
  const processAttempts = Effect.flatMap(Layer.build(Layer.fresh(Layer.provideMerge(layerLeased({ isAlone: false }), Layer.mergeAll(
    Identifiers.layer, PgClient.layer({ host, port, username, password: Redacted.make(password), database, maxConnections: 4 })
  )))), (context) => Effect.provide(makeSignInAttempts, context))
  const body = Effect.gen(function*() {
    const processes = yield* Effect.forEach([1, 2, 3], () => processAttempts)
    const passed = (kind: "account" | "address", name: string, times: number) =>
      Effect.map(Effect.forEach(Array.from({ length: times }, (_, i) => processes[i % 3]!), (attempts) => attempts.take(kind, name), { concurrency: 20 }), (waits) => waits.filter((wait_ms) => wait_ms === 0).length)
    assert.strictEqual(yield* passed("account", "a@x", 60), 10)
    assert.strictEqual(yield* passed("account", "b@x", 9), 9)
    assert.strictEqual(yield* passed("address", "10.0.0.1", 150), 50)
    assert.strictEqual(yield* processes[0]!.take("account", "a@x"), QUARTER_MS - 1_000)
    // One of b's was right: two more may try, by whichever process.
    yield* processes[1]!.giveBack("account", "b@x")
    assert.strictEqual(yield* passed("account", "b@x", 30), 2)
    forward(QUARTER_MS)
    assert.strictEqual(yield* passed("account", "a@x", 30), 10)
  })
  yield* Effect.provideService(Effect.provide(body, Layer.provideMerge(layerMigrations, layerSql(server))), Clock.Clock, clock)
})), 60_000)
