/**
 * Jobs that machines start by the thousand, such as pushes of a shop system: stored and listed like others, without an
 * entry in the audit log, and updated by their runner inside its own transaction.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { makeJobsRepository } from "./jobs-repository.ts"
import type { Job } from "./schema.ts"

interface PushedJob {
  readonly id: string
  readonly organizationId: string
  readonly type: string
  readonly config: Readonly<Record<string, unknown>>
}
/** A job's new state; the job is finished if `progress` is 1. */
interface PushedStep {
  readonly id: string
  readonly progress: number
  /** The result so far. */ readonly result: Readonly<Record<string, unknown>>
  /** Why it failed, if it is finished. */ readonly error?: string | undefined
}
const statusOf = ({ error, progress }: PushedStep) =>
  progress < 1 ? "running" : error === undefined ? "ready" : "failed"

export const makePushedJobs = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const repository = yield* makeJobsRepository
  return {
    insert: ({ config, id, organizationId, type }: PushedJob, now: number) => {
      const job: Job = { id, type, status: "queued", progress: 0, config, created_at: now, updated_at: now }
      return repository.insert(organizationId, job)
    },
    /** One statement for all. A finished job stays unchanged. */
    move: (steps: ReadonlyArray<PushedStep>, now: number) =>
      sql`UPDATE jobs j SET status = t.status, progress = t.progress, result = t.result::jsonb, error = nullif(t.error, ''), updated_at = ${String(now)}::text::int8,
          finished_at = CASE WHEN t.progress >= 1 THEN ${String(now)}::text::int8 END
        FROM unnest(${steps.map(({ id }) => id)}::text[], ${steps.map(statusOf)}::text[], ${steps.map(({ progress }) => String(Math.min(1, progress)))}::text[]::float8[],
          ${steps.map(({ result }) => JSON.stringify(result))}::text[], ${steps.map(({ error = "" }) => error)}::text[]) AS t (id, status, progress, result, error)
        WHERE j.id = t.id AND j.finished_at IS NULL`,
    remove: (id: string) => sql`DELETE FROM jobs WHERE id = ${id}`
  }
})
