/**
 * A claim on the row of a job, in either table: its holder runs the job. It expires by the database's clock unless it
 * is renewed, so a dead process loses its jobs to another, or to its own restart.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Long enough for a process whose thread is busy; a killed process is waited for no longer than this. */
const CLAIM_S = 30
/** Attempts of a job whose process died; beyond that, the job itself is considered the cause. */
export const ATTEMPTS_MAX = 5

export const makeRowClaims = Effect.fnUntraced(function* (name: "jobs" | "ingest_jobs") {
  const sql = yield* SqlClient.SqlClient
  const table = sql(name)
  /** When a claim made now expires. */
  const end = sql.literal(`clock_timestamp() + make_interval(secs => ${CLAIM_S})`)
  const isOurs = (id: string, process: string) => sql`id = ${id} AND claimed_by = ${process} AND finished_at IS NULL`
  return {
    end,
    /** Returns false if the job is finished or claimed by another process. */
    renew: (id: string, process: string, now: number, progress?: number) =>
      Effect.map(
        sql`UPDATE ${table} SET claimed_until = ${end}, updated_at = ${String(now)}::text::int8,
          progress = coalesce(${progress === undefined ? null : String(progress)}::text::float8, progress) WHERE ${isOurs(id, process)} RETURNING id`,
        (rows) => rows.length > 0
      ),
    /** Locks the row until the transaction ends; false if the job is finished or claimed by another process. */
    hold: (id: string, process: string) =>
      Effect.map(sql`SELECT 1 FROM ${table} WHERE ${isOurs(id, process)} FOR UPDATE`, (rows) => rows.length > 0),
    /** Releases the claim of a stopping process; this does not count as an attempt. */
    release: (id: string, process: string) =>
      sql`UPDATE ${table} SET claimed_until = NULL, attempts = attempts - 1 WHERE ${isOurs(id, process)}`,
    /** Releases everything that a stopping process still holds. */
    releaseAll: (process: string) =>
      sql`UPDATE ${table} SET claimed_until = NULL, attempts = attempts - 1 WHERE claimed_by = ${process} AND finished_at IS NULL AND claimed_until IS NOT NULL`
  }
})
