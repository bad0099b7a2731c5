/**
 * How much long requests of events may store: tokens of their key's minute and bytes of the plan's day, by a set clock.
 */
import { PgClient } from "@effect/sql-pg"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Context, Duration, Effect, Layer, Redacted, Result, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { Readable } from "node:stream"
import type { Caller } from "../../../src/identity/caller.ts"
import { Configuration } from "../../../src/configuration/configuration.ts"
import { acceptBatch } from "../../../src/events/intake/accept-batch.ts"
import { ingestLines } from "../../../src/events/intake/ingest-lines.ts"
import { METADATA_CHARACTERS_MAX } from "../../../src/events/intake/metadata.ts"
import { pauseOf, tokensOf } from "../../../src/events/intake/stream-rate.ts"
import { Entitlements } from "../../../src/metering/entitlements.ts"
import { FeatureNotInPlan } from "../../../src/metering/errors.ts"
import { type Spending, WindowedCaps } from "../../../src/metering/windowed-caps.ts"
import { layer as layerMigrations } from "../../../src/migrations/index.ts"
import { layerLeased } from "../../../src/ports/counter/leased-sql.ts"
import { Identifiers } from "../../../log/identifiers.ts"
import { layerSql } from "../../../src/runtime/embedded.ts"
import { Throttled, Unauthorized } from "../../../src/http/errors.ts"
import { RequestMemory } from "../../../src/http/request-memory.ts"
import { makeSetClock } from "../../support/clock.ts"
import { acquireTestPostgres } from "../../support/postgres.ts"

const START = Date.UTC(2031, 4, 15, 12)
const MINUTE_MS = 60_000
const noBound: Spending = { take: () => Effect.void, giveBack: () => {}, used: () => Effect.succeed(0) }

/**
 * A key with `limit` tokens a minute, a clock whose sleeps end at once and move it forward, and what was stored at
 * which time.
 */
const bench = (limit: number, startedAt = START) => {
  let at = startedAt,
    minute = -1,
    used = 0
  const slept: Array<number> = []
  const clock = Effect.map(Clock.Clock, (real) =>
    Object.assign(Object.create(real) as Clock.Clock, {
      currentTimeMillis: Effect.sync(() => at),
      currentTimeMillisUnsafe: () => at,
      sleep: (duration: Duration.Duration) =>
        Effect.sync(() => {
          slept.push(Duration.toMillis(duration))
          at += Duration.toMillis(duration)
        })
    })
  )
  const take = (): Effect.Effect<Caller, Throttled> =>
    Effect.suspend(() => {
      if (Math.floor(at / MINUTE_MS) !== minute) {
        minute = Math.floor(at / MINUTE_MS)
        used = 0
      }
      const resets_at = (minute + 1) * MINUTE_MS
      if (used === limit)
        return Effect.fail(
          new Throttled({
            message: "Rate limit exceeded.",
            kind: "rate",
            retry_after_s: Math.ceil((resets_at - at) / 1000),
            limit
          })
        )
      used++
      return Effect.succeed({ organizationId: "org_a", rate: { limit, remaining: limit - used, resets_at } } as Caller)
    })
  const stored: Array<{ readonly at: number; readonly events: number }> = []
  const events = {
    verdicts: Effect.die("not asked"),
    ingestEvents: (_: string, entries: ReadonlyArray<unknown>) =>
      Effect.sync(() => {
        stored.push({ at, events: entries.length })
        return { accepted: entries.length, deduplicated: 0, rejected: [] }
      })
  }
  const send = (
    lines: number,
    {
      again = take(),
      line = "{}",
      spending = noBound
    }: {
      readonly again?: Effect.Effect<Caller, Throttled | Unauthorized>
      readonly line?: string
      readonly spending?: Spending
    } = {}
  ) =>
    Effect.gen(function* () {
      const caller = yield* take()
      const memory = new RequestMemory()
      const stream = Effect.sync(() =>
        Readable.from(
          (function* () {
            const part = Buffer.from(`${line}\n`.repeat(500))
            for (let i = 0; i < lines; i += 500) yield part
          })()
        )
      )
      return yield* Effect.provideService(
        Effect.result(
          ingestLines(events, spending, { again, caller, held: () => memory.open("org_a"), stream }, undefined)
        ),
        Clock.Clock,
        yield* clock
      )
    })
  return { send, stored, slept, take, elapsed: () => at - startedAt }
}

describe("tokens of a stream", () => {
  it("are one for each part as large as a batch", () => {
    assert.deepStrictEqual(
      [
        tokensOf(1, 10),
        tokensOf(1_000, 1_000_000),
        tokensOf(1_001, 10),
        tokensOf(1, 1_000_001),
        tokensOf(10_000, 61_000_000)
      ],
      [1, 1, 2, 2, 61]
    )
  })
  it("are spread over the minute when they run low, never by more than ten seconds", () => {
    const rate = (remaining: number) => ({ limit: 600, remaining, resets_at: START + MINUTE_MS })
    assert.deepStrictEqual(
      [
        pauseOf(undefined, START),
        pauseOf(rate(300), START),
        pauseOf(rate(299), START),
        pauseOf(rate(0), START),
        pauseOf(rate(0), START + 2 * MINUTE_MS)
      ],
      [0, 0, 200, 10_000, 0]
    )
  })
  it.effect(
    "are taken by every thousand lines: an endless stream stores no more each minute than its key's batches would",
    () =>
      Effect.gen(function* () {
        const { elapsed, send, slept, stored } = bench(600)
        const answer = yield* send(2_000_000)
        assert.isTrue(Result.isSuccess(answer), JSON.stringify(answer))
        for (const [minute, parts] of Map.groupBy(stored, ({ at }) => Math.floor(at / MINUTE_MS)))
          assert.isAtMost(
            parts.reduce((sum, { events }) => sum + events, 0),
            600_000,
            String(minute)
          )
        assert.isAtLeast(elapsed(), 2 * MINUTE_MS)
        assert.isAtMost(Math.max(...slept), 10_000)
      })
  )
  it.effect("that others took end it, with the totals so far and the time to retry", () =>
    Effect.gen(function* () {
      const { send, take } = bench(3)
      yield* take()
      yield* take()
      const answer = yield* send(10_000)
      assert.isTrue(Result.isFailure(answer))
      const { message: _, ...facts } = { ...(answer as Result.Failure<never, any>).failure }
      assert.deepStrictEqual(facts, {
        _tag: "EventStreamEnded",
        status: 429,
        retry_after_s: 60,
        lines: 1_000,
        accepted: 1_000,
        deduplicated: 0,
        rejected: []
      })
    })
  )
  it.effect("that are available again within ten seconds are waited for", () =>
    Effect.gen(function* () {
      const { send, slept } = bench(2, START + 55_000)
      const answer = yield* send(3_000)
      assert.isTrue(Result.isSuccess(answer), JSON.stringify(answer))
      assert.isTrue(slept.includes(5_000) || slept.some((ms) => ms > 0 && ms <= 5_000))
    })
  )
  it.effect("require a valid key: revoking it meanwhile ends its stream", () =>
    Effect.gen(function* () {
      const { send, stored } = bench(600)
      const answer = yield* send(5_000, {
        again: Effect.fail(new Unauthorized({ message: "Forbidden.", reason: "rejected" }))
      })
      assert.deepInclude(
        { ...(answer as Result.Failure<never, any>).failure },
        { status: 401, lines: 1_000, accepted: 1_000 }
      )
      assert.strictEqual(stored.length, 1)
    })
  )
  it.effect("respect the plan's day: beyond it, the stream ends with the feature's name and the totals so far", () =>
    Effect.gen(function* () {
      let left = 2_500
      const spending: Spending = {
        ...noBound,
        take: (_, bytes) =>
          Effect.suspend(() =>
            (left -= bytes) < 0
              ? Effect.fail(
                  new FeatureNotInPlan({
                    message: "The plan free includes event_bytes_per_day up to 2500.",
                    feature: "event_bytes_per_day",
                    plan: "free",
                    limit: 2_500
                  })
                )
              : Effect.void
          )
      }
      const answer = yield* bench(600).send(5_000, { line: "1", spending })
      assert.deepInclude(
        { ...(answer as Result.Failure<never, any>).failure },
        {
          _tag: "EventStreamEnded",
          status: 403,
          feature: "event_bytes_per_day",
          plan: "free",
          limit: 2_500,
          lines: 2_000,
          accepted: 2_000
        }
      )
    })
  )
})

const eventually = <A, E>(read: Effect.Effect<A, E>, wanted: A) =>
  Effect.retry(
    Effect.flatMap(read, (is) => (is === wanted ? Effect.succeed(is) : Effect.fail(is))),
    { times: 1_200, schedule: Schedule.spaced(50) }
  )
const member = (address: {
  readonly host: string
  readonly port: number
  readonly username: string
  readonly password: string
  readonly database: string
}) => {
  const sql = PgClient.layer({
    host: address.host,
    port: address.port,
    username: address.username,
    password: Redacted.make(address.password),
    database: address.database,
    maxConnections: 4
  })
  const layer = WindowedCaps.layer.pipe(
    Layer.provideMerge(Entitlements.layer),
    Layer.provideMerge(Layer.mergeAll(Configuration.layerEmbedded, layerLeased({ isAlone: false }))),
    Layer.provideMerge(Layer.mergeAll(Identifiers.layer, sql))
  )
  return Effect.map(Layer.build(Layer.fresh(layer)), (context) => Context.get(context, WindowedCaps))
}
it.live(
  "a hundred storefront keys at full rate store no more in a day than the plan allows, over three processes",
  () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { clock, forward } = yield* makeSetClock(START)
        const server = yield* acquireTestPostgres
        const body = Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          for (const id of ["org_a", "org_b"])
            yield* sql`INSERT INTO organizations (id, name, status, plan, created_at, has_overage) VALUES (${id}, ${id}, 'active', 'free', 0, false)`
          const processes = yield* Effect.forEach([1, 2, 3], () => member(server))
          /** Batches of a megabyte, as many as a hundred keys may send in a minute; returns the bytes that passed. */
          const minute = (organizationId: string, batches: number) =>
            Effect.map(
              Effect.forEach(
                Array.from({ length: batches }),
                (_, i) => Effect.isSuccess(processes[i % 3]!.event_bytes_per_day.take(organizationId, 1_000_000)),
                { concurrency: 64 }
              ),
              (passed) => 1_000_000 * passed.filter((each) => each).length
            )
          assert.strictEqual(yield* minute("org_a", 900), 500_000_000)
          // The rest of the minute, and of the day, adds nothing.
          assert.strictEqual(yield* minute("org_a", 900), 0)
          forward(3 * MINUTE_MS)
          assert.strictEqual(yield* minute("org_a", 300), 0)
          assert.strictEqual(yield* minute("org_b", 10), 10_000_000)
          const refused = yield* Effect.flip(processes[0]!.event_bytes_per_day.take("org_a", 1_000_000))
          assert.deepInclude(refused, {
            _tag: "FeatureNotInPlan",
            feature: "event_bytes_per_day",
            plan: "free",
            limit: 500_000_000
          })
          // Bytes that are not stored after all are available to the next request.
          processes[1]!.event_bytes_per_day.giveBack("org_a", 1_000_000)
          assert.isTrue(yield* Effect.isSuccess(processes[1]!.event_bytes_per_day.take("org_a", 1_000_000)))
          assert.isFalse(yield* Effect.isSuccess(processes[1]!.event_bytes_per_day.take("org_a", 1)))
          forward(24 * 60 * MINUTE_MS)
          assert.strictEqual(yield* minute("org_a", 600), 500_000_000)
          // Many small requests are counted to the byte, not to the block.
          const small = yield* Effect.forEach(Array.from({ length: 1_000 }), () =>
            Effect.isSuccess(processes[0]!.event_bytes_per_day.take("org_b", 700))
          )
          assert.isTrue(small.every((each) => each))
          assert.strictEqual(yield* eventually(processes[0]!.event_bytes_per_day.used("org_b"), 700_000), 700_000)
        })
        yield* Effect.provideService(
          Effect.provide(body, Layer.provideMerge(layerMigrations, layerSql(server))),
          Clock.Clock,
          clock
        )
      })
    )
)

it.live("browser keys are as many each hour as the plan allows, over three processes", () =>
  Effect.scoped(
    Effect.gen(function* () {
      const { clock, forward } = yield* makeSetClock(START)
      const server = yield* acquireTestPostgres
      const body = Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        for (const id of ["org_a", "org_b"])
          yield* sql`INSERT INTO organizations (id, name, status, plan, created_at, has_overage) VALUES (${id}, ${id}, 'active', 'free', 0, false)`
        const processes = yield* Effect.forEach([1, 2, 3], () => member(server))
        const minted = (organizationId: string, keys: number) =>
          Effect.map(
            Effect.forEach(
              Array.from({ length: keys }),
              (_, i) => Effect.isSuccess(processes[i % 3]!.browser_keys_per_hour.take(organizationId, 1)),
              { concurrency: 64 }
            ),
            (passed) => passed.filter((each) => each).length
          )
        assert.strictEqual(yield* minted("org_a", 12_000), 10_000)
        const refused = yield* Effect.flip(processes[2]!.browser_keys_per_hour.take("org_a", 1))
        assert.deepInclude(refused, {
          _tag: "FeatureNotInPlan",
          feature: "browser_keys_per_hour",
          plan: "free",
          limit: 10_000
        })
        assert.strictEqual(yield* minted("org_b", 30), 30)
        forward(60 * MINUTE_MS)
        assert.strictEqual(yield* minted("org_a", 30), 30)
      })
      yield* Effect.provideService(
        Effect.provide(body, Layer.provideMerge(layerMigrations, layerSql(server))),
        Clock.Clock,
        clock
      )
    })
  )
)

describe("the size of one event", () => {
  const view = (more: object) => ({ type: "view", collection: "c", document_id: "d", timestamp: START, ...more })
  it("bounds metadata, also in its depth", () => {
    const at = (metadata: object) => acceptBatch([view({ metadata })], START)
    const text = (characters: number) => ({ a: "x".repeat(characters) })
    assert.strictEqual(at(text(METADATA_CHARACTERS_MAX - 20)).accepted.length, 1)
    for (const metadata of [
      text(METADATA_CHARACTERS_MAX),
      { a: { b: [text(METADATA_CHARACTERS_MAX)] } },
      { a: Array.from({ length: 20_000 }, () => 1) },
      Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`k${i}`, null]))
    ]) {
      assert.deepStrictEqual(at(metadata).rejected, [
        { index: 0, reason: "metadata must be at most 16384 characters of JSON" }
      ])
    }
  })
  it("drops stray keys beyond the bound, without refusing the event", () => {
    const { accepted, rejected, unknownKeys } = acceptBatch(
      [view({ stray: "x".repeat(20_000), metadata: { own: 1 } }), view({ stray: "y" })],
      START
    )
    assert.deepStrictEqual(
      [rejected, unknownKeys, accepted.map(({ metadata }) => metadata)],
      [[], 2, [{ own: 1 }, { stray: "y" }]]
    )
  })
})
