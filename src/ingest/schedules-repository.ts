/** Rows of repeated jobs. One function per statement. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { JobOptions, NewJob } from "./jobs-repository.ts"
import type { IngestLoad } from "./sources/source.ts"

/** The limit per organization. */
export const SCHEDULES_MAX = 20
export interface Schedule {
  readonly id: string
  readonly organization_id: string
  readonly name: string
  readonly collection: string
  readonly source: string
  readonly config: Readonly<Record<string, unknown>>
  readonly load: IngestLoad
  readonly options: JobOptions
  readonly cron: string
  readonly last_job_id: string
  readonly passes: number
  readonly state: Readonly<Record<string, unknown>>
  /** Its last job is running or waiting. */ readonly is_busy: boolean
  /** Its organization is paused. */ readonly is_paused: boolean
}

export const makeSchedulesRepository = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const time = (at: number) => sql`${String(at)}::text::int8`
  const json = (value: unknown) => sql`${JSON.stringify(value)}::text::jsonb`
  return {
    count: (organizationId: string) =>
      Effect.map(
        sql<{
          n: number
        }>`SELECT count(*)::int4 AS n FROM ingest_schedules WHERE organization_id = ${organizationId}`,
        ([row]) => row!.n
      ),
    /** The schedule has the id of its first job. */
    insert: ({ job, load, options, organizationId }: NewJob, cron: string, nextAt: number) =>
      sql`INSERT INTO ingest_schedules (id, organization_id, name, collection, source, config, load, options, cron, next_at, last_job_id, created_at)
        VALUES (${job.id}, ${organizationId}, ${job.name}, ${job.collection}, ${job.source}, ${json(job.config)}, ${load}, ${json(options)}, ${cron}, ${time(nextAt)}, ${job.id}, ${time(job.created_at)})`,
    /** A due schedule that no other process holds, locked until the transaction ends. */
    due: (now: number) =>
      Effect.map(
        sql<Schedule>`SELECT s.id, s.organization_id, s.name, s.collection, s.source, s.config, s.load, s.options, s.cron, s.last_job_id, s.passes, s.state,
          EXISTS (SELECT 1 FROM ingest_jobs j WHERE j.id = s.last_job_id AND j.finished_at IS NULL) AS is_busy,
          EXISTS (SELECT 1 FROM organizations o WHERE o.id = s.organization_id AND o.status = 'paused') AS is_paused
          FROM ingest_schedules s WHERE s.next_at <= ${time(now)} ORDER BY s.next_at LIMIT 1 FOR UPDATE OF s SKIP LOCKED`,
        ([row]) => row
      ),
    move: (id: string, lastJobId: string, nextAt: number) =>
      sql`UPDATE ingest_schedules SET last_job_id = ${lastJobId}, next_at = ${time(nextAt)} WHERE id = ${id}`,
    /** Stores the source's state for the next job after a complete pass. */
    passed: (id: string, passes: number, state: Readonly<Record<string, unknown>>) =>
      sql`UPDATE ingest_schedules SET passes = greatest(passes, ${String(passes)}::text::int4), state = ${json(state)} WHERE id = ${id}`,
    remove: (id: string) => sql`DELETE FROM ingest_schedules WHERE id = ${id}`,
    /** Ends the schedule whose latest job this is. */
    end: (organizationId: string, jobId: string) =>
      Effect.map(
        sql`DELETE FROM ingest_schedules WHERE organization_id = ${organizationId} AND last_job_id = ${jobId} RETURNING id`,
        (rows) => rows.length > 0
      )
  }
})
