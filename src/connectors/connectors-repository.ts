/** Rows of connectors. One function per statement. */
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { Subject } from "../configuration/change.ts"
import { MappingFields, type Mapping } from "./mapping/source.ts"
import { PROVIDER_NAMES } from "./mapping/providers.ts"
import { SYNC_MODES } from "./schema.ts"

const Secrets = Schema.Array(Schema.Struct({ sealed: Schema.String, valid_until: Schema.optionalKey(Schema.Number) }))
type StoredSecrets = typeof Secrets.Type
export interface StoredConnector {
  readonly id: string
  readonly organization_id: string
  readonly name: string
  readonly collection: string
  readonly provider: (typeof PROVIDER_NAMES)[number]
  readonly sync_mode: (typeof SYNC_MODES)[number]
  readonly schedule_cron: string | undefined
  readonly pull_url: string | undefined
  /** Sealed. */ readonly pull_token: string | undefined
  readonly mapping: Mapping | undefined
  readonly secrets: StoredSecrets
  readonly secret_preview: string
  readonly enabled: boolean
  /** Unix milliseconds. */ readonly created_at: number
  readonly updated_at: number
}
export interface ConnectorState {
  readonly last_sync_at: number | null
  readonly last_error: string | null
}
type Nullable<T> = { readonly [K in keyof T]: undefined extends T[K] ? Exclude<T[K], undefined> | null : T[K] }
type ConnectorRow = Nullable<Omit<StoredConnector, "mapping" | "provider" | "secrets" | "sync_mode">> & {
  readonly mapping: unknown
  readonly provider: unknown
  readonly secrets: unknown
  readonly sync_mode: unknown
}
const decodeSecrets = Schema.decodeUnknownSync(Secrets)
const decodeMapping = Schema.decodeUnknownSync(MappingFields)
const decodeProvider = Schema.decodeUnknownSync(Schema.Literals(PROVIDER_NAMES))
const decodeMode = Schema.decodeUnknownSync(Schema.Literals(SYNC_MODES))
/** Throws if the row is not a valid connector. */
export const connectorOf = (row: ConnectorRow): StoredConnector => ({
  ...row,
  provider: decodeProvider(row.provider),
  sync_mode: decodeMode(row.sync_mode),
  schedule_cron: row.schedule_cron ?? undefined,
  pull_url: row.pull_url ?? undefined,
  pull_token: row.pull_token ?? undefined,
  secrets: decodeSecrets(row.secrets),
  mapping: row.mapping === null ? undefined : decodeMapping(row.mapping)
})
const json = (value: unknown): string | null => (value === undefined ? null : JSON.stringify(value))

export const makeConnectorsRepository = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const columns =
    "id, organization_id, name, collection, provider, sync_mode, schedule_cron, pull_url, pull_token, mapping, secrets, secret_preview, enabled, created_at::float8 AS created_at, updated_at::float8 AS updated_at"
  const time = (at: number) => sql`${String(at)}::text::int8`
  return {
    read: (subjects: ReadonlyArray<Subject> | "all") =>
      subjects === "all"
        ? sql.unsafe<ConnectorRow>(`SELECT ${columns} FROM connectors`)
        : sql.unsafe<ConnectorRow>(`SELECT ${columns} FROM connectors WHERE id = ANY($1::text[])`, [
            subjects.map(({ id }) => id)
          ]),
    /** Blocks the creation of other connectors of the organization until the transaction ends. */
    lock: (organizationId: string) =>
      sql`SELECT pg_advisory_xact_lock(hashtextextended(${`connectors of ${organizationId}`}, 0))`,
    count: (organizationId: string) =>
      Effect.map(
        sql<{ n: number }>`SELECT count(*)::int4 AS n FROM connectors WHERE organization_id = ${organizationId}`,
        ([row]) => row!.n
      ),
    insert: (own: StoredConnector) =>
      sql`INSERT INTO connectors (id, organization_id, name, collection, provider, sync_mode, schedule_cron, pull_url, pull_token, mapping, secrets, secret_preview, enabled, created_at, updated_at)
        VALUES (${own.id}, ${own.organization_id}, ${own.name}, ${own.collection}, ${own.provider}, ${own.sync_mode}, ${own.schedule_cron ?? null}, ${own.pull_url ?? null}, ${own.pull_token ?? null},
          ${json(own.mapping)}::text::json, ${JSON.stringify(own.secrets)}::text::jsonb, ${own.secret_preview}, ${own.enabled}, ${time(own.created_at)}, ${time(own.updated_at)})`,
    /** Updates everything that an owner may change, and the secrets; false if the connector is gone. */
    replace: (own: StoredConnector) =>
      Effect.map(
        sql`UPDATE connectors SET name = ${own.name}, schedule_cron = ${own.schedule_cron ?? null}, pull_url = ${own.pull_url ?? null}, pull_token = ${own.pull_token ?? null}, mapping = ${json(own.mapping)}::text::json, secrets = ${JSON.stringify(own.secrets)}::text::jsonb, secret_preview = ${own.secret_preview}, enabled = ${own.enabled}, updated_at = ${time(own.updated_at)}
          WHERE organization_id = ${own.organization_id} AND id = ${own.id} RETURNING id`,
        (rows) => rows.length > 0
      ),
    lockOne: (organizationId: string, id: string) =>
      Effect.map(
        sql.unsafe<ConnectorRow>(
          `SELECT ${columns} FROM connectors WHERE organization_id = $1 AND id = $2 FOR UPDATE`,
          [organizationId, id]
        ),
        ([row]) => (row === undefined ? undefined : connectorOf(row))
      ),
    /** Its state is deleted too; its journal and versions, which nobody can read any more, are swept later. */
    remove: Effect.fnUntraced(function* (organizationId: string, id: string) {
      yield* sql`DELETE FROM jobs WHERE organization_id = ${organizationId} AND type IN ('catalog_push', 'catalog_pull') AND config->>'connector_id' = ${id}`
      yield* sql`WITH gone AS (DELETE FROM connectors WHERE organization_id = ${organizationId} AND id = ${id} RETURNING id)
        INSERT INTO connector_leftovers (connector_id) SELECT id FROM gone`
    }),
    states: (ids: ReadonlyArray<string>) =>
      Effect.map(
        sql.unsafe<ConnectorState & { readonly connector_id: string }>(
          "SELECT connector_id, last_sync_at::float8 AS last_sync_at, last_error FROM connector_states WHERE connector_id = ANY($1::text[])",
          [ids]
        ),
        (rows) => new Map<string, ConnectorState>(rows.map((row) => [row.connector_id, row]))
      ),
    creation: (organizationId: string, key: string, since: number) =>
      Effect.map(
        sql<{
          body_hash: string
          answer: string
        }>`SELECT body_hash, answer FROM connector_creations WHERE organization_id = ${organizationId} AND idempotency_key = ${key} AND created_at > ${time(since)}`,
        ([row]) => row
      ),
    /** `answer` is sealed, because it contains the secret. */
    keepCreation: (organizationId: string, key: string, bodyHash: string, answer: string, now: number) =>
      sql`INSERT INTO connector_creations (organization_id, idempotency_key, body_hash, answer, created_at)
        VALUES (${organizationId}, ${key}, ${bodyHash}, ${answer}, ${time(now)})
        ON CONFLICT (organization_id, idempotency_key) DO UPDATE SET body_hash = EXCLUDED.body_hash, answer = EXCLUDED.answer, created_at = EXCLUDED.created_at`
  }
})
/** After a day, a repeated creation creates a new connector. */
const CREATION_KEPT_MS = 24 * 3_600_000
export const expireCreations = (rowsMax: number) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const rows = yield* sql`DELETE FROM connector_creations WHERE (organization_id, idempotency_key) IN
      (SELECT organization_id, idempotency_key FROM connector_creations WHERE created_at < extract(epoch FROM clock_timestamp()) * 1000 - ${CREATION_KEPT_MS}::int8 LIMIT ${rowsMax}::int4) RETURNING 1`
    return rows.length
  })
