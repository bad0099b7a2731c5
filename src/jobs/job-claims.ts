/**
 * Rows of jobs that a room runs itself, one function per statement. The process that runs one holds a claim on it
 * (`src/job-rows/row-claims.ts`).
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { makeRowClaims } from "../job-rows/row-claims.ts"

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
  const claims = yield* makeRowClaims("jobs")
  const time = (at: number) => sql`${String(at)}::text::int8`
  return {
    /**
     * The oldest unclaimed job of the kind, of an organization with no running job of that kind. Inside a transaction:
     * claims are made one at a time. One that is being cancelled at this moment is passed over: an update that waited
     * for the cancellation would put the ended job to work.
     */
    next: Effect.fnUntraced(function* (type: string, process: string, now: number) {
      yield* sql`SELECT pg_advisory_xact_lock(hashtextextended(${`dowser: claims of ${type}`}, 0))`
      const [row] =
        yield* sql<Row>`UPDATE jobs SET status = 'running', claimed_by = ${process}, claimed_until = ${claims.end},
          attempts = attempts + 1, updated_at = ${time(now)}
        WHERE id = (SELECT id FROM jobs j WHERE type = ${type} AND finished_at IS NULL AND (claimed_until IS NULL OR claimed_until < clock_timestamp())
          AND NOT EXISTS (SELECT 1 FROM jobs o WHERE o.type = ${type} AND o.organization_id = j.organization_id AND o.finished_at IS NULL AND o.claimed_until >= clock_timestamp())
          ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED)
        RETURNING id, organization_id, config, attempts`
      return row === undefined
        ? undefined
        : {
            job: { id: row.id, organizationId: row.organization_id, config: row.config } satisfies ClaimedJob,
            attempts: row.attempts
          }
    }),
    renew: claims.renew,
    hold: claims.hold,
    release: claims.release,
    releaseAll: claims.releaseAll,
    finish: (id: string, end: { readonly result: unknown } | { readonly error: string }, now: number) =>
      "result" in end
        ? sql`UPDATE jobs SET status = 'ready', progress = 1, result = ${JSON.stringify(end.result)}::text::jsonb, claimed_until = NULL, updated_at = ${time(now)}, finished_at = ${time(now)} WHERE id = ${id}`
        : sql`UPDATE jobs SET status = 'failed', error = ${end.error}, claimed_until = NULL, updated_at = ${time(now)}, finished_at = ${time(now)} WHERE id = ${id}`,
    /** Drops claims of earlier processes, if there can be no others. */
    forget: (type: string) =>
      sql`UPDATE jobs SET claimed_until = NULL WHERE type = ${type} AND finished_at IS NULL AND claimed_until IS NOT NULL`
  }
})
