/**
 * Jobs are deleted 400 days after they finished, like the audit log: the receipt of an erasure is a job's result, and
 * somebody may have to produce it. Unfinished jobs stay.
 */
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"

export const JOBS_KEPT_MS = 400 * 86_400_000

/** Removes at most `rowsMax` jobs of each kind; returns how many. */
export const expireJobs = Effect.fnUntraced(function* (rowsMax: number) {
  const sql = yield* SqlClient.SqlClient
  const before = String((yield* Clock.currentTimeMillis) - JOBS_KEPT_MS)
  let removed = 0
  for (const table of ["jobs", "ingest_jobs"]) {
    removed +=
      (yield* sql`DELETE FROM ${sql(table)} WHERE id = ANY(ARRAY(SELECT id FROM ${sql(table)} WHERE finished_at < ${before}::text::int8 LIMIT ${rowsMax}::int4)) RETURNING id`)
        .length
  }
  return removed
})
