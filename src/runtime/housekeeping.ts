/**
 * Cleans up tables that would only grow: unused rows are removed once an hour, in small statements with pauses, so that
 * flushes and requests hardly notice. A failing sweep is logged and retried with the next one.
 */
import { Effect, Layer } from "effect"
import type { SqlClient } from "effect/sql"
import { expireCounters } from "../ports/counter/leased-sql.ts"
import { counted } from "../metrics/background.ts"
import type { Expiry } from "../room.ts"
import { rooms } from "../rooms.ts"

/** Rows per statement, some milliseconds of work. */
const ROWS_MAX = 2_000
const PAUSE_MS = 50
const EVERY_MS = 3_600_000
/** The first sweep is delayed, because a start has more urgent work. */
const FIRST_AFTER_MS = 5 * 60_000

interface HousekeepingOptions {
  readonly rowsMax?: number
  readonly firstAfter_ms?: number
}

/** Removals that the rooms declare, and those of counters, which belong to no room. */
const expiries: ReadonlyArray<Expiry> = [
  ...rooms.all.flatMap(({ expiries = [] }) => expiries),
  (rowsMax) => expireCounters(rowsMax)
]

/** One sweep: repeats each table's statement until nothing more is found; returns the number of rows removed. */
export const sweep = Effect.fnUntraced(function* (rowsMax: number) {
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
export const layerHousekeeping = ({
  firstAfter_ms = FIRST_AFTER_MS,
  rowsMax = ROWS_MAX
}: HousekeepingOptions = {}): Layer.Layer<never, never, SqlClient.SqlClient> =>
  Layer.effectDiscard(
    Effect.forkScoped(
      Effect.andThen(
        Effect.sleep(firstAfter_ms),
        Effect.forever(
          Effect.andThen(
            Effect.catch(counted("old rows")(sweep(rowsMax)), (error) =>
              Effect.logError("Old rows could not be removed; tried again in an hour", error)
            ),
            Effect.sleep(EVERY_MS)
          )
        )
      )
    )
  )
