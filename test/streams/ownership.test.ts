/**
 * Several owners over one Postgres: shares, a slow flush that keeps its lease, and a stale owner whose flush must fail.
 */
import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Layer, Ref, type Scope } from "effect"
import { SqlClient } from "effect/sql"
import { EventLog } from "../../log/event-log/event-log.ts"
import type { LeaseStore } from "../../streams/ownership/lease-store.ts"
import { claimLease, readLeases, releaseLease } from "../../streams/ownership/leases.ts"
import type { OffsetStore } from "../../streams/offsets/offset-store.ts"
import { commitWith, readOffsets } from "../../streams/offsets/offsets.ts"
import { OK } from "../../streams/processor/outcome.ts"
import { type OwnershipOptions, runOwned } from "../../streams/ownership/ownership.ts"
import { listed, type Processor } from "../../streams/processor/processor.ts"
import { encodeRecord } from "../../log/record.ts"
import { type Runnable, runnable } from "../../streams/processors/runnable.ts"
import { memoryStore } from "../../streams/state/state.ts"
import type { Topic } from "../../log/topics.ts"
import { layerTestSql } from "../support/postgres.ts"

const topic: Topic = {
  name: "counted.v1",
  partitioning: "visitor",
  retentionHours: 1,
  compaction: false,
  waitsForConsumers: true,
  writtenBy: "this test"
}
const PARTITIONS = 4

/** Counts entries by partition, as rows in Postgres; `slow` runs inside the flush's transaction. */
const counter = (name: string, slow: Effect.Effect<void> = Effect.void): Runnable =>
  runnable({
    name,
    inputs: [topic],
    entriesOf: (_, { payload }) => listed([{ key: "k", body: payload as number }]),
    open: () => ({}),
    step: (_, body, __, emitted) => {
      emitted.push(body)
      return OK
    },
    newEmitted: () => [],
    sizeOf: ({ length }) => length,
    write: (emitted) =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* slow
        yield* sql`INSERT INTO counted SELECT ${name}, id FROM unnest(${emitted.map(String)}::text[]::int4[]) AS t (id)`
      }),
    snapshot: () => ({ writes: [], stored: () => {} })
  } satisfies Processor<number, object, Array<number>>)

const append = (from: number, count: number) =>
  Effect.flatMap(EventLog, (log) =>
    log.append(
      Array.from({ length: count }, (_, i) => ({
        topic: topic.name,
        partition: (from + i) % PARTITIONS,
        value: encodeRecord({ schema_version: 1, organization_id: "o", occurred_at: 0, payload: from + i })
      }))
    )
  )
/** The number of counted ids and of rows, as `[ids, rows]`. */
const counted = Effect.fnUntraced(function* (name: string) {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{
    ids: number
    all: number
  }>`SELECT count(DISTINCT id)::float8 AS ids, count(*)::float8 AS all FROM counted WHERE name = ${name}`
  return [row!.ids, row!.all]
})
const until = <E, R>(what: string, holds: Effect.Effect<boolean, E, R>) =>
  Effect.gen(function* () {
    for (let waited = 0; waited < 60_000; waited += 20) {
      if (yield* holds) return
      yield* Effect.sleep(20)
    }
    return assert.fail(`not within 15 s: ${what}`)
  })
const ownersOf = (group: string) =>
  Effect.map(readLeases, (leases) =>
    leases
      .filter((lease) => lease.group === group)
      .map(({ owner }) => owner ?? "nobody")
      .sort()
      .join()
  )

layer(layerTestSql, { timeout: 60_000, excludeTestServices: true })("ownership of partitions", (it) => {
  const scenario = (
    title: string,
    body: Effect.Effect<void, unknown, EventLog | LeaseStore | OffsetStore | SqlClient.SqlClient | Scope.Scope>
  ) =>
    it.effect(title, () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* sql`CREATE TABLE IF NOT EXISTS counted (name text, id int4)`
        yield* Effect.provide(Effect.scoped(body), Layer.fresh(EventLog.layerMemory))
      })
    )
  const owner = (member: string, processor: Runnable, over: Partial<OwnershipOptions> = {}) =>
    Effect.forkChild(
      Effect.scoped(
        runOwned({
          member,
          processors: [processor],
          visitorPartitions: PARTITIONS,
          openStore: () => memoryStore(),
          lease_ms: 1_000,
          ...over
        })
      )
    )

  scenario(
    "is shared evenly, moves when members come and go, and everything is counted once",
    Effect.gen(function* () {
      const processor = counter("shared")
      const a = yield* owner("a", processor)
      yield* append(0, 100)
      yield* until(
        "a owns all",
        Effect.map(ownersOf("shared"), (owners) => owners === "a,a,a,a")
      )
      const b = yield* owner("b", processor)
      yield* append(100, 100)
      yield* until(
        "both own two",
        Effect.map(ownersOf("shared"), (owners) => owners === "a,a,b,b")
      )
      yield* append(200, 100)
      yield* Fiber.interrupt(a)
      yield* append(300, 100)
      yield* until(
        "b owns all",
        Effect.map(ownersOf("shared"), (owners) => owners === "b,b,b,b")
      )
      yield* until(
        "all is counted",
        Effect.map(counted("shared"), ([ids]) => ids === 400)
      )
      assert.deepStrictEqual(yield* counted("shared"), [400, 400])
      yield* Fiber.interrupt(b)
      assert.strictEqual(yield* ownersOf("shared"), "nobody,nobody,nobody,nobody")
    })
  )

  scenario(
    "is kept through a flush that takes three leases",
    Effect.gen(function* () {
      const processor = counter("slow", Effect.sleep(3_000))
      yield* owner("a", processor)
      yield* until(
        "a owns all",
        Effect.map(ownersOf("slow"), (owners) => owners === "a,a,a,a")
      )
      // A new member is entitled to half: it must get the released partitions, and never one that is being flushed by
      // the other.
      yield* append(0, 40)
      yield* Effect.sleep(500)
      const seen = yield* Ref.make(new Set<string>())
      const watching = yield* Effect.forkChild(
        Effect.forever(
          Effect.andThen(
            Effect.flatMap(ownersOf("slow"), (owners) => Ref.update(seen, (all) => all.add(owners))),
            Effect.sleep(100)
          )
        )
      )
      yield* until(
        "all is counted",
        Effect.map(counted("slow"), ([ids]) => ids === 40)
      )
      yield* Fiber.interrupt(watching)
      assert.deepStrictEqual([...(yield* Ref.get(seen))], ["a,a,a,a"])
      assert.deepStrictEqual(yield* counted("slow"), [40, 40])
    })
  )

  scenario(
    "a flush by a replaced owner writes nothing, neither before nor after the successor's first flush",
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const unit = { group: "fenced", partition: 0 }
      const write = sql`INSERT INTO counted VALUES ('fenced', 1)`
      const commit = (to: number, fence: number) =>
        Effect.result(commitWith("fenced", 0, {}, { [topic.name]: to }, Effect.asVoid(write), fence))
      const old = (yield* claimLease("old", unit, 50))!
      assert.isUndefined(yield* claimLease("new", unit, 1_000))
      yield* Effect.sleep(80)
      const fresh = (yield* claimLease("new", unit, 1_000))!
      assert.strictEqual(fresh, old + 1)
      const early = yield* commit(5, old)
      assert.strictEqual(early._tag === "Failure" ? early.failure._tag : "stored", "LeaseLost")
      assert.deepStrictEqual(yield* readOffsets("fenced", 0), {})
      assert.strictEqual((yield* commit(7, fresh))._tag, "Success")
      assert.strictEqual((yield* commit(9, old))._tag, "Failure")
      assert.deepStrictEqual(yield* readOffsets("fenced", 0), { [topic.name]: 7 })
      assert.deepStrictEqual(yield* counted("fenced"), [1, 1])
      yield* releaseLease("old", { ...unit, fence: old })
      assert.strictEqual(
        yield* Effect.map(readLeases, (leases) => leases.find(({ group }) => group === "fenced")?.owner),
        "new"
      )
    })
  )

  scenario(
    "an owner that was silent for too long counts nothing twice and returns to its share",
    Effect.gen(function* () {
      // The first owner's flush hangs until another one has the partition, as in a frozen process.
      const sql = yield* SqlClient.SqlClient
      let isFrozen = true
      const freeze = Effect.suspend(() =>
        isFrozen
          ? Effect.andThen(
              sql`UPDATE stream_leases SET expires_at = now() - interval '1 second' WHERE consumer_group = 'stale'`,
              Effect.sleep(2_500)
            ).pipe(Effect.orDie, Effect.asVoid)
          : Effect.void
      )
      const a = yield* owner("a", counter("stale"), {
        runner: { probe: (point) => (point === "flushed" ? freeze : Effect.void) },
        lease_ms: 30_000
      })
      yield* until(
        "a owns all",
        Effect.map(ownersOf("stale"), (owners) => owners === "a,a,a,a")
      )
      yield* append(0, 100)
      yield* Effect.sleep(300)
      yield* owner("b", counter("stale"))
      yield* until(
        "all is counted",
        Effect.map(counted("stale"), ([ids]) => ids === 100)
      )
      isFrozen = false
      yield* Effect.sleep(3_000)
      yield* append(100, 100)
      yield* until(
        "the rest is counted",
        Effect.map(counted("stale"), ([ids]) => ids === 200)
      )
      assert.deepStrictEqual(yield* counted("stale"), [200, 200])
      yield* Fiber.interrupt(a)
    })
  )

  scenario(
    "a partition that is stuck while records wait is restarted",
    Effect.gen(function* () {
      let hangs = 0
      const hang = Effect.suspend(() => (hangs++ === 0 ? Effect.never : Effect.void))
      yield* owner("a", counter("hanging"), {
        stalledAfter_ms: 1_000,
        runner: { probe: (point) => (point === "flushed" ? hang : Effect.void) }
      })
      yield* append(0, 8)
      yield* until(
        "all is counted",
        Effect.map(counted("hanging"), ([ids]) => ids === 8)
      )
      assert.deepStrictEqual(yield* counted("hanging"), [8, 8])
    })
  )
})
