/** Attempts to sign in, counted by several processes over one Postgres. */
import { PgClient } from "@effect/sql-pg"
import { assert, it } from "@effect/vitest"
import { Clock, Effect, Layer, Redacted } from "effect"
import { makeSignInAttempts } from "../../../src/console/attempts.ts"
import { layer as layerMigrations } from "../../../src/migrations/index.ts"
import { layerLeased } from "../../../src/ports/counter/leased-sql.ts"
import { Identifiers } from "../../../log/identifiers.ts"
import { layerSql } from "../../../src/runtime/embedded.ts"
import { makeSetClock } from "../../support/clock.ts"
import { acquireTestPostgres } from "../../support/postgres.ts"

const QUARTER_MS = 15 * 60_000

it.live(
  "ten attempts of an account and fifty of a network pass, over all processes; right ones are returned, others get slow",
  () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { clock, forward } = yield* makeSetClock(10 * QUARTER_MS + 1_000)
        const server = yield* acquireTestPostgres
        const { database, host, password, port, username } = server
        const processAttempts = Effect.flatMap(
          Layer.build(
            Layer.fresh(
              Layer.provideMerge(
                layerLeased({ isAlone: false }),
                Layer.mergeAll(
                  Identifiers.layer,
                  PgClient.layer({
                    host,
                    port,
                    username,
                    password: Redacted.make(password),
                    database,
                    maxConnections: 4
                  })
                )
              )
            )
          ),
          (context) => Effect.provide(makeSignInAttempts, context)
        )
        const body = Effect.gen(function* () {
          const processes = yield* Effect.forEach([1, 2, 3], () => processAttempts)
          /** How many of a number of attempts pass, if they are sent to all processes at once. */
          const passed = (account: (i: number) => string, address: (i: number) => string, times: number) =>
            Effect.map(
              Effect.forEach(
                Array.from({ length: times }, (_, i) => i),
                (i) => processes[i % 3]!.take(account(i), address(i)),
                { concurrency: 20 }
              ),
              (all) => all.filter(({ wait_ms }) => wait_ms === 0).length
            )
          const of = (text: string) => () => text
          assert.strictEqual(yield* passed(of("a@x"), of("10.0.0.1"), 40), 10)
          // The owner elsewhere is not locked out; the addresses of one /64 belong to one network.
          assert.deepStrictEqual(yield* processes[0]!.take("a@x", "10.0.0.2"), { wait_ms: 0, delay_ms: 0 })
          assert.deepStrictEqual(yield* processes[0]!.take("a@x", "10.0.0.1"), {
            wait_ms: QUARTER_MS - 1_000,
            delay_ms: 0
          })
          assert.strictEqual(yield* passed(of("v6@x"), (i) => `2001:db8:0:1::${(i + 1).toString(16)}`, 40), 10)
          assert.strictEqual(yield* passed((i) => `many-${i}@x`, of("10.0.0.3"), 150), 50)
          assert.strictEqual(yield* passed(of("b@x"), of("10.0.0.4"), 9), 9)
          // One attempt for b succeeded, so two more are allowed, at any process.
          yield* processes[1]!.succeed("b@x", "10.0.0.4")
          assert.strictEqual(yield* passed(of("b@x"), of("10.0.0.4"), 30), 2)
          forward(QUARTER_MS)
          assert.strictEqual(yield* passed(of("a@x"), of("10.0.0.1"), 40), 10)
          // After a hundred attempts from everywhere, further ones are slow but pass; from a network where the owner
          // has signed in, they are not even slow.
          assert.deepStrictEqual(yield* processes[0]!.take("far@x", "192.0.2.1"), { wait_ms: 0, delay_ms: 0 })
          yield* processes[0]!.succeed("far@x", "192.0.2.1")
          forward(QUARTER_MS)
          const slow: Array<number> = []
          for (let i = 0; i < 120; i++) slow.push((yield* processes[0]!.take("far@x", `10.1.${i}.1`)).delay_ms)
          assert.deepStrictEqual(
            slow,
            Array.from({ length: 120 }, (_, i) => (i < 100 ? 0 : 3_000))
          )
          assert.deepStrictEqual(
            [yield* processes[0]!.take("far@x", "192.0.2.1"), yield* processes[0]!.take("far@x", "192.0.2.2")],
            [
              { wait_ms: 0, delay_ms: 0 },
              { wait_ms: 0, delay_ms: 3_000 }
            ]
          )
        })
        yield* Effect.provideService(
          Effect.provide(body, Layer.provideMerge(layerMigrations, layerSql(server))),
          Clock.Clock,
          clock
        )
      })
    )
)
