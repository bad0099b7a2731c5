/**
 * Ingest jobs run by several processes: whose turn is next, what a dead process leaves behind, what is counted, what is
 * deleted, and how a job ends.
 */
import { expect, layer } from "@effect/vitest"
import { Clock, Effect, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { guardOf } from "../../../src/ingest/running/delete-missing.ts"
import { IngestFailed, IngestLater } from "../../../src/ingest/sources/source.ts"
import { makeShiftedClock } from "../../support/clock.ts"
import {
  counting,
  jobRow,
  layerProcesses,
  MapEngine,
  noJobs,
  putJob,
  putOrganization,
  startWorker,
  until
} from "../../support/ingest-worker.ts"

const allOver = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql`SELECT 1 FROM ingest_jobs WHERE finished_at IS NULL LIMIT 1`
)

layer(layerProcesses, { excludeTestServices: true })("an ingest job", (it) => {
  it.effect("of the last organization is next, however many of five others wait; one of each at a time", () =>
    Effect.gen(function* () {
      yield* noJobs
      const order: Array<string> = []
      const atWork = new Map<string, number>()
      let most = 0
      const source = counting(1, {
        before: ({ organizationId }) =>
          Effect.gen(function* () {
            const now = (atWork.get(organizationId) ?? 0) + 1
            atWork.set(organizationId, now)
            most = Math.max(most, now)
            yield* Effect.sleep(5)
            atWork.set(organizationId, atWork.get(organizationId)! - 1)
            order.push(organizationId)
          })
      })
      const sql = yield* SqlClient.SqlClient
      for (const id of ["org_a", "org_b", "org_c", "org_d", "org_e", "org_f"]) yield* putOrganization(id)
      // Thousands of older jobs, of more organizations than there are places.
      yield* sql`INSERT INTO ingest_jobs (id, organization_id, name, collection, source, status, config, stats, created_at, updated_at)
          SELECT 'job_' || o || i, o, 'x', 'goods', 'test', 'queued', '{}', '{"fetched":0,"imported":0,"failed":0,"cursor":0,"passes":0,"errors":[]}', i, 0
          FROM generate_series(1, 1000) AS i, unnest(ARRAY['org_a', 'org_b', 'org_d', 'org_e', 'org_f']) AS o`
      const stops = [yield* startWorker(new MapEngine(), [source]), yield* startWorker(new MapEngine(), [source])]
      yield* until(
        Effect.sync(() => order.length),
        (n) => n > 10
      )
      const before = order.length
      yield* putJob("org_c", "job_c", "test", { created_at: 1_000_000 })
      yield* until(jobRow("job_c"), ({ status }) => status === "ready")
      yield* Effect.all(stops)
      // The running jobs, and one of each of the other organizations.
      const position = order.slice(before).indexOf("org_c")
      expect(position).toBeGreaterThanOrEqual(0)
      expect(position).toBeLessThanOrEqual(8)
      expect(most).toBe(1)
    })
  )
  it.effect("that has had its turn makes room for a waiting one, and resumes at its cursor", () =>
    Effect.gen(function* () {
      yield* noJobs
      const { clock, forward } = yield* makeShiftedClock
      const engine = new MapEngine()
      let isShort = false
      const source = counting(20_000, {
        read: (task) =>
          counting(task.organizationId === "org_c" ? 1 : isShort ? 30 : 20_000, { before: () => Effect.sleep(5) }).read(
            task
          )
      })
      yield* putJob("org_a", "job_a")
      yield* putJob("org_b", "job_b")
      yield* putJob("org_c", "job_c", "test", { created_at: 1 })
      const stop = yield* Effect.provideService(startWorker(engine, [source]), Clock.Clock, clock)
      yield* until(Effect.all([jobRow("job_a"), jobRow("job_b")]), (rows) =>
        rows.every(({ stats }) => stats.cursor > 50)
      )
      expect((yield* jobRow("job_c")).status).toBe("queued")
      isShort = true
      forward(10_001)
      yield* until(jobRow("job_c"), ({ status }) => status === "ready")
      yield* until(Effect.all([jobRow("job_a"), jobRow("job_b")]), (rows) =>
        rows.every(({ status }) => status !== "importing")
      )
      yield* stop
      // Neither of them was written or counted a second time.
      for (const id of ["job_a", "job_b"]) {
        const { stats } = yield* jobRow(id)
        expect(stats.imported).toBe(stats.cursor)
      }
      expect(engine.writes).toBe(engine.of("org_a").size + engine.of("org_b").size + 10)
    })
  )
  it.effect("interrupted anywhere, twenty times, ends like an uninterrupted one, and counts each document once", () =>
    Effect.gen(function* () {
      yield* noJobs
      const engine = new MapEngine()
      const source = counting(60, { before: () => Effect.sleep(3) })
      // The engine has stored the batch, but the process dies before it gets the answer.
      engine.wrote = () => new Promise((settle) => setTimeout(settle, 4))
      yield* putJob("org_a", "job_1")
      yield* putJob("org_b", "job_2")
      for (let life = 0; life < 20; life++) {
        const stop = yield* startWorker(engine, [source])
        yield* Effect.sleep(15 + ((life * 7) % 23))
        yield* stop
      }
      const stop = yield* startWorker(engine, [source])
      yield* until(allOver, (rows) => rows.length === 0)
      yield* stop
      for (const id of ["job_1", "job_2"]) {
        const { stats, status } = yield* jobRow(id)
        expect([status, stats.imported, stats.fetched, stats.cursor, stats.passes]).toEqual(["ready", 600, 600, 600, 1])
      }
      expect([engine.of("org_a").size, engine.of("org_b").size]).toEqual([600, 600])
      // At most one batch of each run was written twice.
      expect(engine.writes).toBeLessThanOrEqual(1_200 + 21 * 20)
    })
  )
  it.effect("of a paused organization waits until it is resumed, and delays nobody", () =>
    Effect.gen(function* () {
      yield* noJobs
      const sql = yield* SqlClient.SqlClient
      const source = counting(1, {})
      yield* putJob("org_a", "job_1")
      yield* putJob("org_b", "job_2", "test", { created_at: 1_000_000 })
      yield* sql`UPDATE organizations SET status = 'paused', paused_reason = 'payment' WHERE id = 'org_a'`
      const stop = yield* startWorker(new MapEngine(), [source])
      yield* until(jobRow("job_2"), ({ status }) => status === "ready")
      expect((yield* jobRow("job_1")).status).toBe("queued")
      yield* sql`UPDATE organizations SET status = 'active', paused_reason = NULL WHERE id = 'org_a'`
      yield* until(jobRow("job_1"), ({ status }) => status === "ready")
      yield* stop
    })
  )
  it.effect("is interrupted within two seconds of being cancelled, at whichever process", () =>
    Effect.gen(function* () {
      yield* noJobs
      const sql = yield* SqlClient.SqlClient
      let isInterrupted = false
      const source = counting(1, {
        before: () => Effect.onInterrupt(Effect.never, () => Effect.sync(() => void (isInterrupted = true)))
      })
      yield* putJob("org_a", "job_1")
      const stop = yield* startWorker(new MapEngine(), [source])
      yield* until(jobRow("job_1"), ({ status }) => status === "fetching")
      const began = performance.now()
      yield* sql`UPDATE ingest_jobs SET status = 'cancelled', finished_at = 1 WHERE id = 'job_1'`
      yield* until(
        Effect.sync(() => isInterrupted),
        (is) => is
      )
      expect(performance.now() - began).toBeLessThan(2_000)
      yield* stop
      expect((yield* jobRow("job_1")).status).toBe("cancelled")
    })
  )
  it.effect(
    "is deferred five times by its source and then fails with its message; a defect reveals nothing internal",
    () =>
      Effect.gen(function* () {
        yield* noJobs
        let tries = 0
        const later = counting(1, {
          name: "later",
          read: () => {
            tries++
            return Effect.fail(new IngestLater({ message: "The shop is closed.", after_s: 0 }))
          }
        })
        const broken = counting(1, { name: "broken", read: () => Effect.die(new Error("secret of the inside")) })
        const refused = counting(1, {
          name: "refused",
          read: () => Effect.succeed(Stream.fail(new IngestFailed({ message: "Not a feed." })))
        })
        yield* putJob("org_a", "job_1", "later")
        yield* putJob("org_b", "job_2", "broken")
        yield* putJob("org_c", "job_3", "refused")
        yield* putJob("org_d", "job_4", "gone")
        const stop = yield* startWorker(new MapEngine(), [later, broken, refused])
        yield* until(allOver, (rows) => rows.length === 0)
        yield* stop
        expect(tries).toBe(5)
        const errors = yield* Effect.all(
          ["job_1", "job_2", "job_3", "job_4"].map((id) => Effect.map(jobRow(id), ({ error }) => error))
        )
        expect(errors).toEqual([
          "The shop is closed.",
          "Unexpected error.",
          "Not a feed.",
          "There is no source `gone` any more."
        ])
      })
  )
  it.effect("with `full`, interrupted in the middle, knows all that it imported before it deletes", () =>
    Effect.gen(function* () {
      yield* noJobs
      const engine = new MapEngine()
      for (let i = 0; i < 700; i++) engine.of("org_a").set(`d${i}`, {})
      engine.of("org_b").set("theirs", {})
      const source = counting(60, { isFull: () => true, before: () => Effect.sleep(3), goesOn: true })
      yield* putJob("org_a", "job_1")
      const first = yield* startWorker(engine, [source])
      yield* until(jobRow("job_1"), ({ stats }) => stats.cursor > 200)
      yield* first
      const second = yield* startWorker(engine, [source])
      yield* until(allOver, (rows) => rows.length === 0)
      yield* second
      const { error, stats, status } = yield* jobRow("job_1")
      expect([status, error, stats.imported, stats.deleted]).toEqual(["ready", null, 600, 100])
      expect([engine.of("org_a").size, engine.of("org_b").size]).toEqual([600, 1])
    })
  )
  it.effect("with `full` that finds its source unchanged deletes nothing", () =>
    Effect.gen(function* () {
      yield* noJobs
      const engine = new MapEngine()
      for (let i = 0; i < 10; i++) engine.of("org_a").set(`d${i}`, {})
      const source = counting(0, {
        isFull: () => true,
        read: () =>
          Effect.succeed(Stream.succeed({ changes: [], cursor: 0, fetched: 0, errors: [], isUnchanged: true }))
      })
      yield* putJob("org_a", "job_1", "test", { options: { confirm_deletes: true }, pass: 4 })
      const stop = yield* startWorker(engine, [source])
      yield* until(allOver, (rows) => rows.length === 0)
      yield* stop
      const { stats, status } = yield* jobRow("job_1")
      expect([status, stats.passes, stats.deleted, engine.of("org_a").size]).toEqual(["ready", 4, undefined, 10])
    })
  )
  it.effect("lists what the engine refused of a batch, and says so when its collection is gone", () =>
    Effect.gen(function* () {
      yield* noJobs
      const engine = new MapEngine()
      const { write } = engine.engine
      Object.assign(engine.engine, {
        write: async (...given: Parameters<typeof write>) =>
          given[0] === "org_b"
            ? { ok: false, error: { kind: "NotFound", message: "Collection not found" } }
            : (await write(...given)).ok && {
                ok: true,
                value: given[2].map((_, i) =>
                  i < 2
                    ? { result: { ok: false, error: { kind: "Invalid", message: "Bad." } } }
                    : { result: { ok: true } }
                )
              }
      })
      yield* putJob("org_a", "job_1")
      yield* putJob("org_b", "job_2")
      const stop = yield* startWorker(engine, [counting(60)])
      yield* until(allOver, (rows) => rows.length === 0)
      yield* stop
      const first = yield* jobRow("job_1"),
        second = yield* jobRow("job_2")
      // All failures are counted, a hundred are listed.
      expect([first.status, first.stats.imported, first.stats.failed, first.stats.errors.length]).toEqual([
        "ready",
        480,
        120,
        100
      ])
      expect(first.stats.errors[1]).toEqual({ id: "d1", error: "Bad." })
      expect([second.status, second.error, second.stats.imported]).toEqual(["failed", "Collection not found", 0])
      expect(second.stats.errors).toEqual([{ id: "records 1 to 10", error: "Collection not found" }])
    })
  )
  it.effect("may delete 30 % and no more", () =>
    Effect.sync(() => {
      expect(guardOf(30, 100)).toBeUndefined()
      expect(guardOf(31, 100)).toContain("31 of 100")
      expect(guardOf(0, 0)).toBeUndefined()
    })
  )
})
