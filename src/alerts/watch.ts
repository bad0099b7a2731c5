/**
 * Evaluates alerts every thirty seconds, once over all processes: a process claims an alert in its row. The result is
 * written together with the outbound event, so that a crossing is announced once.
 */
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { counted } from "../metrics/background.ts"
import { Outbox } from "@dowser/log/outbox"
import { makeAlertsRepository, type StoredAlert } from "./alerts-repository.ts"
import { judged } from "./decision.ts"
import { type AskedFigure, makeFigures } from "./figures.ts"

/** How often each alert is evaluated. */
const EVERY_MS = 30_000
/** How soon a due alert is found. */
const LOOK_MS = 5_000
/** Limit of alerts claimed together; if the process dies, they are evaluated in the next round. */
const TAKEN = 100
/** Alerts evaluated concurrently: each mostly waits for Postgres, whose connection pool is shared. */
const BESIDE = 4

/** Evaluates all due alerts; returns how many fired. */
export const makeLook = Effect.fnUntraced(function* (
  figureOf: (asked: AskedFigure, now: number) => Effect.Effect<number | undefined>
) {
  const sql = yield* SqlClient.SqlClient
  const outbox = yield* Outbox
  const repository = yield* makeAlertsRepository

  const evaluated = (seen: StoredAlert, value: number | undefined, now: number) =>
    sql.withTransaction(
      Effect.gen(function* () {
        const alert = yield* repository.lock(seen.organization_id, seen.id)
        // The alert changed in the meantime, so the figure belongs to an outdated condition.
        if (alert === undefined || !alert.enabled || alert.updated_at !== seen.updated_at) return 0
        const { hasFired, state } = judged(alert, alert.state, value)
        yield* repository.storeResult(alert.organization_id, alert.id, {
          state,
          last_value: value ?? null,
          last_fired_at: hasFired ? now : alert.last_fired_at
        })
        if (hasFired)
          yield* outbox.put(alert.organization_id, "alert.fired", {
            alert_id: alert.id,
            metric: alert.metric,
            value,
            threshold: alert.threshold
          })
        return hasFired ? 1 : 0
      })
    )
  return Effect.gen(function* () {
    let fired = 0
    for (;;) {
      const now = yield* Clock.currentTimeMillis
      const due = yield* repository.due(now - EVERY_MS, now, TAKEN)
      const counts = yield* Effect.forEach(
        due,
        (alert) => Effect.flatMap(figureOf(alert, now), (value) => evaluated(alert, value, now)),
        { concurrency: BESIDE }
      )
      for (const count of counts) fired += count
      if (due.length < TAKEN) return fired
    }
  })
})

/** Evaluates while the scope is open. */
export const watch = Effect.gen(function* () {
  const look = counted("alerts")(yield* makeLook(yield* makeFigures))
  yield* Effect.forkScoped(
    Effect.forever(
      Effect.andThen(
        Effect.sleep(LOOK_MS),
        Effect.catchCause(look, (cause) =>
          Effect.logError("Alerts could not be looked at; tried again in a moment", cause)
        )
      )
    )
  )
})
