/** Waits for what a pull has stored; the process that has the engine applies its pushes. */
import { Clock, Effect } from "effect"
import { failed, prefixOf } from "./pulled.ts"
import { makePullPages } from "./pull-pages.ts"

const LOOK_MS = 250
const APPLIED_WITHIN_MS = 30 * 60_000

export const makeApplied = Effect.gen(function* () {
  const repository = yield* makePullPages
  /** Waits until at most this many pushes of the pull are not applied. */
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
