/** All partitions have taken over: day by day, every processor's rows are exchanged for those of the shadows. */
import { Clock, Effect } from "effect"
import { DAY_MS } from "../../figures/grain.ts"
import type { ReplayContext } from "../replay-context.ts"
import { storeProgress, storeSwapped, toPhase } from "../jobs.ts"
import { added, TABLE } from "../receipt.ts"
import { readPartitions, type Run } from "../../shadow/runs.ts"
import { BUILT } from "./building.ts"

const SWAPPED = 0.95

/** The first day on which some processor has data; the run's end if none has. */
const nextDay = Effect.fnUntraced(function* (context: ReplayContext, run: Run, shadows: ReadonlyArray<string>) {
  let next = run.beforeAt
  for (const { rebuilding } of context.figures) {
    const day = yield* (
      rebuilding?.firstDay?.(run.organizationId, shadows, run.swappedBefore, run.beforeAt) ?? Effect.succeed(undefined)
    )
    if (day !== undefined) next = Math.min(next, day)
  }
  return next
})

export const swap = Effect.fnUntraced(function* (context: ReplayContext, run: Run) {
  const shadows = (yield* readPartitions(run.jobId)).map(({ shadow }) => shadow)
  const day = yield* nextDay(context, run, shadows)
  if (day >= run.beforeAt) return yield* context.inCharge(toPhase(run, "swapping", "settling"))
  yield* context.withGroup(
    Effect.gen(function* () {
      let { receipt } = run
      for (const { rebuilding } of context.figures) {
        if (rebuilding?.swapDay !== undefined)
          receipt = added(receipt, TABLE, yield* rebuilding.swapDay(run.organizationId, shadows, day))
      }
      yield* storeSwapped(run, day + DAY_MS, receipt)
    })
  )
  yield* storeProgress(
    run.jobId,
    Math.round(100 * (BUILT + ((SWAPPED - BUILT) * (day + DAY_MS - run.fromAt)) / (run.beforeAt - run.fromAt))) / 100,
    yield* Clock.currentTimeMillis
  )
})
