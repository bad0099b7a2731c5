/**
 * The stream worker in its thread over a real log and Postgres: several partitions, reports of searches, and runs that
 * end badly.
 */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Layer } from "effect"
import { join } from "node:path"
import { Analytics } from "../../src/analytics/service.ts"
import { QUERY_ID_PARTITIONS_MAX } from "../../log/query-id.ts"
import { SearchServed } from "../../src/search/serve-log.ts"
import { Events } from "../../src/events/intake/service.ts"
import { layer as layerMigrations } from "../../src/migrations/index.ts"
import { DedupeWindow } from "../../src/ports/dedupe/dedupe-window.ts"
import { EventLog, EventLogUnavailable } from "../../log/event-log/event-log.ts"
import { layerEmbedded as layerLog } from "../../log/event-log/lmdb.ts"
import { Identifiers } from "../../log/identifiers.ts"
import { layerSql } from "../../src/runtime/embedded.ts"
import { StreamWorker } from "../../streams/host/host.ts"
import { decodeRecord } from "../../log/record.ts"
import { BEHAVIOUR_EVENTS, EVENT_FINGERPRINTS, SEARCH_SERVED } from "../../log/topics.ts"
import { makeShiftedClock } from "../support/clock.ts"
import { acquireTestPostgres, temporaryFolder } from "../support/postgres.ts"

const minute = 60_000
const stack = (
  visitorPartitions: number,
  entry?: URL,
  more: { readonly retentionEvery_ms?: number; readonly ahead_ms?: number } = {}
) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const server = yield* acquireTestPostgres
      const folder = yield* temporaryFolder("host")
      const { database, host, password, port, username } = server
      const logPath = join(folder, "log")
      const parts = { visitorPartitions }
      const { ahead_ms = 0, ...options } = more
      const { clock, forward } = yield* makeShiftedClock
      forward(ahead_ms)
      return Layer.mergeAll(
        Events.layer(parts).pipe(
          Layer.provide(
            DedupeWindow.layerSealed({
              key: [1, 2, 3, 4],
              topic: EVENT_FINGERPRINTS.name,
              folder: join(folder, "dedupe")
            })
          )
        ),
        SearchServed.layer(parts),
        Analytics.layer,
        StreamWorker.layer({
          logPath,
          statePath: join(folder, "streams"),
          sql: { host, port, username, password, database },
          ...parts,
          ...options,
          ...(entry === undefined ? {} : { entry })
        }).pipe(Layer.provide(Layer.succeed(Clock.Clock, clock)))
      ).pipe(
        Layer.provideMerge(layerLog({ path: logPath })),
        Layer.provideMerge(Layer.mergeAll(Identifiers.layer, Layer.provideMerge(layerMigrations, layerSql(server))))
      )
    })
  )
const metrics = (organizationId: string) =>
  Effect.gen(function* () {
    const analytics = yield* Analytics
    const now = Date.now()
    return yield* analytics.getQueryMetrics({
      organizationId,
      range: { from: now - 120 * minute, before: now + minute },
      collection: undefined,
      segment: undefined,
      limit: 1_000,
      offset: 0
    })
  })
const eventually = <A, R>(read: Effect.Effect<A, never, R>, isThere: (answer: A) => boolean) =>
  Effect.gen(function* () {
    for (let waited = 0; waited < 60_000; waited += 20) {
      const answer = yield* read
      if (isThere(answer)) return answer
      yield* Effect.sleep(20)
    }
    return yield* read
  })

describe("the stream worker", () => {
  it.live("joins searches and events over four partitions", () =>
    Effect.gen(function* () {
      const events = yield* Events
      const served = yield* SearchServed
      const searches = yield* Effect.forEach(
        Array.from({ length: 40 }, (_, i) => i),
        (i) =>
          Effect.gen(function* () {
            const session_id = `session-${i}`
            const query_id = yield* served.mint("org", i % 5 === 0 ? undefined : session_id)
            served.record({
              organization_id: "org",
              query_id,
              collection: "shop",
              q: `query ${i % 4}`,
              found: i % 4,
              ...(i % 5 === 0 ? {} : { session_id }),
              isCounted: true
            })
            return { i, query_id, session_id }
          })
      )
      // Half of the clicks name their answer, the others only their session; a client's clock may be slightly behind
      // ours.
      const clicks = searches
        .filter(({ i }) => i % 5 !== 0)
        .map(({ i, query_id, session_id }) => ({
          type: "click",
          collection: "shop",
          document_id: "d",
          event_id: `click-${i}`,
          timestamp: Date.now() + 1_000,
          ...(i % 2 === 0 ? { query_id } : { session_id })
        }))
      const answer = yield* events.ingestEvents("org", clicks)
      assert.strictEqual(answer.accepted, 32)
      const counted = yield* eventually(
        metrics("org"),
        ({ data }) => data.reduce((sum, row) => sum + row.searches + row.clicks, 0) === 72
      )
      assert.deepStrictEqual(
        counted.data.map(({ clicks: n, q, results_found_rate, searches: s }) => [q, s, n, results_found_rate]),
        [
          ["query 0", 10, 8, 0],
          ["query 1", 10, 8, 1],
          ["query 2", 10, 8, 1],
          ["query 3", 10, 8, 1]
        ]
      )
      assert.strictEqual(
        (yield* (yield* StreamWorker).progress).filter(({ group }) => group === "attribution").length,
        4
      )
    }).pipe(Effect.provide(stack(4)))
  )

  it.live("is restarted after a throw, an exit and a rejection, and counts everything once", () =>
    Effect.gen(function* () {
      const events = yield* Events
      const worker = yield* StreamWorker
      let sent = 0
      while ((yield* worker.restarts) < 3 && sent < 4_000) {
        const answer = yield* events.ingestEvents(
          "org",
          Array.from({ length: 10 }, (_, i) => ({
            type: "view",
            collection: "c",
            document_id: "d",
            event_id: `view-${sent + i}`
          }))
        )
        sent += answer.accepted
        yield* Effect.sleep(10)
      }
      assert.strictEqual(yield* worker.restarts, 3)
      assert.strictEqual((yield* eventually(metrics("org"), (answer) => answer.events === sent)).events, sent)
    }).pipe(Effect.provide(stack(1, new URL("../support/breaking-worker.ts", import.meta.url))))
  )
})

describe("retention", () => {
  const DAYS_40_MS = 40 * 24 * 60 * minute
  const views = (count: number) =>
    Array.from({ length: count }, (_, i) => ({
      type: "view",
      collection: "c",
      document_id: "d",
      event_id: `view-${i}`
    }))
  const bounds = Effect.flatMap(EventLog, (log) => Effect.orDie(log.bounds(BEHAVIOUR_EVENTS.name, 0)))

  it.live("removes records older than 31 days as soon as they are counted", () =>
    Effect.gen(function* () {
      const events = yield* Events
      const { accepted } = yield* events.ingestEvents("org", views(50))
      assert.strictEqual(accepted, 50)
      const { endOffset, startOffset } = yield* eventually(
        bounds,
        (found) => found.endOffset > 0 && found.startOffset === found.endOffset
      )
      assert.isAbove(endOffset, 0)
      assert.strictEqual(startOffset, endOffset)
      assert.strictEqual((yield* eventually(metrics("org"), (answer) => answer.events === 50)).events, 50)
    }).pipe(Effect.provide(stack(1, undefined, { retentionEvery_ms: 50, ahead_ms: DAYS_40_MS })))
  )

  it.live("removes nothing that a consumer has not counted, however old it is", () =>
    Effect.gen(function* () {
      const events = yield* Events
      assert.strictEqual((yield* events.ingestEvents("org", views(50))).accepted, 50)
      yield* Effect.sleep(1_000)
      const { endOffset, startOffset } = yield* bounds
      assert.isAbove(endOffset, 0)
      assert.strictEqual(startOffset, 0)
    }).pipe(
      Effect.provide(
        stack(1, new URL("../support/idle-worker.ts", import.meta.url), {
          retentionEvery_ms: 50,
          ahead_ms: DAYS_40_MS
        })
      )
    )
  )

  it.live("removes nothing before its time", () =>
    Effect.gen(function* () {
      const events = yield* Events
      assert.strictEqual((yield* events.ingestEvents("org", views(50))).accepted, 50)
      assert.strictEqual((yield* eventually(metrics("org"), (answer) => answer.events === 50)).events, 50)
      yield* Effect.sleep(500)
      assert.strictEqual((yield* bounds).startOffset, 0)
    }).pipe(Effect.provide(stack(1, undefined, { retentionEvery_ms: 50, ahead_ms: 30 * 24 * 60 * minute })))
  )
})

describe("reports of answered searches", () => {
  const report = { organization_id: "o", query_id: "q", collection: "c", q: "shoe", found: 1, isCounted: true }
  const appended = Effect.gen(function* () {
    const log = yield* EventLog
    const { records } = yield* log.read({
      topic: SEARCH_SERVED.name,
      partition: 0,
      from: 0,
      recordsMax: 1_000,
      bytesMax: 1e9
    })
    return records.flatMap(
      ({ value }) => (decodeRecord(value).payload as { served: ReadonlyArray<{ query_id: string }> }).served
    )
  })
  it.live("do not start with more partitions than a query id can name", () =>
    Effect.gen(function* () {
      const start = (visitorPartitions: number) =>
        Effect.exit(
          Effect.provide(
            SearchServed,
            Layer.fresh(SearchServed.layer({ visitorPartitions }).pipe(Layer.provide(Identifiers.layer)))
          )
        )
      assert.strictEqual((yield* start(QUERY_ID_PARTITIONS_MAX))._tag, "Success")
      assert.match(String(yield* start(QUERY_ID_PARTITIONS_MAX + 1)), /1025 visitor partitions .* at most 1024/)
    }).pipe(Effect.provide(EventLog.layerMemory))
  )
  it.live("share appends, and the rest is stored at the stop", () =>
    Effect.gen(function* () {
      yield* Effect.scoped(
        Effect.gen(function* () {
          const served = yield* SearchServed
          for (let i = 0; i < 1_200; i++) served.record({ ...report, query_id: `q${i}` })
        }).pipe(
          Effect.provide(
            Layer.fresh(SearchServed.layer({ visitorPartitions: 1 }).pipe(Layer.provide(Identifiers.layer)))
          )
        )
      )
      assert.deepStrictEqual(
        (yield* appended).map(({ query_id }) => query_id),
        Array.from({ length: 1_200 }, (_, i) => `q${i}`)
      )
    }).pipe(Effect.provide(EventLog.layerMemory))
  )
  it.live("wait for a failing log, within their bound, and count those they drop", () =>
    Effect.gen(function* () {
      const real = yield* EventLog
      let failures = 3
      const flaky = Layer.succeed(
        EventLog,
        EventLog.of({
          ...real,
          append: (records) =>
            Effect.suspend(() =>
              failures-- > 0 ? Effect.fail(new EventLogUnavailable({ message: "away" })) : real.append(records)
            )
        })
      )
      yield* Effect.gen(function* () {
        const served = yield* SearchServed
        for (let i = 0; i < 15; i++) served.record({ ...report, query_id: `q${i}` })
        assert.strictEqual(yield* served.dropped, 5)
        yield* eventually(Effect.orDie(appended), (all) => all.length === 10)
      }).pipe(
        Effect.provide(
          SearchServed.layer({ visitorPartitions: 1, reportsMax: 10 }).pipe(Layer.provide([Identifiers.layer, flaky]))
        )
      )
      assert.strictEqual((yield* appended).length, 10)
    }).pipe(Effect.provide(EventLog.layerMemory))
  )
})

describe("events under pressure", () => {
  it.live("are refused with a time to retry, none of them stored, and accepted when sent again", () =>
    Effect.gen(function* () {
      const real = yield* EventLog
      let mode: "full" | "gone" | "good" = "full"
      const { EventLogOverloaded } = yield* Effect.promise(() => import("../../log/event-log/event-log.ts"))
      const log = Layer.succeed(
        EventLog,
        EventLog.of({
          ...real,
          append: (records) =>
            mode === "good"
              ? real.append(records)
              : mode === "full"
                ? Effect.fail(new EventLogOverloaded({ message: "full", retry_after_s: 1 }))
                : Effect.fail(new EventLogUnavailable({ message: "gone" }))
        })
      )
      yield* Effect.gen(function* () {
        const events = yield* Events
        const batch = [
          { type: "view", collection: "c", document_id: "d", event_id: "a" },
          { type: "view", collection: "c", document_id: "d", event_id: "a" }
        ]
        assert.deepInclude(yield* Effect.flip(events.ingestEvents("o", batch)), {
          _tag: "Throttled",
          kind: "backpressure",
          retry_after_s: 1
        })
        mode = "gone"
        assert.deepInclude(yield* Effect.flip(events.ingestEvents("o", batch)), { _tag: "EventsUnavailable" })
        mode = "good"
        assert.deepInclude(yield* events.ingestEvents("o", batch), { accepted: 1, deduplicated: 1 })
      }).pipe(
        Effect.provide(
          Events.layer({ visitorPartitions: 1 }).pipe(
            Layer.provide([DedupeWindow.layerMemory({ key: [1, 2, 3, 4] }), log])
          )
        )
      )
    }).pipe(Effect.provide(EventLog.layerMemory))
  )
})
