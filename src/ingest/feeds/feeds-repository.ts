/** Rows of stored feeds. One function per statement. */
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"

/** The job that an upload becomes. */
export const Upload = Schema.Struct({
  collection: Schema.String,
  format: Schema.String,
  name: Schema.String,
  config: Schema.Record(Schema.String, Schema.Unknown),
  /** As the sender sent it (tus), to be returned. */ metadata: Schema.optionalKey(Schema.String),
  /** The job that the upload became. */ job_id: Schema.optionalKey(Schema.String)
})
export type Upload = typeof Upload.Type
export interface StoredFeed {
  readonly id: string
  readonly organization_id: string
  readonly upload: Upload | undefined
  readonly bytes_expected: number
  readonly is_complete: boolean
  readonly expires_at: number
}
interface FeedRow extends Omit<StoredFeed, "upload"> {
  readonly upload: unknown
}
const WRITER_S = 10
const decodeUpload = Schema.decodeUnknownSync(Upload)
const feedOf = ([row]: ReadonlyArray<FeedRow>): StoredFeed | undefined =>
  row === undefined ? undefined : { ...row, upload: row.upload === null ? undefined : decodeUpload(row.upload) }

export const makeFeedsRepository = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const columns = sql.literal(
    "id, organization_id, upload, bytes_expected::float8 AS bytes_expected, is_complete, expires_at::float8 AS expires_at"
  )
  const time = (at: number) => sql`${String(at)}::text::int8`
  const writerEnd = sql.literal(`clock_timestamp() + make_interval(secs => ${WRITER_S})`)
  return {
    lock: (organizationId: string) =>
      sql`SELECT pg_advisory_xact_lock(hashtextextended(${`feeds of ${organizationId}`}, 0))`,
    taken: (organizationId: string) =>
      Effect.map(
        sql<{
          bytes: number
          feeds: number
        }>`SELECT coalesce(sum(bytes_expected), 0)::float8 AS bytes, count(*)::int4 AS feeds FROM ingest_feeds WHERE organization_id = ${organizationId}`,
        ([row]) => row!
      ),
    insert: (feed: StoredFeed, jobId: string | undefined, now: number) =>
      sql`INSERT INTO ingest_feeds (id, organization_id, job_id, upload, bytes_expected, created_at, expires_at)
        VALUES (${feed.id}, ${feed.organization_id}, ${jobId ?? null}, ${feed.upload === undefined ? null : JSON.stringify(feed.upload)}::text::jsonb, ${time(feed.bytes_expected)}, ${time(now)}, ${time(feed.expires_at)})`,
    get: (organizationId: string, id: string) =>
      Effect.map(
        sql<FeedRow>`SELECT ${columns} FROM ingest_feeds WHERE organization_id = ${organizationId} AND id = ${id}`,
        feedOf
      ),
    ofJob: (organizationId: string, jobId: string) =>
      Effect.map(
        sql<FeedRow>`SELECT ${columns} FROM ingest_feeds WHERE organization_id = ${organizationId} AND job_id = ${jobId}`,
        feedOf
      ),
    complete: (id: string, bytes: number, jobId: string | undefined) =>
      sql`UPDATE ingest_feeds SET is_complete = true, bytes_expected = ${time(bytes)}, job_id = coalesce(${jobId ?? null}, job_id) WHERE id = ${id}`,
    remove: (id: string) => sql`DELETE FROM ingest_feeds WHERE id = ${id}`,
    /** Uploads that were never finished, and feeds of jobs that are over. */
    expired: (now: number, rowsMax: number) =>
      sql<{ id: string }>`SELECT f.id FROM ingest_feeds f LEFT JOIN ingest_jobs j ON j.id = f.job_id
        WHERE CASE WHEN j.id IS NULL THEN f.expires_at < ${time(now)} ELSE j.finished_at IS NOT NULL END LIMIT ${rowsMax}::int4`,
    /** The ids that have no row. */
    unknown: (ids: ReadonlyArray<string>) =>
      Effect.map(
        sql<{
          id: string
        }>`SELECT t.id FROM unnest(${[...ids]}::text[]) AS t (id) WHERE NOT EXISTS (SELECT 1 FROM ingest_feeds f WHERE f.id = t.id)`,
        (rows) => rows.map(({ id }) => id)
      ),
    takeWriter: (id: string, process: string) =>
      Effect.map(
        sql`UPDATE ingest_feeds SET writer = ${process}, writer_until = ${writerEnd} WHERE id = ${id} AND (writer_until IS NULL OR writer_until < clock_timestamp()) RETURNING id`,
        (rows) => rows.length > 0
      ),
    renewWriter: (id: string, process: string) =>
      sql`UPDATE ingest_feeds SET writer_until = ${writerEnd} WHERE id = ${id} AND writer = ${process}`,
    freeWriter: (id: string, process: string) =>
      sql`UPDATE ingest_feeds SET writer_until = NULL WHERE id = ${id} AND writer = ${process}`,
    /** Clears the writers of earlier processes, if no other process can exist. */
    forgetWriters: sql`UPDATE ingest_feeds SET writer_until = NULL WHERE writer_until IS NOT NULL`
  }
})
