/** Long-running work: its progress and its end. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { metrics } from "./metrics.ts"
import { Jobs } from "./jobs.ts"
import { expireJobs } from "./jobs-retention.ts"
import { routes } from "./routes.ts"
import { defineRoom } from "../room.ts"

export const room = defineRoom({
  name: "jobs",
  routes,
  roles: { listJobs: "member", getJob: "member", cancelJob: "admin" },
  reaches: { listJobs: "filtered", getJob: "filtered", cancelJob: "filtered" },
  groups: { jobs: "Everything that goes on after its request was answered." },
  layer: Jobs.layer,
  expiries: [(rowsMax) => expireJobs(rowsMax)],
  metrics,
  migrations: {
    // For jobs that a room runs itself: claimed by which process, until when, and how often it was started.
    "2026112310_job_claims": Effect.flatMap(
      SqlClient.SqlClient,
      (sql) =>
        sql`ALTER TABLE jobs ADD COLUMN claimed_by text, ADD COLUMN claimed_until timestamptz, ADD COLUMN attempts int4 NOT NULL DEFAULT 0`
    )
  }
})
