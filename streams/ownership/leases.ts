/**
 * Leases on partitions in Postgres, one function per statement. All times are the server's, so the clocks of processes
 * do not matter. A lease that has ended stays its owner's until somebody takes it, which raises the fence.
 *
 * Decision: leases here and not a consumer group of the brokers. Exactness is decided in the transaction that moves the
 * offsets, and only a row that this transaction can read fences it. A group's assignment is stored elsewhere, lags by a
 * session, and its membership ends silently during a long batch.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { UnitLease, Member, Unit } from "../offsets/assignment.ts"
import type { Progress } from "../runner/options.ts"

export interface LeaseHeld extends Unit {
  readonly fence: number
  readonly progress: Progress | undefined
}

const seconds = (ms: number): string => String(ms / 1_000)

/** Announces that a process is alive, and removes those that have been silent for ten leases. */
export const announceMember = Effect.fnUntraced(function* ({ member, processors }: Member, lease_ms: number) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`INSERT INTO stream_members (member, processors, expires_at) VALUES (${member}, ${[...processors]}::text[], now() + ${seconds(lease_ms)}::text::interval)
    ON CONFLICT (member) DO UPDATE SET processors = EXCLUDED.processors, expires_at = EXCLUDED.expires_at`
  yield* sql`DELETE FROM stream_members WHERE expires_at < now() - ${seconds(10 * lease_ms)}::text::interval`
})

export const retireMember = Effect.fnUntraced(function* (member: string) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`DELETE FROM stream_members WHERE member = ${member}`
})

export const liveMembers = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  return yield* sql<Member>`SELECT member, processors FROM stream_members WHERE expires_at > now()`
})

/** Leases of every partition that ever had an owner. */
export const readLeases = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{
    consumer_group: string
    partition: number
    owner: string
    is_live: boolean
    progress: Progress | null
  }>`
    SELECT consumer_group, partition, owner, expires_at > now() AS is_live, progress FROM stream_leases`
  return rows.map(
    ({
      consumer_group,
      is_live,
      owner,
      partition,
      progress
    }): UnitLease & { readonly progress: Progress | undefined } => ({
      group: consumer_group,
      partition,
      owner: is_live ? owner : undefined,
      progress: progress ?? undefined
    })
  )
})

/** Renews leases and stores the progress of their partitions; returns the keys of those still held. */
export const renewLeases = Effect.fnUntraced(function* (
  owner: string,
  leases: ReadonlyArray<LeaseHeld>,
  lease_ms: number
) {
  const sql = yield* SqlClient.SqlClient
  if (leases.length === 0) return []
  const rows = yield* sql<{ consumer_group: string; partition: number }>`
    UPDATE stream_leases l SET expires_at = now() + ${seconds(lease_ms)}::text::interval, progress = coalesce(nullif(t.progress, '')::jsonb, l.progress)
    FROM unnest(${leases.map(({ group }) => group)}::text[], ${leases.map(({ partition }) => String(partition))}::text[]::int4[], ${leases.map(({ fence }) => String(fence))}::text[]::int8[],
      ${leases.map(({ progress }) => (progress === undefined ? "" : JSON.stringify(progress)))}::text[]) AS t (consumer_group, partition, fence, progress)
    WHERE l.consumer_group = t.consumer_group AND l.partition = t.partition AND l.fence = t.fence AND l.owner = ${owner}
    RETURNING l.consumer_group, l.partition`
  return rows.map(({ consumer_group, partition }): Unit => ({ group: consumer_group, partition }))
})

/** The new fence, or undefined if another process holds the partition. */
export const claimLease = Effect.fnUntraced(function* (owner: string, { group, partition }: Unit, lease_ms: number) {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ fence: number }>`
    INSERT INTO stream_leases (consumer_group, partition, owner, fence, expires_at) VALUES (${group}, ${partition}::int4, ${owner}, 1, now() + ${seconds(lease_ms)}::text::interval)
    ON CONFLICT (consumer_group, partition) DO UPDATE SET owner = EXCLUDED.owner, fence = stream_leases.fence + 1, expires_at = EXCLUDED.expires_at
    WHERE stream_leases.expires_at <= now() RETURNING fence::float8 AS fence`
  return row?.fence
})

/** Ends a lease immediately, so that a successor need not wait for it. */
export const releaseLease = Effect.fnUntraced(function* (
  owner: string,
  { fence, group, partition }: Unit & { readonly fence: number }
) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`UPDATE stream_leases SET expires_at = now() WHERE consumer_group = ${group} AND partition = ${partition}::int4 AND owner = ${owner} AND fence = ${String(fence)}::text::int8`
})
