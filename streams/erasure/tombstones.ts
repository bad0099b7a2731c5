/** Rows of tombstones, one function per statement. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { packPrints, type Tombstone, unpackPrints } from "./erasures.ts"

interface Row {
  readonly organization_id: string
  readonly job_id: string
  readonly erased_at: number
  readonly prints: string
  readonly ends: Readonly<Record<string, number>>
}

/** Tombstones of all organizations: some hundred bytes each, removed when the log contains nothing that they hide. */
export const readTombstones = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows =
    yield* sql<Row>`SELECT organization_id, job_id, erased_at::float8 AS erased_at, encode(prints, 'hex') AS prints, ends FROM event_tombstones`
  return rows.map(({ ends, erased_at, job_id, organization_id, prints }): Tombstone => ({
    organizationId: organization_id,
    jobId: job_id,
    erasedAt: erased_at,
    prints: unpackPrints(prints),
    ends
  }))
})

/** Call in the transaction that creates the job. */
export const putTombstone = Effect.fnUntraced(function* ({ ends, erasedAt, jobId, organizationId, prints }: Tombstone) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`INSERT INTO event_tombstones (organization_id, job_id, erased_at, prints, ends)
    VALUES (${organizationId}, ${jobId}, ${String(erasedAt)}::text::int8, decode(${packPrints(prints)}, 'hex'), ${JSON.stringify(ends)}::text::jsonb)`
})

export const extendTombstone = Effect.fnUntraced(function* (
  { jobId, organizationId }: Pick<Tombstone, "organizationId" | "jobId">,
  prints: Iterable<string>
) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`UPDATE event_tombstones SET prints = decode(${packPrints(prints)}, 'hex') WHERE organization_id = ${organizationId} AND job_id = ${jobId}`
})

/** Removes tombstones that hide nothing any more: `starts` are the log's oldest offsets, by topic/partition. */
export const expireTombstones = Effect.fnUntraced(function* (starts: Readonly<Record<string, number>>) {
  const sql = yield* SqlClient.SqlClient
  const removed =
    yield* sql`DELETE FROM event_tombstones t WHERE NOT EXISTS (SELECT 1 FROM jobs j WHERE j.id = t.job_id AND j.finished_at IS NULL)
    AND NOT EXISTS (SELECT 1 FROM jsonb_each_text(t.ends) e WHERE e.value::int8 > coalesce((${JSON.stringify(starts)}::text::jsonb ->> e.key)::int8, 0)) RETURNING job_id`
  return removed.length
})
