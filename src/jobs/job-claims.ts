/**
 * Rows of jobs that a room does itself, one function a statement. Who does one holds a claim on it, which ends by the
 * database's clock unless it is renewed: a process that is gone loses its jobs to another, or to its next start.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Long enough for a process whose thread is busy; a process that was killed is waited for no longer. */
const CLAIM_S = 30
/** Of a job whose process went away under it: beyond, it is the job that does that. */
export const ATTEMPTS_MAX = 5

export interface ClaimedJob {
  readonly id: string
  readonly organizationId: string
  readonly config: Readonly<Record<string, unknown>>
}
interface Row {
  readonly id: string
  readonly organization_id: string
  readonly config: Readonly<Record<string, unknown>>
  readonly attempts: number
}

export const makeJobClaims = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const time = (at: number) => sql`${String(at)}::text::int8`
  return {
    /**
     * The oldest job of the kind that nobody does, of an organization of which none of the kind is being done. Inside
     * a transaction: claims are made one at a time.
     */
    next: Effect.fnUntraced(function* (type: string, process: string, now: number) {
      yield* sql`SELECT pg_advisory_xact_lock(hashtextextended(${`dowser: claims of ${type}`}, 0))`
      const [row] =
        yield* sql<Row>`UPDATE jobs SET status = 'running', claimed_by = ${process}, claimed_until = clock_timestamp() + make_interval(secs => ${CLAIM_S}::int4),
          attempts = attempts + 1, updated_at = ${time(now)}
        WHERE id = (SELECT id FROM jobs j WHERE type = ${type} AND finished_at IS NULL AND (claimed_until IS NULL OR claimed_until < clock_timestamp())
          AND NOT EXISTS (SELECT 1 FROM jobs o WHERE o.type = ${type} AND o.organization_id = j.organization_id AND o.finished_at IS NULL AND o.claimed_until >= clock_timestamp())
          ORDER BY id LIMIT 1)
        RETURNING id, organization_id, config, attempts`
      return row === undefined
        ? undefined
        : {
            job: { id: row.id, organizationId: row.organization_id, config: row.config } satisfies ClaimedJob,
            attempts: row.attempts
          }
    }),
    /** False where the job is over or somebody else's. */
    renew: (id: string, process: string, progress: number, now: number) =>
      Effect.map(
        sql`UPDATE jobs SET claimed_until = clock_timestamp() + make_interval(secs => ${CLAIM_S}::int4), progress = ${String(progress)}::text::float8,
          updated_at = ${time(now)} WHERE id = ${id} AND claimed_by = ${process} AND finished_at IS NULL RETURNING id`,
        (rows) => rows.length > 0
      ),
    /** Locks the row until the transaction ends; false where the job is over or somebody else's. */
    hold: (id: string, process: string) =>
      Effect.map(
        sql`SELECT 1 FROM jobs WHERE id = ${id} AND claimed_by = ${process} AND finished_at IS NULL FOR UPDATE`,
        (rows) => rows.length > 0
      ),
    finish: (id: string, end: { readonly result: unknown } | { readonly error: string }, now: number) =>
      "result" in end
        ? sql`UPDATE jobs SET status = 'ready', progress = 1, result = ${JSON.stringify(end.result)}::text::jsonb, claimed_until = NULL, updated_at = ${time(now)}, finished_at = ${time(now)} WHERE id = ${id}`
        : sql`UPDATE jobs SET status = 'failed', error = ${end.error}, claimed_until = NULL, updated_at = ${time(now)}, finished_at = ${time(now)} WHERE id = ${id}`,
    /** Given back by a process that stops: it was none of the job's attempts. */
    release: (id: string, process: string) =>
      sql`UPDATE jobs SET claimed_until = NULL, attempts = attempts - 1 WHERE id = ${id} AND claimed_by = ${process} AND finished_at IS NULL`,
    /** Claims of processes before this one, where there can be no other. */
    forget: (type: string) =>
      sql`UPDATE jobs SET claimed_until = NULL WHERE type = ${type} AND finished_at IS NULL AND claimed_until IS NOT NULL`
  }
})
