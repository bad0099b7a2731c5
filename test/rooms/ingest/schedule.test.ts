/**
 * Schedules of ingest jobs by a set clock: one of two processes starts each, none while another one runs, with the
 * state of the previous pass.
 */
import { expect, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { RowReaders } from "../../../src/identity/row-readers.ts"
import { makeSchedules, stateForNext } from "../../../src/ingest/schedule.ts"
import { makeSchedulesRepository } from "../../../src/ingest/schedules-repository.ts"
import { noStats } from "../../../src/ingest/schema.ts"
import { atTime } from "../../support/clock.ts"
import { layerProcesses, noJobs, putOrganization } from "../../support/ingest-worker.ts"

const at = (time: string) => Date.parse(`2026-11-25T${time}Z`)
interface Row {
  readonly id: string
  readonly created_at: number
  readonly pass: number
  readonly state: unknown
  readonly config: unknown
  readonly schedule_cron: string
}
const jobs = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) =>
    sql<Row>`SELECT id, created_at::float8 AS created_at, pass, state, config, schedule_cron FROM ingest_jobs ORDER BY id`
)
const finish = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql`UPDATE ingest_jobs SET finished_at = 1, status = 'ready'`
)
const schedule = Effect.fnUntraced(function* (organizationId: string, id: string, cron: string, next: number) {
  yield* putOrganization(organizationId)
  const { insert } = yield* makeSchedulesRepository
  yield* insert(
    {
      organizationId,
      load: "import",
      options: {},
      job: {
        id,
        type: "ingest",
        name: "Nightly",
        collection: "goods",
        source: "yml",
        status: "queued",
        progress: 0,
        config: { url: "https://a.example/feed" },
        stats: noStats,
        created_at: 0,
        updated_at: 0
      }
    },
    cron,
    next
  )
})

layer(Layer.provideMerge(Layer.succeed(RowReaders, new Map()), layerProcesses), { excludeTestServices: true })(
  "a schedule",
  (it) => {
    it.effect("queues one job at its minute, whichever process looks, and the next one at the next time", () =>
      Effect.gen(function* () {
        yield* noJobs
        yield* schedule("org_a", "job_a", "30 4 * * *", at("04:30:00"))
        const here = yield* makeSchedules,
          there = yield* makeSchedules
        expect(yield* atTime(at("04:29:59"))(here.next)).toBe(false)
        const found = yield* atTime(at("04:30:02"))(Effect.all([here.next, there.next], { concurrency: 2 }))
        expect(found.filter((is) => is).length).toBe(1)
        expect(yield* atTime(at("04:30:03"))(here.next)).toBe(false)
        const [job] = yield* jobs
        expect(job).toMatchObject({
          pass: 1,
          config: { url: "https://a.example/feed" },
          schedule_cron: "30 4 * * *",
          state: {}
        })
        yield* finish
        // The state that the pass leaves for the next one.
        yield* here.passed("job_a", 1, stateForNext({ etag: '"x"', n: 5, next_feed: 1 }))
        expect(yield* atTime(at("23:59:00"))(here.next)).toBe(false)
        expect(yield* atTime(at("04:30:00") + 86_400_000)(there.next)).toBe(true)
        expect((yield* jobs)[1]).toMatchObject({ pass: 2, state: { etag: '"x"', next_feed: 1 } })
      })
    )
    it.effect("skips a time at which its job is still running, and ends with its latest job", () =>
      Effect.gen(function* () {
        yield* noJobs
        const sql = yield* SqlClient.SqlClient
        yield* sql`DELETE FROM ingest_schedules`
        yield* schedule("org_a", "job_b", "0 * * * *", at("05:00:00"))
        const { end, next } = yield* makeSchedules
        expect(yield* atTime(at("05:00:01"))(next)).toBe(true)
        expect(yield* atTime(at("06:00:01"))(next)).toBe(true)
        expect((yield* jobs).length).toBe(1)
        yield* finish
        expect(yield* atTime(at("06:30:00"))(next)).toBe(false)
        // A time at which its organization was paused is not made up for either.
        yield* sql`UPDATE organizations SET status = 'paused', paused_reason = 'manual' WHERE id = 'org_a'`
        expect(yield* atTime(at("06:59:00") + 60_000)(next)).toBe(true)
        expect((yield* jobs).length).toBe(1)
        yield* sql`UPDATE organizations SET status = 'active', paused_reason = NULL WHERE id = 'org_a'`
        expect(yield* atTime(at("07:30:00"))(next)).toBe(false)
        expect(yield* atTime(at("08:00:00"))(next)).toBe(true)
        const all = yield* jobs
        expect(all.length).toBe(2)
        // Neither an earlier job nor another organization's job can end it.
        expect(yield* end("org_a", all[0]!.id)).toBe(false)
        expect(yield* end("org_b", all[1]!.id)).toBe(false)
        expect(yield* end("org_a", all[1]!.id)).toBe(true)
        yield* finish
        expect(yield* atTime(at("09:00:00"))(next)).toBe(false)
      })
    )
  }
)
