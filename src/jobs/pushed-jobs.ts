/**
 * Jobs that machines start by the thousand, such as pushes of a shop system: kept and shown as all others, without a
 * line in the audit log, and moved by whoever does them inside a transaction of its own.
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
export interface PushedEnd {
  readonly id: string
  readonly progress: number
  /** What came of it so far. */ readonly result: Readonly<Record<string, unknown>>
  /** Why it failed, of one that is over. */ readonly error?: string | undefined
}

export const makePushedJobs = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const repository = yield* makeJobsRepository
  const time = (at: number) => sql`${String(at)}::text::int8`
  return {
    insert: ({ config, id, organizationId, type }: PushedJob, now: number) => {
      const job: Job = { id, type, status: "queued", progress: 0, config, created_at: now, updated_at: now }
      return repository.insert(organizationId, job)
    },
    /** Over where its progress is 1. A job that was cancelled stays so. */
    move: ({ error, id, progress, result }: PushedEnd, now: number) => {
      const isOver = progress >= 1
      const status = !isOver ? "running" : error === undefined ? "ready" : "failed"
      return sql`UPDATE jobs SET status = ${status}, progress = ${String(progress)}::text::float8, result = ${JSON.stringify(result)}::text::jsonb,
        error = ${isOver ? (error ?? null) : null}, updated_at = ${time(now)}, finished_at = ${isOver ? String(now) : null}::text::int8 WHERE id = ${id} AND finished_at IS NULL`
    },
    remove: (id: string) => sql`DELETE FROM jobs WHERE id = ${id}`
  }
})
