/** Rows of pushes: the response to each, by its signature. One function per statement. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { PushAnswer } from "./schema.ts"

interface RememberedPush {
  readonly answer: PushAnswer
  /** True if it is in the log; otherwise its process was interrupted, or has not finished yet. */
  readonly is_stored: boolean
  readonly created_at: number
}
/** A push repeated within this time gets the same response again. */
const PUSHES_KEPT_MS = 24 * 3_600_000

export const makePushesRepository = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  return {
    known: (connectorId: string, signature: string) =>
      Effect.map(
        sql<RememberedPush>`SELECT answer, is_stored, created_at::float8 AS created_at FROM connector_pushes WHERE connector_id = ${connectorId} AND signature = ${signature}`,
        ([row]) => row
      ),
    /** False if another request inserted the same push first. */
    insert: (connectorId: string, signature: string, answer: PushAnswer, records: number, now: number) =>
      Effect.map(
        sql`INSERT INTO connector_pushes (connector_id, signature, job_id, answer, is_stored, records, created_at)
          VALUES (${connectorId}, ${signature}, ${answer.job_id}, ${JSON.stringify(answer)}::text::json, ${records === 0}, ${records}::int4, ${String(now)}::text::int8)
          ON CONFLICT (connector_id, signature) DO NOTHING RETURNING 1`,
        (rows) => rows.length > 0
      ),
    stored: (jobId: string) => sql`UPDATE connector_pushes SET is_stored = true WHERE job_id = ${jobId}`,
    /** Removes a push of which, as far as known, nothing is in the log. True if it existed. */
    forget: (jobId: string) =>
      Effect.map(
        sql`DELETE FROM connector_pushes WHERE job_id = ${jobId} AND NOT is_stored RETURNING 1`,
        (rows) => rows.length > 0
      )
  }
})
/** Removes rows older than a day: applied ones, and those whose process was interrupted before it stored anything. */
export const expirePushes = (rowsMax: number) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const rows = yield* sql`WITH gone AS (
        DELETE FROM connector_pushes WHERE job_id IN (SELECT job_id FROM connector_pushes
          WHERE created_at < extract(epoch FROM clock_timestamp()) * 1000 - ${PUSHES_KEPT_MS}::int8
            AND (NOT is_stored OR cardinality(done) >= records) ORDER BY created_at LIMIT ${rowsMax}::int4)
        RETURNING job_id, is_stored)
      , ended AS (UPDATE jobs SET status = 'failed', error = 'The push was cut off before it was stored.', finished_at = (extract(epoch FROM clock_timestamp()) * 1000)::int8
          WHERE id IN (SELECT job_id FROM gone WHERE NOT is_stored) AND finished_at IS NULL)
      SELECT 1 FROM gone`
    return rows.length
  })
