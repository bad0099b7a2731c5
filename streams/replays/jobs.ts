/** Rows of the jobs that are processed here, one function per statement. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { ReplayTarget } from "@dowser/log/event-schema"
import type { Phase, Run } from "../shadow/runs.ts"

interface ReplayJob {
  readonly type: "event_replay"
  readonly config: { readonly target: ReplayTarget; readonly from_at: number; readonly before_at: number }
}
interface ErasureJob {
  readonly type: "subject_erasure"
  readonly config: { readonly user_id: string }
}
export type RebuildingJob = (ReplayJob | ErasureJob) & { readonly id: string; readonly organizationId: string }

const jobOf = ({ organization_id, ...job }: { readonly organization_id: string }) =>
  ({ ...job, organizationId: organization_id }) as RebuildingJob
const COLUMNS = "id, organization_id, type, config"

/** The oldest unfinished job. */
export const nextJob = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql.unsafe<{ organization_id: string }>(
    `SELECT ${COLUMNS} FROM jobs WHERE type IN ('event_replay', 'subject_erasure') AND finished_at IS NULL ORDER BY id LIMIT 1`
  )
  return rows[0] === undefined ? undefined : jobOf(rows[0])
})
export const readJob = Effect.fnUntraced(function* (id: string) {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql.unsafe<{ organization_id: string }>(`SELECT ${COLUMNS} FROM jobs WHERE id = $1`, [id])
  return jobOf(row!)
})

/** Returns false if the job was cancelled meanwhile, or a run is in progress. */
export const startRun = Effect.fnUntraced(function* (
  { beforeAt, fromAt, group, jobId, organizationId, phase }: Omit<Run, "swappedBefore" | "receipt">,
  now: number
) {
  const sql = yield* SqlClient.SqlClient
  const started =
    yield* sql`UPDATE jobs SET status = 'running', updated_at = ${String(now)}::text::int8 WHERE id = ${jobId} AND finished_at IS NULL RETURNING id`
  if (started.length === 0) return false
  return (
    (yield* sql`INSERT INTO stream_replays (consumer_group, job_id, organization_id, phase, from_at, before_at, swapped_before)
    VALUES (${group}, ${jobId}, ${organizationId}, ${phase}, ${String(fromAt)}::text::int8, ${String(beforeAt)}::text::int8, ${String(fromAt)}::text::int8) ON CONFLICT DO NOTHING RETURNING job_id`)
      .length > 0
  )
})

export const storeProgress = Effect.fnUntraced(function* (jobId: string, progress: number, now: number) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`UPDATE jobs SET progress = ${String(progress)}::text::float8, updated_at = ${String(now)}::text::int8 WHERE id = ${jobId} AND progress <> ${String(progress)}::text::float8 AND finished_at IS NULL`
})

/** Moves the run to its next phase and adds to the receipt; false if the run is over, or no longer in `from`. */
export const toPhase = Effect.fnUntraced(function* (
  { jobId }: Pick<Run, "jobId">,
  from: Phase,
  to: Phase,
  receipt: Readonly<Record<string, number>> = {}
) {
  const sql = yield* SqlClient.SqlClient
  return (
    (yield* sql`UPDATE stream_replays SET phase = ${to}, receipt = receipt || ${JSON.stringify(receipt)}::text::jsonb WHERE job_id = ${jobId} AND phase = ${from} RETURNING job_id`)
      .length > 0
  )
})

/** Moves from building to swapping, for days from `fromAt` on. */
export const toSwapping = Effect.fnUntraced(function* (
  run: Pick<Run, "jobId">,
  fromAt: number,
  receipt: Readonly<Record<string, number>>
) {
  const sql = yield* SqlClient.SqlClient
  if (!(yield* toPhase(run, "building", "swapping", receipt))) return
  yield* sql`UPDATE stream_replays SET from_at = least(before_at, ${String(fromAt)}::text::int8), swapped_before = least(before_at, ${String(fromAt)}::text::int8) WHERE job_id = ${run.jobId}`
})

export const storeSwapped = Effect.fnUntraced(function* (
  { jobId }: Pick<Run, "jobId">,
  swappedBefore: number,
  receipt: Readonly<Record<string, number>>
) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`UPDATE stream_replays SET swapped_before = ${String(swappedBefore)}::text::int8, receipt = ${JSON.stringify(receipt)}::text::jsonb WHERE job_id = ${jobId}`
})
export const storeReceipt = Effect.fnUntraced(function* (
  { jobId }: Pick<Run, "jobId">,
  receipt: Readonly<Record<string, number>>
) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`UPDATE stream_replays SET receipt = ${JSON.stringify(receipt)}::text::jsonb WHERE job_id = ${jobId}`
})

/** Ends a job; a person's id is removed with the end of the erasure. */
export const finishJob = Effect.fnUntraced(function* (
  jobId: string,
  now: number,
  end: { readonly result: unknown } | { readonly error: string }
) {
  const sql = yield* SqlClient.SqlClient
  yield* "result" in end
    ? sql`UPDATE jobs SET status = 'ready', progress = 1, result = ${JSON.stringify(end.result)}::text::jsonb, config = config - 'user_id', updated_at = ${String(now)}::text::int8, finished_at = ${String(now)}::text::int8 WHERE id = ${jobId} AND finished_at IS NULL`
    : sql`UPDATE jobs SET status = 'failed', error = ${end.error}, config = config - 'user_id', updated_at = ${String(now)}::text::int8, finished_at = ${String(now)}::text::int8 WHERE id = ${jobId} AND finished_at IS NULL`
})
