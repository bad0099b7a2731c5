/**
 * Claims of partitions: each is applied by one process at a time, under a claim that expires by the database's clock
 * unless it is renewed. When a process dies, the next one to poll takes its partitions. One function per statement.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const CLAIM_S = 10

interface Claimed {
  readonly partition: number
  /** Every record below it is applied. */ readonly next_offset: number
}

export const makeClaims = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  return {
    /** Inserts a row for each partition. */
    prepare: (partitions: number) =>
      sql`INSERT INTO catalog_apply_offsets (log_partition, next_offset) SELECT p, 0 FROM generate_series(0, ${partitions - 1}::int4) AS p ON CONFLICT DO NOTHING`,
    /** Takes the unclaimed partitions, or all if no other process can exist. */
    take: (process: string, partitions: number, isAlone: boolean) =>
      sql<Claimed>`UPDATE catalog_apply_offsets SET claimed_by = ${process}, claimed_until = clock_timestamp() + make_interval(secs => ${CLAIM_S}::int4)
        WHERE log_partition < ${partitions}::int4 AND claimed_by IS DISTINCT FROM ${process}
          AND (${isAlone} OR claimed_until IS NULL OR claimed_until < clock_timestamp())
        RETURNING log_partition AS partition, next_offset::float8 AS next_offset`,
    /** Renews and returns the partitions that this process still holds. */
    renew: (process: string) =>
      sql<Claimed>`UPDATE catalog_apply_offsets SET claimed_until = clock_timestamp() + make_interval(secs => ${CLAIM_S}::int4)
        WHERE claimed_by = ${process} RETURNING log_partition AS partition, next_offset::float8 AS next_offset`,
    release: (process: string) =>
      sql`UPDATE catalog_apply_offsets SET claimed_by = NULL, claimed_until = NULL WHERE claimed_by = ${process}`,
    /** Locks them until the transaction ends; false if another process holds one. */
    hold: (process: string, partitions: ReadonlyArray<number>) =>
      Effect.map(
        sql`SELECT 1 FROM catalog_apply_offsets WHERE claimed_by = ${process} AND log_partition = ANY(${partitions.map(String)}::text[]::int4[]) ORDER BY log_partition FOR UPDATE`,
        (rows) => rows.length === partitions.length
      ),
    move: (process: string, offsets: ReadonlyArray<readonly [partition: number, next: number]>) =>
      sql`UPDATE catalog_apply_offsets o SET next_offset = GREATEST(o.next_offset, t.next)
        FROM unnest(${offsets.map(([partition]) => String(partition))}::text[]::int4[], ${offsets.map(([, next]) => String(next))}::text[]::int8[]) AS t (partition, next)
        WHERE o.log_partition = t.partition AND o.claimed_by = ${process}`
  }
})
