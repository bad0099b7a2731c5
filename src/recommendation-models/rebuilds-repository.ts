/**
 * How every process is notified that an organization's models must be rebuilt. One function per statement; the index
 * keeps an organization from requesting two rebuilds at the same time.
 */
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Rebuild } from "./live/life.ts"

/** A process that was down for longer reads the log from its start in any case, or from its snapshot. */
const HEARD_FOR_MS = 86_400_000

export const makeRebuildsRepository = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const time = (at: number) => sql`${String(at)}::text::int8`
  return {
    /** The last rebuild of each organization within a day. */
    read: Effect.flatMap(
      Clock.currentTimeMillis,
      (now) =>
        sql<Rebuild>`SELECT organization_id AS "organizationId", job_id AS "jobId" FROM recommendation_rebuilds WHERE asked_at > ${time(now - HEARD_FOR_MS)}`
    ),
    put: ({ jobId, organizationId }: Rebuild) =>
      Effect.flatMap(
        Clock.currentTimeMillis,
        (
          now
        ) => sql`INSERT INTO recommendation_rebuilds (organization_id, job_id, asked_at) VALUES (${organizationId}, ${jobId}, ${time(now)})
          ON CONFLICT (organization_id) DO UPDATE SET job_id = EXCLUDED.job_id, asked_at = EXCLUDED.asked_at`
      )
  }
})
/** Removes rebuilds that all processes know of. */
export const expireRebuilds = Effect.fnUntraced(function* (rowsMax: number) {
  const sql = yield* SqlClient.SqlClient
  const before = (yield* Clock.currentTimeMillis) - HEARD_FOR_MS
  const removed = yield* sql`DELETE FROM recommendation_rebuilds WHERE organization_id IN
    (SELECT organization_id FROM recommendation_rebuilds WHERE asked_at <= ${String(before)}::text::int8 LIMIT ${rowsMax}::int4) RETURNING organization_id`
  return removed.length
})

export const rebuildsTable = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE TABLE recommendation_rebuilds (
    organization_id text PRIMARY KEY REFERENCES organizations (id),
    job_id text NOT NULL,
    asked_at bigint NOT NULL
  )`
  yield* sql`CREATE UNIQUE INDEX jobs_one_recommendation_replay ON jobs (organization_id) WHERE type = 'recommendation_replay' AND finished_at IS NULL`
})
