/**
 * Runs suites that are due: every process with an engine checks every fifteen seconds, and the first that locks the row
 * starts the run. Runs missed during downtime are made up for once.
 */
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Conflict } from "../http/errors.ts"
import type { Job } from "../jobs/schema.ts"
import { nextRunAt } from "../job-rows/cron.ts"
import { lookingFor } from "../job-rows/looking.ts"
import { makeSuitesRepository, type StoredSuite } from "./suites-repository.ts"

const EVERY_MS = 15_000
/** Per check; the others follow with the next check. */
const DUE_MAX = 50

/** One check; returns how many runs were started. Tests can call it at any time. */
export const makeLook = Effect.fnUntraced(function* (
  start: (suite: StoredSuite, other: {}) => Effect.Effect<Job, Conflict>
) {
  const sql = yield* SqlClient.SqlClient
  const repository = yield* makeSuitesRepository
  return sql.withTransaction(
    Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      let started = 0
      for (const suite of yield* repository.due(now, DUE_MAX)) {
        yield* repository.schedule(suite.organization_id, suite.id, nextRunAt(suite.schedule_cron, now))
        // A suite without relevant judgments, or behind too many others, waits for its next time.
        started += yield* Effect.match(start(suite, {}), { onFailure: () => 0, onSuccess: () => 1 })
      }
      return started
    })
  )
})

export const makeScheduler = Effect.fnUntraced(function* (
  start: (suite: StoredSuite, other: {}) => Effect.Effect<Job, Conflict>,
  wake: Effect.Effect<void>
) {
  const look = yield* makeLook(start)
  yield* lookingFor(
    "quality suites",
    EVERY_MS,
    Effect.flatMap(look, (started) => (started > 0 ? wake : Effect.void))
  )
})
