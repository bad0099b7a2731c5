/** Rows of alerts. One function per statement. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Alert } from "./schema.ts"

export interface StoredAlert extends Alert {
  readonly organization_id: string
}
interface AlertRow extends Omit<StoredAlert, "collection"> {
  readonly collection: string | null
}
const alertOf = ({ collection, ...row }: AlertRow): StoredAlert => ({
  ...row,
  ...(collection === null ? {} : { collection })
})
const first = (rows: ReadonlyArray<AlertRow>): StoredAlert | undefined =>
  rows[0] === undefined ? undefined : alertOf(rows[0])

export const makeAlertsRepository = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const columns = sql.literal(
    "id, organization_id, name, metric, op, threshold, window_minutes, collection, enabled, state, last_value, last_fired_at::float8 AS last_fired_at, created_at::float8 AS created_at, updated_at::float8 AS updated_at"
  )
  const time = (at: number) => sql`${String(at)}::text::int8`
  const number = (value: number | null) => sql`${value === null ? null : String(value)}::text::float8`
  return {
    lockCount: (organizationId: string) =>
      Effect.map(
        Effect.andThen(
          sql`SELECT pg_advisory_xact_lock(hashtextextended(${`alerts of ${organizationId}`}, 0))`,
          sql<{ n: number }>`SELECT count(*)::int4 AS n FROM alerts WHERE organization_id = ${organizationId}`
        ),
        ([row]) => row!.n
      ),
    put: (alert: StoredAlert) =>
      sql`INSERT INTO alerts (id, organization_id, name, metric, op, threshold, window_minutes, collection, enabled, state, last_value, last_fired_at, created_at, updated_at)
        VALUES (${alert.id}, ${alert.organization_id}, ${alert.name}, ${alert.metric}, ${alert.op}, ${number(alert.threshold)}, ${alert.window_minutes}::int4, ${alert.collection ?? null}, ${alert.enabled},
          ${alert.state}, ${number(alert.last_value)}, ${alert.last_fired_at === null ? null : String(alert.last_fired_at)}::text::int8, ${time(alert.created_at)}, ${time(alert.updated_at)})
        ON CONFLICT (organization_id, id) DO UPDATE SET name = EXCLUDED.name, metric = EXCLUDED.metric, op = EXCLUDED.op, threshold = EXCLUDED.threshold, window_minutes = EXCLUDED.window_minutes,
          collection = EXCLUDED.collection, enabled = EXCLUDED.enabled, state = EXCLUDED.state, last_value = EXCLUDED.last_value, updated_at = EXCLUDED.updated_at`,
    get: (organizationId: string, id: string) =>
      Effect.map(
        sql<AlertRow>`SELECT ${columns} FROM alerts WHERE organization_id = ${organizationId} AND id = ${id}`,
        first
      ),
    /** Locks the row until the transaction ends. */
    lock: (organizationId: string, id: string) =>
      Effect.map(
        sql<AlertRow>`SELECT ${columns} FROM alerts WHERE organization_id = ${organizationId} AND id = ${id} FOR UPDATE`,
        first
      ),
    /** Ordered by id. `collections` are LIKE patterns, one of which must match; all if absent. */
    page: (
      organizationId: string,
      after: string | undefined,
      limit: number,
      collections: ReadonlyArray<string> | undefined
    ) =>
      Effect.map(
        sql<AlertRow>`SELECT ${columns} FROM alerts WHERE organization_id = ${organizationId} AND (${after ?? null}::text IS NULL OR id > ${after ?? null})
          AND (${collections === undefined} OR collection LIKE ANY(${collections ?? []}::text[])) ORDER BY id LIMIT ${limit}::int4`,
        (rows) => rows.map(alertOf)
      ),
    remove: (organizationId: string, id: string) =>
      sql`DELETE FROM alerts WHERE organization_id = ${organizationId} AND id = ${id}`,
    /** Organizations with alerts on latencies and failures of searches. */
    timedOrganizations: Effect.map(
      sql<{
        organization_id: string
      }>`SELECT DISTINCT organization_id FROM alerts WHERE enabled AND metric IN ('error_rate', 'p95_latency_ms')`,
      (rows): ReadonlySet<string> => new Set(rows.map(({ organization_id }) => organization_id))
    ),
    ofCollection: (organizationId: string, collection: string) =>
      Effect.map(
        sql<{
          id: string
        }>`SELECT id FROM alerts WHERE organization_id = ${organizationId} AND collection = ${collection}`,
        (rows) => rows.map(({ id }) => id)
      ),
    /** Claims alerts not evaluated since `before`, except those that another process is evaluating. */
    due: (before: number, now: number, limit: number) =>
      Effect.map(
        sql<AlertRow>`UPDATE alerts SET looked_at = ${time(now)} WHERE (organization_id, id) IN
          (SELECT organization_id, id FROM alerts WHERE enabled AND looked_at <= ${time(before)} ORDER BY looked_at LIMIT ${limit}::int4 FOR UPDATE SKIP LOCKED)
          RETURNING ${columns}`,
        (rows) => rows.map(alertOf)
      ),
    storeResult: (
      organizationId: string,
      id: string,
      { last_fired_at, last_value, state }: Pick<Alert, "state" | "last_value" | "last_fired_at">
    ) =>
      sql`UPDATE alerts SET state = ${state}, last_value = ${number(last_value)}, last_fired_at = ${last_fired_at === null ? null : String(last_fired_at)}::text::int8
        WHERE organization_id = ${organizationId} AND id = ${id}`
  }
})

export const alertsTable = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE TABLE alerts (
    organization_id text NOT NULL REFERENCES organizations (id),
    id text NOT NULL,
    name text NOT NULL,
    metric text NOT NULL,
    op text NOT NULL CHECK (op IN ('>', '<')),
    threshold float8 NOT NULL,
    window_minutes int4 NOT NULL,
    collection text,
    enabled boolean NOT NULL,
    state text NOT NULL CHECK (state IN ('ok', 'firing')),
    last_value float8,
    last_fired_at bigint,
    looked_at bigint NOT NULL DEFAULT 0,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    PRIMARY KEY (organization_id, id)
  )`
  yield* sql`CREATE INDEX alerts_due ON alerts (looked_at) WHERE enabled`
})
