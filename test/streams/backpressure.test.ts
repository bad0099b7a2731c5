/**
 * When the database hangs or the log is full, nothing grows, nothing is lost, and refused senders learn when to retry.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { join } from "node:path"
import { layerAdmission } from "../../src/events/intake/admission.ts"
import { SearchServed } from "../../src/search/serve-log.ts"
import { Events } from "../../src/events/intake/service.ts"
import { layer as layerMigrations } from "../../src/migrations/index.ts"
import { DedupeWindow } from "../../src/ports/dedupe/dedupe-window.ts"
import { EventLog } from "../../log/event-log/event-log.ts"
import { layerEmbedded as layerLog } from "../../log/event-log/lmdb.ts"
import { Identifiers } from "../../log/identifiers.ts"
import type { LogSpaceOptions } from "../../log/event-log/log-space.ts"
import { layerSql } from "../../src/runtime/embedded.ts"
import { StreamWorker } from "../../streams/host/host.ts"
import { BEHAVIOUR_EVENTS, deadLettersOf, EVENT_FINGERPRINTS, isDeadLetters } from "../../log/topics.ts"
import { folded } from "../support/folded.ts"
import { acquireTestPostgres, temporaryFolder } from "../support/postgres.ts"

const stack = (space: LogSpaceOptions = {}) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const server = yield* acquireTestPostgres
      const folder = yield* temporaryFolder("backpressure")
      const { database, host, password, port, username } = server
      const logPath = join(folder, "log")
      const streams = StreamWorker.layer({
        logPath,
        statePath: join(folder, "streams"),
        sql: { host, port, username, password, database },
        visitorPartitions: 1
      })
      const events = Events.layer({ visitorPartitions: 1 }).pipe(
        Layer.provide([
          DedupeWindow.layerSealed({
            key: [1, 2, 3, 4],
            topic: EVENT_FINGERPRINTS.name,
            folder: join(folder, "dedupe")
          }),
          layerAdmission({})
        ])
      )
      return Layer.mergeAll(
        Layer.provideMerge(events, streams),
        SearchServed.layer({ visitorPartitions: 1, reportsMax: 50 })
      ).pipe(
        Layer.provideMerge(layerLog({ path: logPath, space: { ...space, isAlwaysTaken: isDeadLetters } })),
        Layer.provideMerge(Layer.mergeAll(Identifiers.layer, Layer.provideMerge(layerMigrations, layerSql(server))))
      )
    })
  )

const FROZEN_MS = 6_000
const views = (organizationId: string, from: number, count: number) =>
  Array.from({ length: count }, (_, i) => ({
    type: "view",
    collection: "shop",
    document_id: `d${i % 50}`,
    event_id: `${organizationId}-${from + i}`,
    session_id: `s${i % 20}`,
    timestamp: Date.now()
  }))
const countedOf = (organizationId: string) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.map(
      Effect.andThen(
        folded,
        sql<{
          n: number
        }>`SELECT coalesce(sum(events), 0)::float8 AS n FROM analytics_event_rollup WHERE organization_id = ${organizationId} AND grain = 3`
      ),
      ([row]) => row!.n
    )
  )

describe("backpressure", () => {
  it.live(
    "a hanging database pauses its partition under load; memory stays flat, nothing is lost or counted twice",
    () =>
      Effect.gen(function* () {
        const events = yield* Events
        const sql = yield* SqlClient.SqlClient
        const streams = yield* StreamWorker
        const sent = new Map([
          ["large", 0],
          ["small", 0]
        ])
        const refused = new Map([
          ["large", 0],
          ["small", 0]
        ])
        const comeBack = new Set<number>()
        let isLoading = true
        const load = (organizationId: string, batch: number, every_ms: number) =>
          Effect.gen(function* () {
            while (isLoading) {
              const from = sent.get(organizationId)!
              const answer = yield* Effect.result(
                events.ingestEvents(organizationId, views(organizationId, from, batch))
              )
              if (answer._tag === "Success") {
                assert.strictEqual(answer.success.accepted, batch)
                sent.set(organizationId, from + batch)
              } else {
                assert.strictEqual(answer.failure._tag, "Throttled")
                comeBack.add(answer.failure.retry_after_s)
                refused.set(organizationId, refused.get(organizationId)! + 1)
              }
              yield* Effect.sleep(every_ms)
            }
          })
        const loads = [yield* Effect.forkChild(load("large", 500, 25)), yield* Effect.forkChild(load("small", 10, 100))]
        while ((yield* countedOf("small")) === 0) yield* Effect.sleep(20)
        const backends = (yield* sql<{
          pid: number
        }>`SELECT pid FROM pg_stat_activity WHERE application_name = 'dowser-streams'`).map(({ pid }) => pid)
        assert.isAbove(backends.length, 0)
        const before_bytes = process.memoryUsage.rss()
        let most_bytes = 0
        for (const pid of backends) process.kill(pid, "SIGSTOP")
        // The answer to a last commit may still be on its way.
        yield* Effect.sleep(500)
        const stood = JSON.stringify((yield* streams.progress).map(({ committed }) => committed))
        for (const until = performance.now() + FROZEN_MS; performance.now() < until; yield* Effect.sleep(50))
          most_bytes = Math.max(most_bytes, process.memoryUsage.rss())
        const stands = JSON.stringify((yield* streams.progress).map(({ committed }) => committed))
        for (const pid of backends) process.kill(pid, "SIGCONT")
        assert.strictEqual(stands, stood)
        // Only the sender that sent much more than its share was refused, and only once the wait was near its bound.
        assert.strictEqual(refused.get("small"), 0)
        assert.isAbove(refused.get("large")!, 0)
        assert.isTrue([...comeBack].every((seconds) => seconds >= 1 && seconds <= 60))
        // Mailboxes, one flush and one read-ahead are bounded by counts, whatever the log contains. The limit is
        // generous because both threads collect garbage at their own time.
        assert.isBelow(most_bytes - before_bytes, 250 * 1024 * 1024)
        isLoading = false
        yield* Effect.forEach(loads, Fiber.join, { discard: true })
        for (const organizationId of sent.keys()) {
          for (
            let waited = 0;
            waited < 30_000 && (yield* countedOf(organizationId)) < sent.get(organizationId)!;
            waited += 50
          )
            yield* Effect.sleep(50)
          assert.strictEqual(yield* countedOf(organizationId), sent.get(organizationId))
        }
        assert.strictEqual(
          (yield* streams.progress).reduce((sum, { lost }) => sum + lost, 0),
          0
        )
      }).pipe(Effect.provide(stack()), Effect.scoped)
  )

  it.live(
    "a log near its bound answers 429 with a time, keeps accepting dead letters, counts dropped reports, and recovers",
    () =>
      Effect.gen(function* () {
        const events = yield* Events
        const log = yield* EventLog
        const served = yield* SearchServed
        let stored = 0
        const fill = Effect.gen(function* () {
          for (;;) {
            yield* events.ingestEvents("org", views("org", stored, 500))
            stored += 500
          }
        })
        const refusal = yield* Effect.flip(fill)
        assert.isTrue(
          refusal._tag === "Throttled" && refusal.kind === "backpressure" && refusal.retry_after_s === 30,
          JSON.stringify(refusal)
        )
        assert.match((yield* Effect.flip(log.health)).message, /holds \d+ MB, and 4 MB is its bound/)
        yield* log.append([{ topic: deadLettersOf(BEHAVIOUR_EVENTS).name, partition: 0, value: new Uint8Array(10) }])
        for (let i = 0; i < 120; i++)
          served.record({
            organization_id: "org",
            query_id: `q${i}`,
            collection: "shop",
            q: "hat",
            found: 1,
            isCounted: true
          })
        assert.isAtLeast(yield* served.dropped, 120 - 2 * 50)
        // Everything that was acknowledged is stored and gets counted, though nothing more is accepted.
        for (let waited = 0; waited < 30_000 && (yield* countedOf("org")) < stored; waited += 50)
          yield* Effect.sleep(50)
        assert.strictEqual(yield* countedOf("org"), stored)
        // Fingerprints as well: for such similar events, they are half of what is stored before the bound is noticed.
        for (const { name } of [BEHAVIOUR_EVENTS, EVENT_FINGERPRINTS])
          yield* log.trim(name, 0, (yield* log.bounds(name, 0)).endOffset)
        const again = events.ingestEvents("org", views("org", stored, 1))
        for (let waited = 0; waited < 60_000 && (yield* Effect.result(again))._tag === "Failure"; waited += 200)
          yield* Effect.sleep(200)
        assert.strictEqual((yield* again).deduplicated, 1)
      }).pipe(Effect.provide(stack({ bytesMax: 4 * 1024 * 1024 })), Effect.scoped)
  )
})
