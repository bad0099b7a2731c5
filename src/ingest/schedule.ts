/**
 * Repeated jobs: at each due minute one process queues the next job, unless the previous one is still running. What a
 * pass stores (a feed's ETag) is passed on.
 */
import { Identifiers } from "@dowser/log/identifiers"
import { Clock, Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { makeAuditRecorder } from "../audit/record.ts"
import { nextRunAt } from "../job-rows/cron.ts"
import { lookingFor } from "../job-rows/looking.ts"
import { makeJobsRepository, type NewJob } from "./jobs-repository.ts"
import { makeSchedulesRepository, type Schedule } from "./schedules-repository.ts"
import { type IngestJob, noStats, UNFINISHED_MAX } from "./schema.ts"

/** A job is queued at most this late. */
const LOOK_EVERY_MS = 5_000
/** State that the next pass reuses. All other state belongs to the position within one pass. */
const KEPT_STATE = ["etag", "last_modified", "fetched_at"]
export const stateForNext = (state: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(state).filter(([name]) => KEPT_STATE.includes(name) || name.startsWith("next_")))

const jobOf = (schedule: Schedule, id: string, now: number): IngestJob => ({
  id,
  type: "ingest",
  name: schedule.name,
  collection: schedule.collection,
  source: schedule.source,
  status: "queued",
  progress: 0,
  config: schedule.config,
  stats: { ...noStats, passes: schedule.passes },
  schedule_cron: schedule.cron,
  created_at: now,
  updated_at: now
})

export const makeSchedules = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const identifiers = yield* Identifiers
  const jobs = yield* makeJobsRepository
  const schedules = yield* makeSchedulesRepository
  const audit = yield* makeAuditRecorder

  const queue = Effect.fnUntraced(function* (schedule: Schedule, now: number) {
    const { cron, id, last_job_id, load, options, organization_id, passes, state } = schedule
    const nextAt = nextRunAt(cron, now)
    if (nextAt === undefined) return void (yield* schedules.remove(id))
    yield* jobs.lock(organization_id)
    // If an organization is paused or has no room for another job, its schedule waits for the next time.
    const isLeft =
      schedule.is_busy || schedule.is_paused || (yield* jobs.countUnfinished(organization_id)) >= UNFINISHED_MAX
    if (isLeft) return void (yield* schedules.move(id, last_job_id, nextAt))
    const job = jobOf(schedule, yield* identifiers.make("job"), now)
    const made: NewJob = {
      organizationId: organization_id,
      job,
      load,
      options,
      scheduleId: id,
      pass: passes + 1,
      state
    }
    yield* jobs.insert(made)
    yield* schedules.move(id, job.id, nextAt)
    yield* audit.noted({
      organizationId: organization_id,
      kind: "job",
      id: job.id,
      action: "started",
      after: { type: job.type, source: job.source, collection: job.collection, schedule_cron: cron }
    })
  })
  /** Queues one due job; false if none was due. */
  const next: Effect.Effect<boolean, SqlError.SqlError> = sql.withTransaction(
    Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const schedule = yield* schedules.due(now)
      if (schedule === undefined) return false
      yield* queue(schedule, now)
      return true
    })
  )
  return { next, passed: schedules.passed, end: schedules.end }
})

/** Runs while the scope is open, and calls `wake` after a job was queued. */
export const runSchedules = (next: Effect.Effect<boolean, SqlError.SqlError>, wake: Effect.Effect<void>) => {
  const round = Effect.gen(function* () {
    let found = false
    while (yield* next) found = true
    if (found) yield* wake
  })
  return lookingFor("ingest schedules", LOOK_EVERY_MS, round)
}
