/** Each partition builds its shadow and takes over; the run waits for all of them, and ends if one cannot. */
import { Clock, Effect } from "effect"
import type { ReplayContext } from "../replay-context.ts"
import { readExtent } from "../extent.ts"
import { finishJob, storeProgress, toSwapping } from "../jobs.ts"
import { forgetRun, readPartitions, type Run } from "../../shadow/runs.ts"

/** Share of the progress for reading the log; exchanging the days takes the rest. */
export const BUILT = 0.8
const LOOK_EVERY_MS = 250

const fail = (context: ReplayContext, run: Run, error: string) =>
  context.withGroup(
    Effect.gen(function* () {
      yield* forgetRun(run.jobId)
      yield* finishJob(run.jobId, yield* Clock.currentTimeMillis, { error })
    })
  )

export const build = Effect.fnUntraced(function* (context: ReplayContext, run: Run) {
  const { rebuilt, visitorPartitions } = context.options
  const partitions = yield* readPartitions(run.jobId)
  const failure = partitions.find((partition) => partition.failure !== undefined)?.failure
  if (failure !== undefined) return yield* fail(context, run, failure)
  const isBuilt = partitions.length === visitorPartitions && partitions.every(({ isAdopted }) => isAdopted)
  const done = partitions.reduce(
    (sum, { isAdopted, recordsDone, recordsTotal }) => sum + (isAdopted ? recordsTotal : recordsDone),
    0
  )
  const total = partitions.reduce((sum, { recordsTotal }) => sum + recordsTotal, 0)
  const share = total === 0 ? 0 : (Math.min(1, done / total) * partitions.length) / visitorPartitions
  yield* storeProgress(run.jobId, Math.round(100 * BUILT * share) / 100, yield* Clock.currentTimeMillis)
  if (!isBuilt) return yield* Effect.sleep(LOOK_EVERY_MS)
  // Some shadows may have missed records that retention removed while they were built.
  const extent = yield* readExtent(rebuilt.inputs, visitorPartitions, yield* Clock.currentTimeMillis)
  yield* context.inCharge(
    toSwapping(run, extent.isCut ? Math.max(run.fromAt, extent.fromAt) : run.fromAt, {
      events: partitions.reduce((sum, { entries }) => sum + entries, 0)
    })
  )
})
