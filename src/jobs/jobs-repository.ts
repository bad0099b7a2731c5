/** Rows of jobs. One function per statement; the organization is part of each. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Job } from "./schema.ts"

interface JobRow extends Omit<Job, "result" | "error" | "finished_at"> {
  readonly result: Readonly<Record<string, unknown>> | null
  readonly error: string | null
  readonly finished_at: number | null
}
const jobOf = ({ error, finished_at, result, ...row }: JobRow): Job => ({
  ...row,
  ...(result === null ? {} : { result }),
  ...(error === null ? {} : { error }),
  ...(finished_at === null ? {} : { finished_at })
})

export const makeJobsRepository = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const columns = sql.literal(
    "id, type, status, progress, config, result, error, created_at::float8 AS created_at, updated_at::float8 AS updated_at, finished_at::float8 AS finished_at"
  )
  const shortColumns = sql.literal(
    "id, type, status, progress, config, result - 'per_query' AS result, error, created_at::float8 AS created_at, updated_at::float8 AS updated_at, finished_at::float8 AS finished_at"
  )
  const time = (at: number) => sql`${String(at)}::text::int8`
  return {
    /** Fails with a unique violation if the kind allows only one at a time. */
    insert: (organizationId: string, { config, created_at, id, progress, status, type }: Job) =>
      sql`INSERT INTO jobs (id, organization_id, type, status, progress, config, created_at, updated_at)
        VALUES (${id}, ${organizationId}, ${type}, ${status}, ${String(progress)}::text::float8, ${JSON.stringify(config)}::text::jsonb, ${time(created_at)}, ${time(created_at)})`,
    get: (organizationId: string, id: string) =>
      Effect.map(
        sql<JobRow>`SELECT ${columns} FROM jobs WHERE organization_id = ${organizationId} AND id = ${id}`,
        ([row]) => (row === undefined ? undefined : jobOf(row))
      ),
    /** Locks it until the transaction ends. */
    lock: (organizationId: string, id: string) =>
      Effect.map(
        sql<JobRow>`SELECT ${columns} FROM jobs WHERE organization_id = ${organizationId} AND id = ${id} FOR UPDATE`,
        ([row]) => (row === undefined ? undefined : jobOf(row))
      ),
    unfinished: (organizationId: string, type: string) =>
      Effect.map(
        sql<JobRow>`SELECT ${columns} FROM jobs WHERE organization_id = ${organizationId} AND type = ${type} AND finished_at IS NULL ORDER BY id LIMIT 1`,
        ([row]) => (row === undefined ? undefined : jobOf(row))
      ),
    unfinishedByType: sql<{
      type: string
      n: number
    }>`SELECT type, count(*)::int4 AS n FROM jobs WHERE finished_at IS NULL GROUP BY type`,
    /** Includes those just created in the same transaction. */
    countUnfinished: (organizationId: string, type: string) =>
      Effect.map(
        sql<{
          n: number
        }>`SELECT count(*)::int4 AS n FROM jobs WHERE organization_id = ${organizationId} AND type = ${type} AND finished_at IS NULL`,
        ([row]) => row!.n
      ),
    cancel: (organizationId: string, id: string, now: number) =>
      sql`UPDATE jobs SET status = 'cancelled', updated_at = ${time(now)}, finished_at = ${time(now)} WHERE organization_id = ${organizationId} AND id = ${id} AND finished_at IS NULL`,
    /**
     * Newest first, without long results. `collections` are LIKE patterns, one of which must match the job's
     * collection; all jobs if absent.
     */
    page: (
      organizationId: string,
      {
        before,
        collections,
        limit,
        status,
        type
      }: {
        readonly type: string | undefined
        readonly status: string | undefined
        readonly before: string | undefined
        readonly limit: number
        readonly collections: ReadonlyArray<string> | undefined
      }
    ) =>
      Effect.map(
        sql<JobRow>`SELECT ${shortColumns} FROM jobs WHERE organization_id = ${organizationId} AND (${type ?? null}::text IS NULL OR type = ${type ?? null}) AND (${status ?? null}::text IS NULL OR status = ${status ?? null})
          AND (${before ?? null}::text IS NULL OR id < ${before ?? null})
          AND (${collections === undefined} OR config ->> 'collection' LIKE ANY(${collections ?? []}::text[])) ORDER BY id DESC LIMIT ${limit}::int4`,
        (rows) => rows.map(jobOf)
      )
  }
})
