/**
 * Rows of the current run: which organization, how far, and where each partition is. One function per statement,
 * including those for the job's progress, which nothing else knows.
 *
 *   linking    of an erasure: the log is searched for what belongs to the person
 *   building   each partition builds its shadow; when that has caught up, its part of the state is exchanged (adopted)
 *              and from then on what it counts is also written to the shadow tables
 *   swapping   all have adopted: day by day, the organization's rows are exchanged for those of the shadows
 *   settling   what is derived from the rows is recomputed
 *   cleaning   of an erasure: the person's rows elsewhere and entries in the log are removed
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export type Phase = "linking" | "building" | "swapping" | "settling" | "cleaning"
export interface Run {
  readonly group: string
  readonly jobId: string
  readonly organizationId: string
  readonly phase: Phase
  /** Complete days, ms. */ readonly fromAt: number
  readonly beforeAt: number
  readonly swappedBefore: number
  readonly receipt: Readonly<Record<string, number>>
}
/** The receipt of an erasure begins with what belongs to the person. */
export const isErasure = ({ receipt }: Pick<Run, "receipt">): boolean => receipt.linked !== undefined

interface Row {
  readonly consumer_group: string
  readonly job_id: string
  readonly organization_id: string
  readonly phase: Phase
  readonly from_at: number
  readonly before_at: number
  readonly swapped_before: number
  readonly receipt: Readonly<Record<string, number>>
}
interface PartitionStanding {
  readonly partition: number
  readonly shadow: string
  readonly isAdopted: boolean
  readonly recordsDone: number
  readonly recordsTotal: number
  readonly entries: number
  readonly failure: string | undefined
}

const runOf = ({
  before_at,
  consumer_group,
  from_at,
  job_id,
  organization_id,
  phase,
  receipt,
  swapped_before
}: Row): Run => ({
  group: consumer_group,
  jobId: job_id,
  organizationId: organization_id,
  phase,
  fromAt: from_at,
  beforeAt: before_at,
  swappedBefore: swapped_before,
  receipt
})

export const readRuns = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows =
    yield* sql<Row>`SELECT consumer_group, job_id, organization_id, phase, from_at::float8 AS from_at, before_at::float8 AS before_at, swapped_before::float8 AS swapped_before, receipt FROM stream_replays`
  return rows.map(runOf)
})

export const readPartitions = Effect.fnUntraced(function* (jobId: string) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{
    partition: number
    shadow: string
    is_adopted: boolean
    records_done: number
    records_total: number
    entries: number
    failure: string | null
  }>`
    SELECT partition, shadow, is_adopted, records_done::float8 AS records_done, records_total::float8 AS records_total, entries::float8 AS entries, failure FROM stream_replay_partitions WHERE job_id = ${jobId} ORDER BY partition`
  return rows.map(
    ({ entries, failure, is_adopted, partition, records_done, records_total, shadow }): PartitionStanding => ({
      partition,
      shadow,
      isAdopted: is_adopted,
      recordsDone: records_done,
      recordsTotal: records_total,
      entries,
      failure: failure ?? undefined
    })
  )
})

/** The shadow under whose name a partition writes what it counts for a run's organization, if it has adopted one. */
export const readMirror = Effect.fnUntraced(function* (group: string, partition: number) {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ job_id: string; organization_id: string; shadow: string }>`
    SELECT r.job_id, r.organization_id, p.shadow FROM stream_replays r JOIN stream_replay_partitions p ON p.job_id = r.job_id
    WHERE r.consumer_group = ${group} AND p.partition = ${partition}::int4 AND p.is_adopted`
  return row === undefined ? undefined : { jobId: row.job_id, organizationId: row.organization_id, shadow: row.shadow }
})
export interface Mirror {
  readonly jobId: string
  readonly organizationId: string
  readonly shadow: string
}

/** Whether the run still needs what is counted. Call in a transaction that holds the partition's lock. */
export const isMirrored = Effect.fnUntraced(function* ({ jobId, shadow }: Mirror, partition: number) {
  const sql = yield* SqlClient.SqlClient
  return (
    (yield* sql`SELECT 1 FROM stream_replay_partitions WHERE job_id = ${jobId} AND partition = ${partition}::int4 AND shadow = ${shadow}`)
      .length > 0
  )
})

/** Returns false if the run no longer needs a shadow. */
export const beginShadow = Effect.fnUntraced(function* (
  { group, jobId }: Pick<Run, "group" | "jobId">,
  partition: number,
  shadow: string,
  recordsTotal: number
) {
  const sql = yield* SqlClient.SqlClient
  return (
    (yield* sql`INSERT INTO stream_replay_partitions (job_id, partition, shadow, records_total)
    SELECT job_id, ${partition}::int4, ${shadow}, ${String(recordsTotal)}::text::int8 FROM stream_replays WHERE consumer_group = ${group} AND job_id = ${jobId} AND phase = 'building'
    ON CONFLICT (job_id, partition) DO UPDATE SET shadow = EXCLUDED.shadow, records_total = EXCLUDED.records_total, records_done = 0, entries = 0, spills = 0, failure = NULL
    WHERE NOT stream_replay_partitions.is_adopted RETURNING partition`).length > 0
  )
})

export const storeShadowProgress = Effect.fnUntraced(function* (
  { jobId, shadow }: Pick<Mirror, "jobId" | "shadow">,
  partition: number,
  progress: { readonly recordsDone: number; readonly entries: number; readonly failure?: string }
) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`UPDATE stream_replay_partitions SET records_done = ${String(progress.recordsDone)}::text::int8, entries = ${String(progress.entries)}::text::int8, failure = ${progress.failure ?? null}
    WHERE job_id = ${jobId} AND partition = ${partition}::int4 AND shadow = ${shadow} AND NOT is_adopted`
})

/**
 * Adds to the shadow tables as the shadow's spill number `spill`, counted from 1: at most once, even if the answer is
 * lost. False if the run is over.
 */
export const spillShadow = <E, R>(
  { jobId, shadow }: Pick<Mirror, "jobId" | "shadow">,
  partition: number,
  spill: number,
  write: Effect.Effect<void, E, R>
) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    return yield* sql.withTransaction(
      Effect.gen(function* () {
        const [row] = yield* sql<{
          spills: number
        }>`SELECT spills::float8 AS spills FROM stream_replay_partitions WHERE job_id = ${jobId} AND partition = ${partition}::int4 AND shadow = ${shadow} FOR UPDATE`
        if (row === undefined) return false
        if (row.spills >= spill) return true
        yield* write
        yield* sql`UPDATE stream_replay_partitions SET spills = ${String(spill)}::text::int8 WHERE job_id = ${jobId} AND partition = ${partition}::int4`
        return true
      })
    )
  })

export const readGeneration = Effect.fnUntraced(function* (group: string, partition: number) {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{
    generation: number
  }>`SELECT generation::float8 AS generation FROM stream_generations WHERE consumer_group = ${group} AND partition = ${partition}::int4`
  return row?.generation ?? 0
})

/**
 * Writes the rest of the shadow and records that the partition's state is the shadow's from here on. Call in a
 * transaction that holds the partition's lock. Returns the new generation, the same if called again; undefined if the
 * run is over. Otherwise it cannot end before that transaction does.
 */
export const adoptShadow = <E, R>(
  { group, jobId }: Pick<Run, "group" | "jobId">,
  partition: number,
  shadow: string,
  entries: number,
  write: Effect.Effect<void, E, R>
) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const held =
      yield* sql`SELECT 1 FROM stream_replays WHERE consumer_group = ${group} AND job_id = ${jobId} AND phase = 'building' FOR SHARE`
    if (held.length === 0) return undefined
    const [row] = yield* sql<{
      is_adopted: boolean
    }>`SELECT is_adopted FROM stream_replay_partitions WHERE job_id = ${jobId} AND partition = ${partition}::int4 AND shadow = ${shadow} FOR UPDATE`
    if (row === undefined) return undefined
    if (row.is_adopted) return yield* readGeneration(group, partition)
    yield* write
    yield* sql`UPDATE stream_replay_partitions SET is_adopted = true, records_done = records_total, entries = ${String(entries)}::text::int8 WHERE job_id = ${jobId} AND partition = ${partition}::int4`
    const [raised] = yield* sql<{
      generation: number
    }>`INSERT INTO stream_generations (consumer_group, partition, generation) VALUES (${group}, ${partition}::int4, 1)
      ON CONFLICT (consumer_group, partition) DO UPDATE SET generation = stream_generations.generation + 1 RETURNING generation::float8 AS generation`
    return raised!.generation
  })

/**
 * Removes a run that has changed nothing yet, or that has not begun; false if a partition has taken over. Call with the
 * job's row locked.
 */
export const cancelRun = Effect.fnUntraced(function* (jobId: string) {
  const sql = yield* SqlClient.SqlClient
  const [run] = yield* sql<{ phase: Phase }>`SELECT phase FROM stream_replays WHERE job_id = ${jobId} FOR UPDATE`
  if (run === undefined) return true
  if (
    run.phase !== "building" ||
    (yield* sql`SELECT 1 FROM stream_replay_partitions WHERE job_id = ${jobId} AND is_adopted`).length > 0
  )
    return false
  yield* forgetRun(jobId)
  return true
})

/** Removes a run; from here on nobody mirrors or builds shadows for it. */
export const forgetRun = Effect.fnUntraced(function* (jobId: string) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`DELETE FROM stream_replay_partitions WHERE job_id = ${jobId}`
  yield* sql`DELETE FROM stream_replays WHERE job_id = ${jobId}`
})
