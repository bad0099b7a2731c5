/** Rows of ingest jobs. One function per statement. */
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { type IngestJob, JobStats } from "./schema.ts"

interface JobRow {
  readonly id: string
  readonly organization_id: string
  readonly name: string
  readonly collection: string
  readonly source: string
  readonly status: IngestJob["status"]
  readonly config: Record<string, unknown>
  readonly stats: unknown
  readonly error: string | null
  readonly created_at: number
  readonly updated_at: number
  readonly finished_at: number | null
}
export interface StoredJob {
  readonly organization_id: string
  readonly job: IngestJob
}

const decodeStats = Schema.decodeUnknownSync(JobStats)
const jobOf = (row: JobRow): StoredJob => {
  const stats = decodeStats(row.stats)
  const total = typeof row.config.total === "number" ? row.config.total : 0
  return {
    organization_id: row.organization_id,
    job: {
      id: row.id,
      type: "ingest",
      name: row.name,
      collection: row.collection,
      source: row.source,
      status: row.status,
      progress: row.status === "ready" ? 1 : total === 0 ? 0 : Math.min(1, stats.fetched / total),
      config: row.config,
      stats,
      ...(row.error === null ? {} : { error: row.error }),
      created_at: row.created_at,
      updated_at: row.updated_at,
      ...(row.finished_at === null ? {} : { finished_at: row.finished_at })
    }
  }
}

export const makeJobsRepository = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const columns = sql.literal(
    "id, organization_id, name, collection, source, status, config, stats, error, created_at::float8 AS created_at, updated_at::float8 AS updated_at, finished_at::float8 AS finished_at"
  )
  return {
    insert: (organizationId: string, job: IngestJob) =>
      sql`INSERT INTO ingest_jobs (id, organization_id, name, collection, source, status, config, stats, created_at, updated_at)
        VALUES (${job.id}, ${organizationId}, ${job.name}, ${job.collection}, ${job.source}, ${job.status}, ${JSON.stringify(job.config)}::text::jsonb, ${JSON.stringify(job.stats)}::text::jsonb, ${job.created_at}, ${job.updated_at})`,
    save: (job: IngestJob) =>
      sql`UPDATE ingest_jobs SET status = ${job.status}, stats = ${JSON.stringify(job.stats)}::text::jsonb, error = ${job.error ?? null}, updated_at = ${job.updated_at}, finished_at = ${job.finished_at ?? null}
        WHERE id = ${job.id} AND finished_at IS NULL`,
    get: (organizationId: string, id: string) =>
      Effect.map(
        sql<JobRow>`SELECT ${columns} FROM ingest_jobs WHERE organization_id = ${organizationId} AND id = ${id}`,
        ([row]) => (row === undefined ? undefined : jobOf(row))
      ),
    liveReindex: (organizationId: string, collection: string) =>
      Effect.map(
        sql<JobRow>`SELECT ${columns} FROM ingest_jobs WHERE organization_id = ${organizationId} AND collection = ${collection} AND source = 'reindex' AND finished_at IS NULL`,
        ([row]) => (row === undefined ? undefined : jobOf(row))
      ),
    unfinished: Effect.map(
      sql<JobRow>`SELECT ${columns} FROM ingest_jobs WHERE finished_at IS NULL ORDER BY created_at`,
      (rows) => rows.map(jobOf)
    ),
    /** `collections`: texts as LIKE reads them, of which one must fit the collection; all where absent. */
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
