/**
 * Tables that would only grow: what nothing uses any more is removed once an hour, in small statements with pauses, so
 * that flushes and requests hardly notice. A sweep that fails is told and tried again with the next one.
 */
import { Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { expireAudit } from "../audit/audit-repository.ts"
import { expireInstants } from "../analytics/instants-retention.ts"
import { expireSessions } from "../console/members-repository.ts"
import { expireRejections } from "../events/failed-repository.ts"
import { expireJobs } from "../jobs/jobs-retention.ts"
import { expireOutbox } from "../outbox/outbox-retention.ts"
import { expireRuleEvents } from "../analytics-rules/events-retention.ts"
import { expireReservations } from "../metering/wallet.ts"
import { expireCounters } from "../ports/counter-leased-sql.ts"
import { expireQueries } from "../suggestions/queries-retention.ts"
import { expireDeliveries } from "../webhooks/deliveries-retention.ts"

/** Rows of one statement, some milliseconds of work. */
const ROWS_MAX = 2_000
const PAUSE_MS = 50
const EVERY_MS = 3_600_000
/** A start has other things to do first. */
const FIRST_AFTER_MS = 5 * 60_000

export interface HousekeepingOptions {
  readonly rowsMax?: number
  readonly firstAfter_ms?: number
}

const expiries: ReadonlyArray<(rowsMax: number) => Effect.Effect<number, SqlError.SqlError, SqlClient.SqlClient>> = [
  expireInstants, expireOutbox, expireDeliveries, (rowsMax) => expireQueries(rowsMax), (rowsMax) => expireRuleEvents(rowsMax), expireRejections, (rowsMax) => expireAudit(rowsMax), expireSessions,
  (rowsMax) => expireCounters(rowsMax), (rowsMax) => expireReservations(rowsMax), (rowsMax) => expireJobs(rowsMax)
]

/** One sweep: every table until a statement finds nothing more; answers the rows removed. */
export const sweep = Effect.fnUntraced(function*(rowsMax: number) {
  let removed = 0
  for (const expire of expiries) {
    for (let found = yield* expire(rowsMax); found > 0; found = yield* expire(rowsMax)) {
      removed += found
      yield* Effect.sleep(PAUSE_MS)
    }
  }
  return removed
})

/** Sweeps as long as the layer lives. */
export const layerHousekeeping = ({ firstAfter_ms = FIRST_AFTER_MS, rowsMax = ROWS_MAX }: HousekeepingOptions = {}): Layer.Layer<never, never, SqlClient.SqlClient> =>
  Layer.effectDiscard(Effect.forkScoped(Effect.andThen(
    Effect.sleep(firstAfter_ms),
    Effect.forever(Effect.andThen(
      Effect.catch(sweep(rowsMax), (error) => Effect.logError("Old rows could not be removed; tried again in an hour", error)),
      Effect.sleep(EVERY_MS)
    ))
  )))
