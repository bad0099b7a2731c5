/** Rows of a pull: its pages, the products that it found, and its pushes. One function per statement. */
import { createHash } from "node:crypto"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Validators } from "./fetch-page.ts"

export interface KnownPage extends Validators {
  readonly next: string | undefined
}
interface PullTotals {
  /** Pushes in the log that are not completely applied. */ readonly waiting: number
  readonly applied: number
  readonly ignored: number
  readonly failed: number
}
const hashOf = (url: string): string => createHash("sha256").update(url).digest("base64url")
const MISSING_READ = 500

export const makePullPages = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const isMissing = (connectorId: string, before: number) =>
    sql`d.connector_id = ${connectorId} AND NOT d.deleted AND d.applied_at < ${String(before)}::text::int8
      AND NOT EXISTS (SELECT 1 FROM connector_pull_seen s WHERE s.connector_id = d.connector_id AND s.external_id = d.external_id)`
  return {
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
    /** Stores a page's validators for the next pull; does nothing if the server sent none. */
    keepPage: (connectorId: string, url: string, { etag, last_modified, next }: KnownPage) =>
      Effect.when(
        sql`INSERT INTO connector_pull_pages (connector_id, url_hash, etag, last_modified, next)
            VALUES (${connectorId}, ${hashOf(url)}, ${etag ?? null}, ${last_modified ?? null}, ${next ?? null})
            ON CONFLICT (connector_id, url_hash) DO UPDATE SET etag = EXCLUDED.etag, last_modified = EXCLUDED.last_modified, next = EXCLUDED.next`,
        Effect.succeed(etag !== undefined || last_modified !== undefined)
      ),
    see: (connectorId: string, ids: ReadonlyArray<string>) =>
      sql`INSERT INTO connector_pull_seen (connector_id, external_id) SELECT ${connectorId}, unnest(${ids}::text[]) ON CONFLICT DO NOTHING`,
    forgetSeen: (connectorId: string) => sql`DELETE FROM connector_pull_seen WHERE connector_id = ${connectorId}`,
    /** Documents that the connector wrote and that still exist. */
    countLiving: (connectorId: string) =>
      Effect.map(
        sql<{
          n: number
        }>`SELECT count(*)::int4 AS n FROM connector_documents WHERE connector_id = ${connectorId} AND NOT deleted`,
        ([row]) => row!.n
      ),
    /** Documents that the pull did not find; one pushed since the pull began is not missing. */
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
    /** Totals over all pushes of the pull. */
    totals: (connectorId: string, prefix: string) =>
      Effect.map(
        sql<PullTotals>`SELECT count(*) FILTER (WHERE is_stored AND cardinality(done) < records)::int4 AS waiting, coalesce(sum(applied), 0)::int4 AS applied,
            coalesce(sum(ignored), 0)::int4 AS ignored, coalesce(sum(failed), 0)::int4 AS failed
          FROM connector_pushes WHERE connector_id = ${connectorId} AND starts_with(signature, ${prefix})`,
        ([row]) => row!
      )
  }
})
