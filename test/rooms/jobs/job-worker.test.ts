/** Jobs run by several processes: one of an organization at a time, cancelled, interrupted, restarted, ended once. */
import { expect, layer } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Layer, Scope } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { Identifiers } from "../../../log/identifiers.ts"
import { Installation } from "../../../src/installation.ts"
import { makeClaims } from "../../../src/ingest/running/claims.ts"
import { makeJobClaims } from "../../../src/jobs/job-claims.ts"
import { type ClaimedJob, type JobEnd, JobFailed, makeJobWorker } from "../../../src/jobs/job-worker.ts"
import { putJob } from "../../support/ingest-worker.ts"
import { layerTestSql } from "../../support/postgres.ts"

const layerInstallation = Layer.succeed(Installation, {
  countryHeader: undefined,
  serviceDomain: undefined,
  weights: undefined,
  visitorPartitions: 1,
  isAlone: false
})
const processes = Layer.provideMerge(Layer.merge(Identifiers.layer, layerInstallation), Layer.fresh(layerTestSql))

interface Row {
  readonly id: string
  readonly status: string
  readonly progress: number
  readonly result: unknown
  readonly error: string | null
}
const put = Effect.fnUntraced(function* (organizationId: string, id: string) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`INSERT INTO organizations (id, name, plan, created_at) VALUES (${organizationId}, 'x', 'free', 0) ON CONFLICT DO NOTHING`
  yield* sql`INSERT INTO jobs (id, organization_id, type, status, config, created_at, updated_at) VALUES (${id}, ${organizationId}, 'test', 'queued', '{"a":1}', 0, 0)`
})
const none = Effect.flatMap(SqlClient.SqlClient, (sql) => sql`DELETE FROM jobs`)
const rowOf = (id: string) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.map(sql<Row>`SELECT id, status, progress, result, error FROM jobs WHERE id = ${id}`, ([row]) => row!)
  )
const until = Effect.fnUntraced(function* <A>(
  look: Effect.Effect<A, unknown, SqlClient.SqlClient>,
  isIt: (seen: A) => boolean
) {
  for (let i = 0; i < 3_000; i++) {
    const seen = yield* Effect.orDie(look)
    if (isIt(seen)) return seen
    yield* Effect.sleep(20)
  }
  return yield* Effect.die(new Error("it did not come"))
})
type Run = (job: ClaimedJob, report: (progress: number) => Effect.Effect<void>) => Effect.Effect<JobEnd, JobFailed>
/** A process, which dies when its scope closes. */
const start = Effect.fnUntraced(function* (run: Run) {
  const scope = yield* Scope.make()
  const { wake } = yield* Scope.provide(makeJobWorker({ type: "test", run }), scope)
  yield* wake
  return Scope.close(scope, Exit.void)
})

layer(processes, { excludeTestServices: true })("a job", (it) => {
  it.effect("is done once by three processes, one of an organization at a time, and ends with its result", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* none
      yield* sql`CREATE TABLE ends (id text)`
      const atWork = new Map<string, number>()
      const most = new Map<string, number>()
      const done: Array<string> = []
      const run: Run = ({ id, organizationId }) =>
        Effect.gen(function* () {
          const now = (atWork.get(organizationId) ?? 0) + 1
          atWork.set(organizationId, now)
          most.set(organizationId, Math.max(now, most.get(organizationId) ?? 0))
          yield* Effect.sleep(30)
          atWork.set(organizationId, atWork.get(organizationId)! - 1)
          done.push(id)
          return { result: { id }, alongside: Effect.asVoid(sql`INSERT INTO ends VALUES (${id})`) }
        })
      const ids = Array.from({ length: 8 }, (_, i) => `job_${i}`)
      for (const [i, id] of ids.entries()) yield* put(i % 2 === 0 ? "org_a" : "org_b", id)
      const stops = yield* Effect.all([start(run), start(run), start(run)])
      const left = sql`SELECT 1 FROM jobs WHERE finished_at IS NULL`
      yield* until(left, (rows) => rows.length === 0)
      yield* Effect.all(stops)
      expect([...done].sort()).toEqual(ids)
      expect([...most.values()]).toEqual([1, 1])
      expect((yield* sql`SELECT id FROM ends`).length).toBe(8)
      expect(yield* rowOf("job_3")).toMatchObject({ status: "ready", progress: 1, result: { id: "job_3" } })
    })
  )
  it.effect("that fails says why, and a defect is reported as such", () =>
    Effect.gen(function* () {
      yield* none
      yield* put("org_a", "job_1")
      yield* put("org_b", "job_2")
      const stop = yield* start(({ id }) =>
        id === "job_1" ? Effect.fail(new JobFailed({ message: "Nothing to do." })) : Effect.die(new Error("broken"))
      )
      expect(yield* until(rowOf("job_1"), ({ status }) => status === "failed")).toMatchObject({
        error: "Nothing to do."
      })
      expect(yield* until(rowOf("job_2"), ({ status }) => status === "failed")).toMatchObject({
        error: "Unexpected error."
      })
      yield* stop
    })
  )
  it.effect("that is cancelled is interrupted, and one whose process stops is restarted by another", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* none
      yield* put("org_a", "job_1")
      const begun = yield* Deferred.make<void>()
      const stopped: Array<string> = []
      const endless: Run = ({ id }, report) =>
        Effect.onInterrupt(
          Effect.andThen(Effect.andThen(report(0.5), Deferred.succeed(begun, undefined)), Effect.never),
          () => Effect.sync(() => stopped.push(id))
        )
      const stopFirst = yield* start(endless)
      yield* Deferred.await(begun)
      expect(yield* until(rowOf("job_1"), ({ progress }) => progress === 0.5)).toMatchObject({ status: "running" })
      yield* sql`UPDATE jobs SET status = 'cancelled', finished_at = 1 WHERE id = 'job_1'`
      yield* until(
        Effect.sync(() => stopped.length),
        (count) => count === 1
      )
      yield* put("org_a", "job_2")
      yield* until(rowOf("job_2"), ({ status }) => status === "running")
      yield* stopFirst
      expect(stopped).toEqual(["job_1", "job_2"])
      const stopSecond = yield* start(() => Effect.succeed({ result: { again: true } }))
      expect(yield* until(rowOf("job_2"), ({ status }) => status === "ready")).toMatchObject({
        result: { again: true }
      })
      yield* stopSecond
      expect(yield* rowOf("job_1")).toMatchObject({ status: "cancelled", result: null })
    })
  )
  it.effect("that is being cancelled while a worker claims it stays cancelled, of either table", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* none
      yield* put("org_a", "job_1")
      yield* putJob("org_a", "job_2")
      const { next } = yield* makeJobClaims
      const ingest = yield* makeClaims
      // Within a transaction the view stays as it was first seen, unless it is cleared.
      const isBlocked = Effect.andThen(
        sql`SELECT pg_stat_clear_snapshot()`,
        Effect.map(
          sql`SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
          (rows) => rows.length > 0
        )
      )
      const claims: ReadonlyArray<readonly [table: string, claim: Effect.Effect<unknown, SqlError.SqlError>]> = [
        ["jobs", next("test", "prc_a", 1)],
        ["ingest_jobs", ingest.next("import", "prc_a", 1)]
      ]
      for (const [table, claim] of claims) {
        const cancelling = yield* Deferred.make<void>()
        let isDone = false
        // Begun out here, so that its transaction is another than the one that cancels.
        const claiming = yield* Effect.forkChild(
          Effect.andThen(Deferred.await(cancelling), sql.withTransaction(claim)).pipe(
            Effect.ensuring(Effect.sync(() => (isDone = true)))
          )
        )
        yield* sql.withTransaction(
          Effect.gen(function* () {
            yield* sql`UPDATE ${sql(table)} SET status = 'cancelled', finished_at = 1`
            yield* Deferred.succeed(cancelling, undefined)
            yield* until(isBlocked, (itIs) => itIs || isDone)
          })
        )
        expect(yield* Fiber.join(claiming)).toBeUndefined()
        expect(yield* sql`SELECT status, claimed_by FROM ${sql(table)}`).toEqual([
          { status: "cancelled", claimed_by: null }
        ])
      }
    })
  )
  it.effect("that was claimed but not started when its process was stopped is given back at once", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* none
      yield* put("org_a", "job_1")
      const stop = yield* start(() => Effect.never)
      yield* until(rowOf("job_1"), ({ status }) => status === "running")
      // Rows as a claim's transaction leaves them just before the work starts; one belongs to another process.
      for (const [id, owner] of [
        ["job_2", sql`(SELECT claimed_by FROM jobs WHERE id = 'job_1')`],
        ["job_3", sql`'prc_other'`]
      ] as const) {
        yield* put(`org_of_${id}`, id)
        yield* sql`UPDATE jobs SET status = 'running', attempts = 1, claimed_by = ${owner}, claimed_until = now() + interval '30 seconds' WHERE id = ${id}`
      }
      yield* stop
      expect(yield* sql`SELECT id, attempts, claimed_until IS NULL AS free FROM jobs ORDER BY id`).toEqual([
        { id: "job_1", attempts: 0, free: true },
        { id: "job_2", attempts: 0, free: true },
        { id: "job_3", attempts: 1, free: false }
      ])
    })
  )
  it.effect("that was killed with its process five times is given up", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* none
      yield* put("org_a", "job_1")
      // Rows as five killed processes leave them: each had claimed the job, and the claim has expired.
      yield* sql`UPDATE jobs SET status = 'running', attempts = 5, claimed_by = 'prc_dead', claimed_until = now() - interval '1 second'`
      const stop = yield* start(() => Effect.succeed({ result: {} }))
      expect(yield* until(rowOf("job_1"), ({ status }) => status !== "running")).toMatchObject({
        status: "failed",
        error: "The work was cut off 5 times."
      })
      yield* stop
    })
  )
})
