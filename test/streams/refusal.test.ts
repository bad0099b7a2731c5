/**
 * Entries that Postgres refuses for good: found by halving, stored with the reason, skipped by every later replay;
 * everything else is counted.
 */
import { assert, describe, it as plain, layer } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { SqlClient, SqlError } from "effect/sql"
import { type BehaviouralEvent, EVENTS_SCHEMA_VERSION } from "../../log/event-schema.ts"
import { EventLog } from "../../log/event-log/event-log.ts"
import { Rollups } from "../../src/analytics/rollups-repository.ts"
import { foldSome } from "../../streams/processors/rollups/fold.ts"
import { makeCounting } from "../../streams/processors/counting.ts"
import type { OffsetStore } from "../../streams/offsets/offset-store.ts"
import { decodeRecord, encodeRecord } from "../../log/record.ts"
import { afterRefusal, afterSuccess, NORMAL, isRefused } from "../../streams/reading/refusal.ts"
import { type Progress, runPartition, type RunnerOptions } from "../../streams/runner/runner.ts"
import { memoryStore, type StateStore } from "../../streams/state/state.ts"
import { BEHAVIOUR_EVENTS, deadLettersOf } from "../../log/topics.ts"
import { folded } from "../support/folded.ts"
import { layerTestSql } from "../support/postgres.ts"

const AT = Date.UTC(2026, 4, 4, 12)

describe("the mode of flushes after a refusal", () => {
  plain("halves down to one record, searches that one, and grows again while flushes succeed", () => {
    const sizes: Array<number> = []
    for (let mode = afterRefusal(1_000, "t/9"); ; mode = afterRefusal(mode.recordsMax, "t/9")) {
      sizes.push(mode.recordsMax)
      if (mode.bisecting === "t/9") break
    }
    assert.deepStrictEqual(sizes, [500, 250, 125, 62, 31, 15, 7, 3, 1, 1])
    let mode = afterRefusal(1, "t/9")
    for (let flushes = 0; flushes < 9; flushes++) mode = afterSuccess(mode)
    assert.deepStrictEqual([mode.recordsMax, mode.bisecting], [512, undefined])
    assert.strictEqual(afterSuccess(mode), NORMAL)
  })
})

const keptStore = () => {
  const store = memoryStore()
  return (): StateStore => ({ ...store, close: async () => {} })
}
/** Text that no compression shortens. */
const incompressible = (length: number): string => {
  let seed = 7
  return Array.from({ length }, () =>
    String.fromCharCode(33 + (((seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0) >>> 16) % 90))
  ).join("")
}

layer(layerTestSql, { timeout: 60_000, excludeTestServices: true })("a batch that Postgres refuses", (it) => {
  let groups = 0
  const append = (organizationId: string, batches: ReadonlyArray<ReadonlyArray<Partial<BehaviouralEvent>>>) =>
    Effect.gen(function* () {
      const log = yield* EventLog
      yield* log.append(
        batches.map((events) => ({
          topic: BEHAVIOUR_EVENTS.name,
          partition: 0,
          value: encodeRecord({
            schema_version: EVENTS_SCHEMA_VERSION,
            organization_id: organizationId,
            occurred_at: AT,
            payload: {
              events: events.map((event) => ({
                type: "view",
                collection: "c",
                document_id: "d",
                timestamp: AT,
                ...event
              }))
            }
          })
        }))
      )
    })
  const runUntilCaughtUp = Effect.fnUntraced(function* (name: string, options: Partial<RunnerOptions>) {
    const seen: { progress: Progress | undefined } = { progress: undefined }
    const fiber = yield* Effect.forkChild(
      runPartition(
        { ...makeCounting({ fingerprintKey: [1, 2, 3, 4] }), name },
        {
          partition: 0,
          openStore: keptStore(),
          restartAfter_ms: 1,
          ...options,
          report: (progress) => {
            seen.progress = progress
          }
        }
      )
    )
    for (
      let waited = 0;
      waited < 30_000 && (seen.progress === undefined || seen.progress.isReplaying || seen.progress.lag > 0);
      waited += 10
    )
      yield* Effect.sleep(10)
    yield* Fiber.interrupt(fiber)
    return seen.progress!
  })
  const letters = Effect.gen(function* () {
    const log = yield* EventLog
    const { records } = yield* log.read({
      topic: deadLettersOf(BEHAVIOUR_EVENTS).name,
      partition: 0,
      from: 0,
      recordsMax: 1_000,
      bytesMax: 1e9
    })
    return records.map(({ key, value }) => ({
      key,
      ...(decodeRecord(value).payload as {
        readonly reason: string
        readonly body: { readonly event?: BehaviouralEvent } | Uint8Array
      })
    }))
  })
  const counted = Effect.fnUntraced(function* (organizationId: string) {
    const sql = yield* SqlClient.SqlClient
    yield* folded
    const [events] = yield* sql<{
      n: number
    }>`SELECT coalesce(sum(events), 0)::int4 AS n FROM analytics_event_rollup WHERE organization_id = ${organizationId} AND grain = 3`
    const queries = yield* sql<{ q: string; searches: number; clicks: number }>`
      SELECT q, sum(searches)::int4 AS searches, sum(clicks)::int4 AS clicks FROM analytics_query_rollup WHERE organization_id = ${organizationId} AND grain = 3
      GROUP BY q HAVING sum(searches) <> 0 OR sum(clicks) <> 0 ORDER BY q`
    return { events: events!.n, queries: queries.map(({ clicks, q, searches }) => [q, searches, clicks]) }
  })
  const withLog = <A, E>(body: Effect.Effect<A, E, EventLog | OffsetStore | SqlClient.SqlClient>) =>
    Effect.provide(body, Layer.fresh(EventLog.layerMemory))

  it.effect("is distinguished from a failure that may pass", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const failure = (statement: Effect.Effect<unknown, SqlError.SqlError>) =>
        Effect.map(Effect.flip(statement), isRefused)
      assert.isTrue(yield* failure(sql`SELECT 1 / 0`))
      assert.isTrue(yield* failure(sql`SELECT 'x'::text::int4`))
      assert.isTrue(yield* failure(sql`INSERT INTO stream_settings (name, value) VALUES ('fingerprint_key', '')`))
      assert.isTrue(
        yield* failure(sql`INSERT INTO stream_settings (name, value) VALUES (${incompressible(9_000)}, '')`)
      )
      // Missing tables and rights can be repaired; a cancelled statement, a lock or a broken connection passes.
      assert.isFalse(yield* failure(sql`SELECT * FROM nowhere`))
      assert.isFalse(
        yield* failure(
          sql.withTransaction(Effect.andThen(sql`SET LOCAL statement_timeout = 1`, sql`SELECT pg_sleep(1)`))
        )
      )
      assert.isFalse(yield* failure(sql`SELECT pg_terminate_backend(pg_backend_pid())`))
    })
  )

  it.effect(
    "is narrowed down to the faulty entries, which become dead letters with reason and body; the rest counts",
    () =>
      withLog(
        Effect.gen(function* () {
          const [name, organizationId] = [`refused-${++groups}`, `org_refused_${groups}`]
          const sql = yield* SqlClient.SqlClient
          yield* sql`ALTER TABLE query_popularity ADD CONSTRAINT no_poison CHECK (q <> 'poison') NOT VALID`
          const batches = Array.from({ length: 90 }, (_, record) =>
            Array.from({ length: 5 }, (_, i): Partial<BehaviouralEvent> => ({
              event_id: `${record}-${i}`,
              ...((record === 11 && i === 2) || (record === 60 && (i === 0 || i === 4))
                ? { type: "search", q: "poison" }
                : {})
            }))
          )
          yield* append(organizationId, batches)
          const progress = yield* runUntilCaughtUp(name, {})
          yield* sql`ALTER TABLE query_popularity DROP CONSTRAINT no_poison`
          assert.strictEqual((yield* counted(organizationId)).events, 90 * 5 - 3)
          const found = yield* letters
          assert.deepStrictEqual(
            found.map(({ key }) => key),
            ["behaviour.events.v1/11/2", "behaviour.events.v1/60/0", "behaviour.events.v1/60/4"]
          )
          for (const { body, reason } of found) {
            assert.match(reason, /Postgres refuses what this counts: 23514 .*no_poison/)
            assert.strictEqual((body as { readonly event: BehaviouralEvent }).event.q, "poison")
          }
          assert.deepStrictEqual([progress.deadLetters, progress.restarts], [3, 0])
        })
      )
  )

  it.effect("never comes from a key too long for an index: the step refuses it before it counts", () =>
    withLog(
      Effect.gen(function* () {
        const [name, organizationId] = [`refused-${++groups}`, `org_refused_${groups}`]
        const item = (document_id: string) => ({ document_id, quantity: 1, price: 1 })
        yield* append(organizationId, [
          [
            { event_id: "a" },
            { event_id: "b", document_id: incompressible(9_000) },
            { event_id: "c", document_id: "nul\u0000" },
            { event_id: "d", type: "purchase", items: [item("d"), item("é".repeat(513))] },
            { event_id: "e", document_id: "é".repeat(512) }
          ]
        ])
        const progress = yield* runUntilCaughtUp(name, {})
        assert.strictEqual((yield* counted(organizationId)).events, 2)
        assert.deepStrictEqual(
          (yield* letters).map(({ key, reason }) => [key, reason]),
          [1, 2, 3].map((i) => [`behaviour.events.v1/0/${i}`, "an id or collection has NUL or more than 1024 bytes"])
        )
        assert.deepStrictEqual([progress.deadLetters, progress.restarts], [3, 0])
      })
    )
  )

  it.effect("leaves rows that only the fold would create to readers, which continue to sum them up", () =>
    withLog(
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const [name, organizationId] = [`refused-${++groups}`, `org_refused_${groups}`]
        yield* sql`ALTER TABLE analytics_product_rollup ADD CONSTRAINT no_poison CHECK (document_id <> 'poison')`
        for (const document_id of ["fine", "poison", "also fine"]) {
          yield* append(organizationId, [
            [{ event_id: document_id, document_id, timestamp: AT + 60_000 * document_id.length }]
          ])
          yield* runUntilCaughtUp(name, {})
        }
        while (yield* foldSome) continue
        yield* sql`ALTER TABLE analytics_product_rollup DROP CONSTRAINT no_poison`
        assert.strictEqual((yield* counted(organizationId)).events, 2)
        assert.deepStrictEqual(
          (yield* sql`SELECT is_refused FROM analytics_unfolded WHERE organization_id = ${organizationId}`).map(
            ({ is_refused }) => is_refused
          ),
          [true]
        )
        const rollups = yield* Effect.provide(Rollups, Layer.fresh(Rollups.layerSql))
        const range = { organizationId, range: { from: AT, before: AT + 86_400_000 }, collection: undefined }
        const [events, products] = yield* rollups.atOneMoment(
          Effect.all([
            rollups.events(range),
            rollups.productPage({ ...range, segment: undefined }, { limit: 10, offset: 0 })
          ])
        )
        assert.deepStrictEqual(
          [events, products.rows.map(({ document_id }) => document_id).sort()],
          [3, ["also fine", "fine", "poison"]]
        )
      })
    ).pipe(Effect.scoped)
  )

  it.effect("is also skipped by a replay of a lost state, so that later entries find what was counted", () =>
    withLog(
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const [name, organizationId] = [`refused-${++groups}`, `org_refused_${groups}`]
        const search = (id: string, q: string, at: number): Partial<BehaviouralEvent> => ({
          type: "search",
          q,
          event_id: id,
          query_id: id,
          session_id: "s",
          timestamp: AT + at
        })
        const click = (id: string, at: number): Partial<BehaviouralEvent> => ({
          type: "click",
          event_id: id,
          session_id: "s",
          timestamp: AT + at
        })
        yield* sql`ALTER TABLE query_popularity ADD CONSTRAINT no_poison CHECK (q <> 'poison') NOT VALID`
        // The second keystroke would take the first one's count back and count for both.
        yield* append(organizationId, [
          [search("a", "poi", 0)],
          [search("b", "poison", 1_000), search("c", "hat", 60_000)],
          [click("d", 1_500)]
        ])
        yield* runUntilCaughtUp(name, {})
        yield* sql`ALTER TABLE query_popularity DROP CONSTRAINT no_poison`
        assert.deepStrictEqual((yield* counted(organizationId)).queries, [
          ["hat", 1, 0],
          ["poi", 1, 1]
        ])
        assert.deepStrictEqual(
          (yield* letters).map(({ key, reason }) => [key, reason.includes("23514") && reason.includes("no_poison")]),
          [["behaviour.events.v1/1/0", true]]
        )

        // A new state folder, and Postgres no longer refuses it: the entry is still not counted.
        const restarted = yield* runUntilCaughtUp(name, {})
        yield* append(organizationId, [[click("e", 1_600)], [search("f", "poison", 1_000)]])
        yield* runUntilCaughtUp(name, {})
        assert.deepStrictEqual((yield* counted(organizationId)).queries, [
          ["hat", 1, 0],
          ["poison", 1, 2]
        ])
        assert.strictEqual(restarted.deadLetters, 0)
        assert.strictEqual((yield* letters).length, 1)
      })
    )
  )

  it.effect(
    "drops a record as a whole when too many of its entries are refused, and forgets places that the log has dropped",
    () =>
      withLog(
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const log = yield* EventLog
          const [name, organizationId] = [`refused-${++groups}`, `org_refused_${groups}`]
          yield* sql`ALTER TABLE query_popularity ADD CONSTRAINT no_poison CHECK (q <> 'poison') NOT VALID`
          yield* append(organizationId, [
            [{ event_id: "a" }],
            Array.from({ length: 40 }, (_, i) => ({ type: "search" as const, q: "poison", event_id: `p${i}` })),
            [{ event_id: "b" }]
          ])
          const { deadLetters } = yield* runUntilCaughtUp(name, {})
          yield* sql`ALTER TABLE query_popularity DROP CONSTRAINT no_poison`
          assert.strictEqual((yield* counted(organizationId)).events, 2)
          assert.strictEqual(deadLetters, 1)
          const [letter] = yield* letters
          assert.strictEqual(letter!.key, "behaviour.events.v1/1/-1")
          const { records } = yield* log.read({
            topic: BEHAVIOUR_EVENTS.name,
            partition: 0,
            from: 1,
            recordsMax: 1,
            bytesMax: 1e9
          })
          assert.deepStrictEqual(Buffer.from(letter!.body as Uint8Array), Buffer.from(records[0]!.value))
          const kept = sql<{
            entry_index: number
          }>`SELECT entry_index FROM stream_skipped WHERE consumer_group = ${name}`
          assert.deepStrictEqual(
            (yield* kept).map(({ entry_index }) => entry_index),
            [-1]
          )
          yield* log.trim(BEHAVIOUR_EVENTS.name, 0, 2)
          yield* runUntilCaughtUp(name, {})
          assert.deepStrictEqual(yield* kept, [])
        })
      )
  )
})
