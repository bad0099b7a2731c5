/**
 * What the health room finds when real parts fail: Postgres is stopped, a disk refuses a sync, a stream is stuck, an
 * engine is closed.
 */
import { it } from "@effect/vitest"
import { Effect, Layer, References } from "effect"
import { SqlClient } from "effect/sql"
import { join } from "node:path"
import { describe, expect, it as plain } from "vitest"
import { createEngine, type SearchEngine } from "../../../engine-sdk/src/mod.ts"
import { Configuration } from "../../../src/configuration/configuration.ts"
import { Models } from "../../../src/models/models.ts"
import { RecommendModels } from "../../../src/recommendation-models/live/recommend-models.ts"
import { SearchServed } from "../../../src/search/serve-log.ts"
import { Health } from "../../../src/health/health.ts"
import { changesOf, type Finding, growthOf, verdictOf } from "../../../src/health/verdict.ts"
import { layer as layerMigrations } from "../../../src/migrations/index.ts"
import { Engine } from "../../../src/ports/engine/engine.ts"
import { layerEmbedded as layerLog } from "../../../log/event-log/lmdb.ts"
import { statusLines } from "../../../src/cli/status.ts"
import { type LogEnvironment, openLogEnvironment } from "../../../log/event-log/lmdb-environment.ts"
import { EventLog, EventLogUnavailable } from "../../../log/event-log/event-log.ts"
import { Identifiers } from "../../../log/identifiers.ts"
import { layerSql } from "../../../src/runtime/embedded.ts"
import type { PostgresServer } from "../../../src/runtime/embedded-postgres.ts"
import { StreamWorker } from "../../../streams/host/host.ts"
import { BEHAVIOUR_EVENTS } from "../../../log/topics.ts"
import { acquireTestPostgres, temporaryFolder } from "../../support/postgres.ts"
import { promised } from "../../support/patience.ts"

describe("the verdict", () => {
  const finding = (part: Finding["part"], ok: boolean): Finding => ({ part, ok, detail: "" })
  plain("is down without the engine, degraded without any other part", () => {
    const all = (["engine", "event_log", "streams", "postgres"] as const).map((part) => finding(part, true))
    expect(verdictOf(all)).toBe("ok")
    for (const part of ["event_log", "streams", "postgres", "health"] as const)
      expect(verdictOf([...all, finding(part, false)]), part).toBe("degraded")
    expect(verdictOf([...all, finding("postgres", false), finding("engine", false)])).toBe("down")
  })
  plain("is logged when a part changes, and not repeatedly", () => {
    const was = [finding("engine", true), finding("postgres", false), finding("streams", false)]
    expect(
      changesOf(was, [finding("engine", false), finding("postgres", false), finding("streams", true)]).map(
        ({ ok, part }) => [part, ok]
      )
    ).toEqual([
      ["engine", false],
      ["streams", true]
    ])
    expect(changesOf([], [finding("engine", true), finding("postgres", false)]).map(({ part }) => part)).toEqual([
      "postgres"
    ])
  })
  plain("is written for a person, and marks figures that were cut off", () => {
    const partition = {
      group: "attribution",
      partition: 3,
      records_behind: 7,
      entries: 900,
      dropped: 1,
      dead_letters: 2,
      restarts: 4,
      records_lost: 0,
      is_replaying: true,
      entries_per_second: 12.5
    }
    const lines = statusLines({
      status: "degraded",
      version: "1",
      checked_at: 0,
      parts: [{ name: "streams", ok: false, detail: "slow" }],
      engine_circuits: { reads: "open", writes: "closed" },
      worker_restarts: 0,
      processor_restarts: 4,
      dead_letters: 2,
      records_lost: 0,
      reports_dropped: 0,
      streams_lag_seconds: 1,
      partitions: [partition],
      webhooks: { deliveries_pending: 10_000, deliveries_failed: 3, outbox_waiting: 0 }
    })
    expect(lines).toContain(
      "  attribution/3: rebuilding its state, 7 records behind, 900 entries (1 dropped), 12.5/s, 4 restarts, 2 dead letters"
    )
    expect(lines).toContain("  engine: the circuit for reads is open")
    expect(lines.some((line) => line.includes("writes is"))).toBe(false)
    expect(lines).toContain("  webhooks: 10000 or more deliveries wait, 3 failed, 0 events to be spread")
  })

  plain("reports losses when they grow, also when a new thread counts from zero", () => {
    const none = { worker_restarts: 0, processor_restarts: 0, dead_letters: 0, records_lost: 0, reports_dropped: 0 }
    expect(growthOf(none, none)).toBeUndefined()
    expect(growthOf({ ...none, dead_letters: 2 }, { ...none, dead_letters: 5, reports_dropped: 7 })).toMatch(
      /^3 dead letters, 7 reports of answered searches dropped/
    )
    expect(growthOf({ ...none, dead_letters: 2 }, { ...none, worker_restarts: 1 })).toBe(
      "1 restarts of the stream worker"
    )
  })
})

/** A worker's thread, a log on disk, an engine and a database, all real. */
const partsOver = (
  server: PostgresServer,
  folder: string,
  options: {
    readonly engine: SearchEngine
    readonly open?: (path: string) => LogEnvironment
    readonly reportsMax?: number
  }
) => {
  const logPath = join(folder, "log")
  const { database, host, password, port, username } = server
  return Layer.mergeAll(
    StreamWorker.layer({
      logPath,
      statePath: join(folder, "streams"),
      sql: { host, port, username, password, database },
      visitorPartitions: 1
    }),
    RecommendModels.layerNone,
    Models.layer([]),
    SearchServed.layer({
      visitorPartitions: 1,
      ...(options.reportsMax === undefined ? {} : { reportsMax: options.reportsMax })
    }).pipe(Layer.provide(Identifiers.layer)),
    Layer.succeed(Engine, options.engine)
  ).pipe(
    Layer.provideMerge(layerLog({ path: logPath, ...(options.open === undefined ? {} : { open: options.open }) })),
    Layer.provideMerge(Layer.provide(Configuration.layerEmbedded, Identifiers.layer)),
    Layer.provideMerge(Layer.provideMerge(layerMigrations, layerSql(server)))
  )
}

it.live("health does not wait for a database that neither answers nor fails", () =>
  Effect.gen(function* () {
    const server = yield* acquireTestPostgres
    const parts = partsOver(server, yield* temporaryFolder("frozen"), { engine: createEngine() })
    yield* Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const health = yield* Health
      const untilWell = Effect.gen(function* () {
        for (let waited = 0; waited < 60_000 && (yield* health.latest).verdict !== "ok"; waited += 20)
          yield* Effect.sleep(20)
        expect((yield* health.latest).verdict).toBe("ok")
      })
      yield* untilWell
      const pids = (yield* sql<{
        pid: number
      }>`SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend'`).map(({ pid }) => pid)
      for (const pid of pids) process.kill(pid, "SIGSTOP")
      const looks = new Set<number>()
      // Checks continue with the same finding while the first probe still hangs.
      for (
        const until = performance.now() + 1_500;
        performance.now() < until || looks.size < 5;
        yield* Effect.sleep(20)
      )
        looks.add((yield* health.latest).checked_at)
      const frozen = yield* health.latest
      for (const pid of pids) process.kill(pid, "SIGCONT")
      expect(frozen.findings.filter(({ ok, part }) => !ok && part !== "health")).toEqual([
        { part: "postgres", ok: false, detail: "does not answer within 0.2 s" }
      ])
      yield* untilWell
    }).pipe(Effect.provide(Layer.provideMerge(Health.layer({ every_ms: 50, probe_ms: 200 }), parts)))
  }).pipe(Effect.scoped, Effect.provideService(References.MinimumLogLevel, "Fatal"))
)

it.live("health finds every failed part in bounded time, and answers at once meanwhile", () =>
  Effect.gen(function* () {
    const server = yield* acquireTestPostgres
    const folder = yield* temporaryFolder("health")
    let disk: "good" | "bad" = "good"
    const open = (at: string): LogEnvironment => {
      const real = openLogEnvironment(at)
      return {
        ...real,
        synced: () => (disk === "good" ? real.synced() : Promise.reject(new Error("input/output error")))
      }
    }
    const engine = createEngine()
    const parts = partsOver(server, folder, { engine, open, reportsMax: 1 })
    yield* Effect.gen(function* () {
      const health = yield* Health
      const log = yield* EventLog
      const served = yield* SearchServed
      const found = Effect.map(health.latest, ({ findings, verdict }) => [
        verdict,
        ...findings.filter(({ ok }) => !ok).map(({ part }) => part)
      ])
      const until = (expected: ReadonlyArray<string>) =>
        Effect.gen(function* () {
          for (let waited = 0; waited < 60_000 && String(yield* found) !== String(expected); waited += 20)
            yield* Effect.sleep(20)
          expect(yield* found).toEqual(expected)
          return Object.fromEntries((yield* health.latest).findings.map(({ detail, part }) => [part, detail]))
        })
      yield* until(["ok"])

      const report = { organization_id: "o", query_id: "q", collection: "c", q: "shoe", found: 1, isCounted: true }
      for (let i = 0; i < 4; i++) served.record(report)
      for (let waited = 0; waited < 60_000 && (yield* health.latest).losses.reports_dropped !== 3; waited += 20)
        yield* Effect.sleep(20)
      expect((yield* health.latest).losses.reports_dropped).toBe(3)
      // The worker's thread takes a moment to start and to report.
      for (
        let waited = 0;
        waited < 60_000 && !(yield* health.latest).partitions.some(({ group }) => group === "attribution");
        waited += 20
      )
        yield* Effect.sleep(20)
      expect((yield* health.latest).partitions.map(({ group, partition }) => [group, partition])).toContainEqual([
        "attribution",
        0
      ])

      // Everything is counted before the database stops, and one record is appended afterwards.
      while ((yield* health.latest).lag_ms !== 0) yield* Effect.sleep(20)
      yield* Effect.promise(() => server.stop())
      yield* log.append([{ topic: BEHAVIOUR_EVENTS.name, partition: 0, value: new Uint8Array([1]) }])
      const alone = yield* until(["degraded", "streams", "postgres"])
      expect(alone.streams).toMatch(/the oldest record that is not counted yet waits for \d/)

      disk = "bad"
      yield* Effect.flip(log.append([{ topic: BEHAVIOUR_EVENTS.name, partition: 0, value: new Uint8Array([1]) }]))
      disk = "good"
      const broken = yield* until(["degraded", "event_log", "streams", "postgres"])
      expect(broken.event_log).toMatch(/until Dowser is restarted/)

      yield* Effect.promise(() => engine.close())
      expect((yield* until(["down", "engine", "event_log", "streams", "postgres"])).engine).toBe(
        "The engine is closed."
      )
      const startedAt = performance.now()
      yield* health.latest
      expect(performance.now() - startedAt).toBeLessThan(promised(50))
    }).pipe(Effect.provide(Layer.provideMerge(Health.layer({ every_ms: 50, probe_ms: 300, lagMax_ms: 400 }), parts)))
  }).pipe(Effect.scoped, Effect.provideService(References.MinimumLogLevel, "Fatal"))
)

it.live("a lag that cannot be read is reported as unknown, not as none", () =>
  Effect.gen(function* () {
    const server = yield* acquireTestPostgres
    const parts = partsOver(server, yield* temporaryFolder("unread"), { engine: createEngine() })
    for (const [lag_ms, detail] of [
      [Effect.fail(new EventLogUnavailable({ message: "input/output error" })), "input/output error"],
      [Effect.never, "does not answer within 0.2 s"],
      [Effect.succeed(90_000), "the oldest record that is not counted yet waits for 90.0 s"]
    ] as const) {
      const streams = Layer.succeed(StreamWorker, {
        progress: Effect.succeed([]),
        restarts: Effect.succeed(0),
        lag_ms
      })
      const { findings, lag_ms: told } = yield* Effect.provide(
        Effect.flatMap(Health, ({ latest }) => latest),
        Layer.fresh(Health.layer({ every_ms: 60_000, probe_ms: 200 })).pipe(
          Layer.provide(streams),
          Layer.provide(parts)
        )
      )
      expect(findings.find(({ part }) => part === "streams")).toEqual({ part: "streams", ok: false, detail })
      expect(told).toBe(detail.endsWith("90.0 s") ? 90_000 : undefined)
    }
  }).pipe(Effect.scoped, Effect.provideService(References.MinimumLogLevel, "Fatal"))
)
