/**
 * After the exchange: data derived from the rows is recomputed, a replay ends, and an erasure removes the person from
 * what no replay reaches.
 */
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Outbox } from "@dowser/log/outbox"
import { type ReplayContext, tombstoneOf } from "../replay-context.ts"
import { finishJob, readJob, type RebuildingJob, toPhase } from "../jobs.ts"
import { added, rangeOf, TABLE, tablesOf, takenOut } from "../receipt.ts"
import { forgetRun, type Run } from "../../shadow/runs.ts"

const finishReplay = Effect.fnUntraced(function* (
  run: Run,
  job: RebuildingJob & { readonly type: "event_replay" },
  receipt: Run["receipt"]
) {
  const outbox = yield* Outbox
  const summary = { target: job.config.target, ...rangeOf(run), events: receipt.events ?? 0 }
  yield* forgetRun(run.jobId)
  yield* finishJob(run.jobId, yield* Clock.currentTimeMillis, { result: { ...summary, tables: tablesOf(receipt) } })
  yield* outbox.put(run.organizationId, "event.replayed", { job_id: run.jobId, ...summary })
})

export const settle = Effect.fnUntraced(function* (context: ReplayContext, run: Run) {
  const sql = yield* SqlClient.SqlClient
  const job = yield* readJob(run.jobId)
  yield* context.withGroup(
    Effect.gen(function* () {
      let { receipt } = run
      for (const { rebuilding } of context.figures) {
        if (rebuilding?.settle !== undefined)
          receipt = added(receipt, TABLE, yield* rebuilding.settle(run.organizationId))
      }
      if (job.type === "event_replay") return yield* finishReplay(run, job, receipt)
      const { prints } = yield* tombstoneOf(run)
      for (const keeper of context.figures) {
        const { forget } = keeper.erasing
        if (forget !== undefined) receipt = takenOut(receipt, keeper, yield* forget(run.organizationId, prints))
      }
      // Rows and state are now the shadows', so nothing needs to be mirrored any more.
      yield* sql`DELETE FROM stream_replay_partitions WHERE job_id = ${run.jobId}`
      yield* toPhase(run, "settling", "cleaning", receipt)
    })
  )
})
