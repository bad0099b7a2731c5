/** Rows of pulls: when each is due, how far it is, what was said of its pages, what it met. One function per statement. */
import { createHash } from "node:crypto"
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { Validators } from "./fetch-page.ts"

export const PULL_ERRORS_MAX = 100
const Count = Schema.Int
/** Where a pull goes on after its process was cut off. */
const Place = Schema.Struct({
  /** Pages that are stored as pushes. */ pages: Count,
  /** Pages that had not changed. */ unchanged: Count,
  received: Count,
  upserts: Count,
  deletes: Count,
  rejected: Count,
  /** Products that could not be read, and no id in them. */ nameless: Count,
  errors: Schema.Array(Schema.Struct({ page: Count, index: Count, reason: Schema.String })),
  /** The next page; none after the last. */ next: Schema.optional(Schema.String),
  /** Whether pages are asked for only as far as they changed. */ is_conditional: Schema.Boolean
})
export type Place = typeof Place.Type
export interface KnownPage extends Validators {
  readonly next: string | undefined
}
export interface PullTotals {
  /** Pushes that are not wholly applied. */ readonly waiting: number
  readonly applied: number
  readonly ignored: number
  readonly failed: number
}
const decodePlace = Schema.decodeUnknownSync(Place)
const hashOf = (url: string): string => createHash("sha256").update(url).digest("base64url")
const MISSING_READ = 500

export const makePullsRepository = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const time = (at: number | undefined) => (at === undefined ? sql`NULL::int8` : sql`${String(at)}::text::int8`)
  const isMissing = (connectorId: string, before: number) =>
    sql`d.connector_id = ${connectorId} AND NOT d.deleted AND d.applied_at < ${time(before)}
      AND NOT EXISTS (SELECT 1 FROM connector_pull_seen s WHERE s.connector_id = d.connector_id AND s.external_id = d.external_id)`
  return {
    /** Of a connector whose schedule or address was written. Pages are asked for anew: it may read them otherwise now. */
    schedule: (connectorId: string, next_run_at: number | undefined) =>
      Effect.andThen(
        sql`INSERT INTO connector_pulls (connector_id, next_run_at) VALUES (${connectorId}, ${time(next_run_at)})
          ON CONFLICT (connector_id) DO UPDATE SET next_run_at = EXCLUDED.next_run_at`,
        sql`DELETE FROM connector_pull_pages WHERE connector_id = ${connectorId}`
      ),
    runNext: (connectorId: string, next_run_at: number | undefined) =>
      sql`UPDATE connector_pulls SET next_run_at = ${time(next_run_at)} WHERE connector_id = ${connectorId}`,
    due: (now: number, limit: number) =>
      Effect.map(
        sql<{ connector_id: string }>`SELECT connector_id FROM connector_pulls WHERE next_run_at <= ${time(now)}
          ORDER BY next_run_at LIMIT ${limit}::int4 FOR UPDATE SKIP LOCKED`,
        (rows) => rows.map(({ connector_id }) => connector_id)
      ),
    /** Until the transaction ends nobody else starts a pull of the connector; its job that is not over. */
    lock: (connectorId: string) =>
      Effect.map(
        sql<{
          id: string | null
        }>`WITH own AS (SELECT job_id FROM connector_pulls WHERE connector_id = ${connectorId} FOR UPDATE)
          SELECT j.id FROM own LEFT JOIN jobs j ON j.id = own.job_id AND j.finished_at IS NULL`,
        ([row]) => row?.id ?? undefined
      ),
    queue: (connectorId: string, jobId: string) =>
      sql`UPDATE connector_pulls SET job_id = ${jobId}, started_at = NULL, place = NULL WHERE connector_id = ${connectorId}`,
    place: (connectorId: string, jobId: string) =>
      Effect.map(
        sql<{ started_at: number; place: unknown }>`SELECT started_at::float8 AS started_at, place FROM connector_pulls
          WHERE connector_id = ${connectorId} AND job_id = ${jobId} AND started_at IS NOT NULL`,
        ([row]) => (row === undefined ? undefined : { started_at: row.started_at, place: decodePlace(row.place) })
      ),
    /** False where the connector is gone or has another job. */
    begin: Effect.fnUntraced(function* (connectorId: string, jobId: string, place: Place, now: number) {
      yield* sql`DELETE FROM connector_pull_pages p USING connector_pulls c WHERE c.connector_id = ${connectorId} AND NOT c.is_whole AND p.connector_id = c.connector_id`
      yield* sql`DELETE FROM connector_pull_seen WHERE connector_id = ${connectorId}`
      const rows =
        yield* sql`UPDATE connector_pulls SET started_at = ${time(now)}, place = ${JSON.stringify(place)}::text::json, is_whole = false
          WHERE connector_id = ${connectorId} AND job_id = ${jobId} RETURNING 1`
      return rows.length > 0
    }),
    move: (connectorId: string, jobId: string, place: Place) =>
      sql`UPDATE connector_pulls SET place = ${JSON.stringify(place)}::text::json WHERE connector_id = ${connectorId} AND job_id = ${jobId}`,
    knownPage: (connectorId: string, url: string) =>
      Effect.map(
        sql<{ etag: string | null; last_modified: string | null; next: string | null }>`SELECT etag, last_modified, next
          FROM connector_pull_pages WHERE connector_id = ${connectorId} AND url_hash = ${hashOf(url)}`,
        ([row]): KnownPage | undefined =>
          row === undefined
            ? undefined
            : {
                etag: row.etag ?? undefined,
                last_modified: row.last_modified ?? undefined,
                next: row.next ?? undefined
              }
      ),
    /** For the next pull; nothing where nothing is said of the page. */
    keepPage: (connectorId: string, url: string, { etag, last_modified, next }: KnownPage) =>
      Effect.when(
        sql`INSERT INTO connector_pull_pages (connector_id, url_hash, etag, last_modified, next)
            VALUES (${connectorId}, ${hashOf(url)}, ${etag ?? null}, ${last_modified ?? null}, ${next ?? null})
            ON CONFLICT (connector_id, url_hash) DO UPDATE SET etag = EXCLUDED.etag, last_modified = EXCLUDED.last_modified, next = EXCLUDED.next`,
        Effect.succeed(etag !== undefined || last_modified !== undefined)
      ),
    /** Everything of the pull is applied: the next one may ask for what changed since. */
    whole: (connectorId: string, jobId: string) =>
      sql`UPDATE connector_pulls SET is_whole = true WHERE connector_id = ${connectorId} AND job_id = ${jobId}`,
    see: (connectorId: string, ids: ReadonlyArray<string>) =>
      sql`INSERT INTO connector_pull_seen (connector_id, external_id) SELECT ${connectorId}, unnest(${ids}::text[]) ON CONFLICT DO NOTHING`,
    forgetSeen: (connectorId: string) => sql`DELETE FROM connector_pull_seen WHERE connector_id = ${connectorId}`,
    /** Documents that the connector wrote and that are there. */
    countLiving: (connectorId: string) =>
      Effect.map(
        sql<{
          n: number
        }>`SELECT count(*)::int4 AS n FROM connector_documents WHERE connector_id = ${connectorId} AND NOT deleted`,
        ([row]) => row!.n
      ),
    /** Those of them that the pull did not meet; one that was pushed since it began is not missing. */
    countMissing: (connectorId: string, before: number) =>
      Effect.map(
        sql<{
          n: number
        }>`SELECT count(*)::int4 AS n FROM connector_documents d WHERE ${isMissing(connectorId, before)}`,
        ([row]) => row!.n
      ),
    missing: (connectorId: string, before: number, after: string) =>
      Effect.map(
        sql<{
          external_id: string
        }>`SELECT d.external_id FROM connector_documents d WHERE ${isMissing(connectorId, before)}
          AND d.external_id > ${after} ORDER BY d.external_id LIMIT ${MISSING_READ}::int4`,
        (rows) => rows.map(({ external_id }) => external_id)
      ),
    /** Of all pushes of the pull. */
    totals: (connectorId: string, prefix: string) =>
      Effect.map(
        sql<PullTotals>`SELECT count(*) FILTER (WHERE cardinality(done) < records)::int4 AS waiting, coalesce(sum(applied), 0)::int4 AS applied,
            coalesce(sum(ignored), 0)::int4 AS ignored, coalesce(sum(failed), 0)::int4 AS failed
          FROM connector_pushes WHERE connector_id = ${connectorId} AND starts_with(signature, ${prefix})`,
        ([row]) => row!
      ),
    /** What its owner sees of the connector. */
    state: (connectorId: string, error: string | undefined, now: number) =>
      sql`INSERT INTO connector_states (connector_id, last_sync_at, last_error)
        SELECT id, ${time(now)}, ${error ?? null}::text FROM connectors WHERE id = ${connectorId}
        ON CONFLICT (connector_id) DO UPDATE SET last_error = EXCLUDED.last_error,
          last_sync_at = CASE WHEN EXCLUDED.last_error IS NULL THEN EXCLUDED.last_sync_at ELSE connector_states.last_sync_at END`
  }
})
