/** Scheduled runs by a set clock, with two processes that check for them at the same time. */
import { describe, expect, it } from "@effect/vitest"
import { Clock, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { Job } from "../../../src/jobs/schema.ts"
import { makeLook } from "../../../src/quality/scheduler.ts"
import { nextRunAt } from "../../../src/job-rows/cron.ts"
import { makeSuitesRepository, type StoredSuite } from "../../../src/quality/suites-repository.ts"
import { makeSetClock } from "../../support/clock.ts"
import { layerTestSql } from "../../support/postgres.ts"

const START = Date.UTC(2026, 10, 23, 16, 30)
const job = { id: "job_1" } as Job

const suiteOf = (organization_id: string, id: string, schedule_cron: string): StoredSuite => ({
  id,
  organization_id,
  name: id,
  collection: "goods",
  params: {},
  tolerance: 0.02,
  schedule_cron,
  judgments_count: 0,
  created_at: START,
  updated_at: START
})

describe("schedules of quality suites", () => {
  it.live("are started once at their time, by whichever process looks first, and missed ones once", () =>
    Effect.gen(function* () {
      const { clock, forward } = yield* makeSetClock(START)
      const sql = yield* SqlClient.SqlClient
      const repository = yield* makeSuitesRepository
      for (const id of ["org_a", "org_b"])
        yield* sql`INSERT INTO organizations (id, name, plan, created_at) VALUES (${id}, ${id}, 'free', 0)`
      yield* repository.put(suiteOf("org_a", "qst_five", "*/5 * * * *"), nextRunAt("*/5 * * * *", START))
      yield* repository.put(suiteOf("org_b", "qst_hour", "0 * * * *"), nextRunAt("0 * * * *", START))
      const started: Array<string> = []
      const look = yield* makeLook(({ id }) =>
        Effect.as(
          Effect.andThen(
            Effect.sleep(20),
            Effect.sync(() => started.push(id))
          ),
          job
        )
      )
      const looks = Effect.provideService(Effect.all([look, look, look], { concurrency: 3 }), Clock.Clock, clock)
      yield* looks
      expect(started).toEqual([])
      forward(5 * 60_000)
      yield* looks
      yield* looks
      expect(started).toEqual(["qst_five"])
      forward(3 * 3_600_000)
      yield* looks
      yield* looks
      expect(started.slice(1).sort()).toEqual(["qst_five", "qst_hour"])
    }).pipe(Effect.provide(Layer.fresh(layerTestSql)))
  )
})
