/** Rows of ingest jobs. One function per statement. */
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { maskSecrets } from "./job-secrets.ts"
import { type IngestJob, JobStats } from "./schema.ts"
import type { IngestLoad } from "./sources/source.ts"

interface JobRow {
  readonly id: string
  readonly organization_id: string
  readonly name: string
  readonly collection: string
  readonly source: string
  readonly status: IngestJob["status"]
  readonly config: Record<string, unknown>
  readonly stats: unknown
  readonly progress: number
  readonly schedule_cron: string | null
  readonly error: string | null
  readonly created_at: number
  readonly updated_at: number
  readonly finished_at: number | null
}
/** Options of a job for the runner, besides the source's config. */
export interface JobOptions {
  /** Deletes missing documents, however many they are. */ readonly confirm_deletes?: boolean
}
export interface NewJob {
  readonly organizationId: string
  readonly job: IngestJob
  readonly load: IngestLoad
  readonly options: JobOptions
  /** Set if it is a job of a schedule. */ readonly scheduleId?: string | undefined
  readonly pass?: number | undefined
  /** What the source stored in the previous pass. */ readonly state?: Readonly<Record<string, unknown>> | undefined
}

const decodeStats = Schema.decodeUnknownSync(JobStats)
const jobOf = (row: JobRow): IngestJob => ({
  id: row.id,
  type: "ingest",
  name: row.name,
  collection: row.collection,
  source: row.source,
  status: row.status,
  progress: row.status === "ready" ? 1 : row.progress,
  config: maskSecrets(row.config),
  stats: decodeStats(row.stats),
  ...(row.schedule_cron === null ? {} : { schedule_cron: row.schedule_cron }),
  ...(row.error === null ? {} : { error: row.error }),
  created_at: row.created_at,
  updated_at: row.updated_at,
  ...(row.finished_at === null ? {} : { finished_at: row.finished_at })
})

export const makeJobsRepository = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const columns = sql.literal(
    "id, organization_id, name, collection, source, status, config, stats, progress, schedule_cron, error, created_at::float8 AS created_at, updated_at::float8 AS updated_at, finished_at::float8 AS finished_at"
  )
  const json = (value: unknown) => sql`${JSON.stringify(value)}::text::jsonb`
  const time = (at: number) => sql`${String(at)}::text::int8`
  const first = (rows: ReadonlyArray<JobRow>) => (rows[0] === undefined ? undefined : jobOf(rows[0]))
  return {
    /** Counts an organization's jobs one request at a time: of two requests for the last slot, one gets it. */
    lock: (organizationId: string) =>
      sql`SELECT pg_advisory_xact_lock(hashtextextended(${`ingest jobs of ${organizationId}`}, 0))`,
    countUnfinished: (organizationId: string) =>
      Effect.map(
        sql<{
          n: number
        }>`SELECT count(*)::int4 AS n FROM ingest_jobs WHERE organization_id = ${organizationId} AND finished_at IS NULL`,
        ([row]) => row!.n
      ),
    insert: ({ job, load, options, organizationId, pass = 1, scheduleId, state = {} }: NewJob) =>
      sql`INSERT INTO ingest_jobs (id, organization_id, name, collection, source, status, config, stats, load, options, state, pass, schedule_id, schedule_cron, created_at, updated_at)
        VALUES (${job.id}, ${organizationId}, ${job.name}, ${job.collection}, ${job.source}, ${job.status}, ${json(job.config)}, ${json(job.stats)}, ${load}, ${json(options)}, ${json(state)},
          ${String(pass)}::text::int4, ${scheduleId ?? null}, ${job.schedule_cron ?? null}, ${time(job.created_at)}, ${time(job.updated_at)})`,
    /** Returns the cancelled job; undefined if it was already over. */
    cancel: (organizationId: string, id: string, now: number) =>
      Effect.map(
        sql<JobRow>`UPDATE ingest_jobs SET status = 'cancelled', claimed_until = NULL, updated_at = ${time(now)}, finished_at = ${time(now)}
          WHERE organization_id = ${organizationId} AND id = ${id} AND finished_at IS NULL RETURNING ${columns}`,
        first
      ),
    get: (organizationId: string, id: string) =>
      Effect.map(
        sql<JobRow>`SELECT ${columns} FROM ingest_jobs WHERE organization_id = ${organizationId} AND id = ${id}`,
        first
      ),
    liveReindex: (organizationId: string, collection: string) =>
      Effect.map(
        sql<JobRow>`SELECT ${columns} FROM ingest_jobs WHERE organization_id = ${organizationId} AND collection = ${collection} AND source = 'reindex' AND finished_at IS NULL`,
        first
      ),
    /** `collections` are LIKE patterns, one of which must match the collection; all collections if absent. */
    page: (
      organizationId: string,
      {
        before,
        collections,
        limit,
        status
      }: {
        readonly status: string | undefined
        readonly before: string | undefined
        readonly limit: number
        readonly collections: ReadonlyArray<string> | undefined
      }
    ) =>
      Effect.map(
        sql<JobRow>`SELECT ${columns} FROM ingest_jobs WHERE organization_id = ${organizationId} AND (${status ?? null}::text IS NULL OR status = ${status ?? null}) AND (${before ?? null}::text IS NULL OR id < ${before ?? null})
          AND (${collections === undefined} OR collection LIKE ANY(${collections ?? []}::text[])) ORDER BY id DESC LIMIT ${limit}`,
        (rows) => rows.map(jobOf)
      )
  }
})
