/**
 * Pulls connectors that are due: every process with an engine polls every fifteen seconds, and the first one to lock
 * the row starts the pull. Runs missed during downtime are made up for once.
 */
import { Clock, Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { nextRunAt } from "../../job-rows/cron.ts"
import { lookingFor } from "../../job-rows/looking.ts"
import { Organizations } from "../../organizations/organizations.ts"
import type { StoredConnector } from "../connectors-repository.ts"
import { Connectors } from "../connectors.ts"
import { makePullsRepository } from "./pulls-repository.ts"

const EVERY_MS = 15_000
/** Limit per poll; the next poll takes the others. */
const DUE_MAX = 50

/** One poll; returns how many pulls were started. Tests call it at any time. */
export const makeLook = Effect.fnUntraced(function* (
  start: (connector: StoredConnector) => Effect.Effect<boolean, SqlError.SqlError>
) {
  const sql = yield* SqlClient.SqlClient
  const connectors = yield* Connectors
  const organizations = yield* Organizations
  const repository = yield* makePullsRepository
  return sql.withTransaction(
    Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      let started = 0
      for (const id of yield* repository.due(now, DUE_MAX)) {
        const connector = connectors.byId(id)
        yield* repository.runNext(id, nextRunAt(connector?.schedule_cron, now))
        const isPaused = organizations.find(connector?.organization_id ?? "")?.status === "paused"
        // If a connector's pull is not finished, the connector waits for its next time.
        if (connector?.enabled === true && !isPaused && (yield* start(connector))) started++
      }
      return started
    })
  )
})

export const makeScheduler = Effect.fnUntraced(function* (
  start: (connector: StoredConnector) => Effect.Effect<boolean, SqlError.SqlError>,
  wake: Effect.Effect<void>
) {
  const look = yield* makeLook(start)
  yield* lookingFor(
    "connector pulls",
    EVERY_MS,
    Effect.flatMap(look, (started) => (started > 0 ? wake : Effect.void))
  )
})
