/**
 * Claims the next job and stores its progress. One function per statement.
 *
 * Fair between organizations: the one served least recently is next, however many jobs others have waiting. Each
 * organization runs one job per load at a time.
 */
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { makeRowClaims } from "../../job-rows/row-claims.ts"
import type { JobOptions } from "../jobs-repository.ts"
import { JobStats } from "../schema.ts"
import type { IngestLoad } from "../sources/source.ts"

/** A job that this process has claimed. */
export interface Claimed {
  readonly id: string
  readonly organizationId: string
  readonly collection: string
  readonly source: string
  readonly config: unknown
  readonly options: JobOptions
  readonly stats: JobStats
  readonly state: Readonly<Record<string, unknown>>
  readonly pass: number
  readonly schedule_id: string | null
  /** Attempts since its cursor last moved: interrupted runs, and postponements by its source. */
  readonly attempts: number
  readonly failures: number
}
/** What is stored after a batch. */
export interface Step {
  readonly stats: JobStats
  readonly state: Readonly<Record<string, unknown>>
  readonly progress: number
}
interface Row extends Omit<Claimed, "organizationId" | "stats"> {
  readonly organization_id: string
  readonly stats: unknown
}
const decodeStats = Schema.decodeUnknownSync(JobStats)

export const makeClaims = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const claims = yield* makeRowClaims("ingest_jobs")
  const time = (at: number) => sql`${String(at)}::text::int8`
  const json = (value: unknown) => sql`${JSON.stringify(value)}::text::jsonb`
  // Jobs of a paused organization wait until it is resumed.
  const isWaiting = sql.literal(
    `j.finished_at IS NULL AND (j.claimed_until IS NULL OR j.claimed_until < clock_timestamp()) AND (j.not_before IS NULL OR j.not_before <= clock_timestamp())
      AND j.organization_id NOT IN (SELECT id FROM organizations WHERE status = 'paused')`
  )
  /** Evaluated once for all waiting jobs, not for each. */
  const isAlone = (load: IngestLoad) =>
    sql`j.organization_id NOT IN (SELECT o.organization_id FROM ingest_jobs o WHERE o.load = ${load} AND o.finished_at IS NULL AND o.claimed_until >= clock_timestamp())`
  return {
    hold: claims.hold,
    release: claims.release,
    releaseAll: claims.releaseAll,
    renew: (id: string, process: string, now: number) => claims.renew(id, process, now),
    /** Call inside a transaction: claims are made one at a time, and never of a job that is being cancelled. */
    next: Effect.fnUntraced(function* (load: IngestLoad, process: string, now: number) {
      yield* sql`SELECT pg_advisory_xact_lock(hashtextextended(${`dowser: ingest of ${load}`}, 0))`
      const [row] =
        yield* sql<Row>`UPDATE ingest_jobs SET status = CASE WHEN status = 'queued' THEN 'fetching' ELSE status END, claimed_by = ${process}, claimed_until = ${claims.end},
          attempts = attempts + 1, not_before = NULL, updated_at = ${time(now)}
        WHERE id = (SELECT j.id FROM ingest_jobs j LEFT JOIN ingest_turns t ON t.organization_id = j.organization_id AND t.load = j.load
          WHERE j.load = ${load} AND ${isWaiting} AND ${isAlone(load)} ORDER BY t.turn NULLS FIRST, j.created_at, j.id LIMIT 1 FOR UPDATE OF j SKIP LOCKED)
        RETURNING id, organization_id, collection, source, config, options, stats, state, pass, schedule_id, attempts, failures`
      if (row === undefined) return undefined
      yield* sql`INSERT INTO ingest_turns (organization_id, load, turn) VALUES (${row.organization_id}, ${load}, nextval('ingest_turn'))
        ON CONFLICT (organization_id, load) DO UPDATE SET turn = excluded.turn`
      const { organization_id, stats, ...job } = row
      return { ...job, organizationId: organization_id, stats: decodeStats(stats) } satisfies Claimed
    }),
    /** Whether an unclaimed job of another organization is waiting. */
    othersWait: (load: IngestLoad, organizationId: string) =>
      Effect.map(
        sql`SELECT 1 FROM ingest_jobs j WHERE j.load = ${load} AND j.organization_id <> ${organizationId} AND ${isWaiting} AND ${isAlone(load)} LIMIT 1`,
        (rows) => rows.length > 0
      ),
    /** Stores progress, which resets the attempts. */
    move: (id: string, { progress, state, stats }: Step, now: number) =>
      sql`UPDATE ingest_jobs SET status = 'importing', stats = ${json(stats)}, state = ${json(state)}, progress = ${String(progress)}::text::float8, attempts = 1, failures = 0,
        claimed_until = ${claims.end}, updated_at = ${time(now)} WHERE id = ${id}`,
    /** Progress of a source that has not yielded anything yet. */
    report: (id: string, process: string, progress: number, now: number) => claims.renew(id, process, now, progress),
    /** Postpones the job; any process may continue it afterwards. */
    putOff: (id: string, process: string, after_s: number) =>
      sql`UPDATE ingest_jobs SET claimed_until = NULL, attempts = attempts - 1, failures = failures + 1, not_before = clock_timestamp() + make_interval(secs => ${String(after_s)}::text::float8)
        WHERE id = ${id} AND claimed_by = ${process} AND finished_at IS NULL`,
    finish: (id: string, end: { readonly stats: JobStats } | { readonly error: string }, now: number) =>
      "stats" in end
        ? sql`UPDATE ingest_jobs SET status = 'ready', progress = 1, stats = ${json(end.stats)}, claimed_until = NULL, updated_at = ${time(now)}, finished_at = ${time(now)} WHERE id = ${id}`
        : sql`UPDATE ingest_jobs SET status = 'failed', error = ${end.error}, claimed_until = NULL, updated_at = ${time(now)}, finished_at = ${time(now)} WHERE id = ${id}`,
    /** Clears claims of earlier processes, if no other process can exist. */
    forget: sql`UPDATE ingest_jobs SET claimed_until = NULL WHERE finished_at IS NULL AND claimed_until IS NOT NULL`
  }
})
