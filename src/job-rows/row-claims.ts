/**
 * A claim on the row of a job, in whichever table: its holder runs the job. It ends by the database's clock unless it
 * is renewed, so a process that is gone loses its jobs to another, or to its next start.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Long enough for a process whose thread is busy; a process that was killed is waited for no longer. */
const CLAIM_S = 30
/** Of a job whose process went away under it: beyond, it is the job that does that. */
export const ATTEMPTS_MAX = 5

export const makeRowClaims = Effect.fnUntraced(function* (name: "jobs" | "ingest_jobs") {
  const sql = yield* SqlClient.SqlClient
  const table = sql(name)
  /** When a claim that is made now ends. */
  const end = sql.literal(`clock_timestamp() + make_interval(secs => ${CLAIM_S})`)
  const isOurs = (id: string, process: string) => sql`id = ${id} AND claimed_by = ${process} AND finished_at IS NULL`
  return {
    end,
    /** False where the job is over or somebody else's. */
    renew: (id: string, process: string, now: number, progress?: number) =>
      Effect.map(
        sql`UPDATE ${table} SET claimed_until = ${end}, updated_at = ${String(now)}::text::int8,
          progress = coalesce(${progress === undefined ? null : String(progress)}::text::float8, progress) WHERE ${isOurs(id, process)} RETURNING id`,
        (rows) => rows.length > 0
      ),
    /** Locks the row until the transaction ends; false where the job is over or somebody else's. */
    hold: (id: string, process: string) =>
      Effect.map(sql`SELECT 1 FROM ${table} WHERE ${isOurs(id, process)} FOR UPDATE`, (rows) => rows.length > 0),
    /** Given back by a process that stops: it was none of the job's attempts. */
    release: (id: string, process: string) =>
      sql`UPDATE ${table} SET claimed_until = NULL, attempts = attempts - 1 WHERE ${isOurs(id, process)}`,
    /** Whatever a process that stops still has. */
    releaseAll: (process: string) =>
      sql`UPDATE ${table} SET claimed_until = NULL, attempts = attempts - 1 WHERE claimed_by = ${process} AND finished_at IS NULL AND claimed_until IS NOT NULL`
  }
})
