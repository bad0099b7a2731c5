/** Rows of pulls: due time, job and progress. One function per statement. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { decodePlace, type Place } from "./place.ts"

export const makePullsRepository = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const time = (at: number | undefined) => (at === undefined ? sql`NULL::int8` : sql`${String(at)}::text::int8`)
  return {
    /** For a changed connector: its pages are requested in full, because it may interpret them differently now. */
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
    /** Blocks other pulls of the connector until the transaction ends; returns its unfinished job. */
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
    /** False if the connector is gone or has another job. */
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
    /** Everything in the pull is applied, so the next pull may request only changes. */
    whole: (connectorId: string, jobId: string) =>
      sql`UPDATE connector_pulls SET is_whole = true WHERE connector_id = ${connectorId} AND job_id = ${jobId}`,
    /** The state of the connector that its owner sees. */
    state: (connectorId: string, error: string | undefined, now: number) =>
      sql`INSERT INTO connector_states (connector_id, last_sync_at, last_error)
        SELECT id, ${time(now)}, ${error ?? null}::text FROM connectors WHERE id = ${connectorId}
        ON CONFLICT (connector_id) DO UPDATE SET last_error = EXCLUDED.last_error,
          last_sync_at = CASE WHEN EXCLUDED.last_error IS NULL THEN EXCLUDED.last_sync_at ELSE connector_states.last_sync_at END`
  }
})
