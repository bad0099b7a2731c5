/** Waits until pushes that a pull has stored are applied by the process with the engine. */
import { Clock, Effect } from "effect"
import { failed, prefixOf } from "./pulled.ts"
import { makePullPages } from "./pull-pages.ts"

const LOOK_MS = 250
const APPLIED_WITHIN_MS = 30 * 60_000

export const makeApplied = Effect.gen(function* () {
  const repository = yield* makePullPages
  /** Waits until at most this many pushes of the pull are still to be applied. */
  return Effect.fnUntraced(function* (connectorId: string, jobId: string, waitingMax: number) {
    const until = (yield* Clock.currentTimeMillis) + APPLIED_WITHIN_MS
    for (;;) {
      const totals = yield* Effect.orDie(repository.totals(connectorId, prefixOf(jobId)))
      if (totals.waiting <= waitingMax) return totals
      if ((yield* Clock.currentTimeMillis) > until)
        return yield* failed(
          "What was fetched is stored, but was not applied within 30 minutes; it will be applied later."
        )
      yield* Effect.sleep(LOOK_MS)
    }
  })
})
