/**
 * Rows of webhook endpoints. One function per statement; every statement that a caller reaches names the organization.
 */
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { StoredSecret } from "./secrets.ts"

export interface StoredEndpoint {
  readonly id: string
  readonly organization_id: string
  readonly name: string
  readonly url: string
  readonly events: ReadonlyArray<string>
  readonly enabled: boolean
  readonly secrets: ReadonlyArray<StoredSecret>
  readonly failing_since: number | undefined
  readonly disabled_at: number | undefined
  readonly disabled_reason: string | undefined
  readonly created_at: number
  readonly updated_at: number
}
type Nullable<T> = { readonly [K in keyof T]: undefined extends T[K] ? Exclude<T[K], undefined> | null : T[K] }
type EndpointRow = Omit<Nullable<StoredEndpoint>, "events" | "secrets"> & {
  readonly events: unknown
  readonly secrets: unknown
}

export const decodeSecrets = Schema.decodeUnknownSync(
  Schema.Array(Schema.Struct({ sealed: Schema.String, valid_until: Schema.optionalKey(Schema.Number) }))
)
const decodeEvents = Schema.decodeUnknownSync(Schema.Array(Schema.String))
const endpointOf = (row: EndpointRow): StoredEndpoint => ({
  ...row,
  events: decodeEvents(row.events),
  secrets: decodeSecrets(row.secrets),
  failing_since: row.failing_since ?? undefined,
  disabled_at: row.disabled_at ?? undefined,
  disabled_reason: row.disabled_reason ?? undefined
})

/**
 * Rows of several organizations: an unreadable row gets no deliveries, and is reported, instead of blocking all others.
 */
const readable = (rows: ReadonlyArray<EndpointRow>) =>
  Effect.map(
    Effect.forEach(rows, (row) =>
      Effect.catch(
        Effect.map(
          Effect.try({ try: () => endpointOf(row), catch: (error) => error }),
          (endpoint): ReadonlyArray<StoredEndpoint> => [endpoint]
        ),
        (error) =>
          Effect.as(
            Effect.logError(
              `The webhook endpoint ${row.id} of ${row.organization_id} cannot be read; it gets no deliveries until its row is mended`,
              error
            ),
            []
          )
      )
    ),
    (endpoints) => endpoints.flat()
  )

export const makeEndpointsRepository = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const columns =
    sql.literal(`id, organization_id, name, url, events, enabled, secrets, failing_since::float8 AS failing_since, disabled_at::float8 AS disabled_at, disabled_reason,
    created_at::float8 AS created_at, updated_at::float8 AS updated_at`)
  const many = Effect.map((rows: ReadonlyArray<EndpointRow>) => rows.map(endpointOf))
  const one = Effect.map(([row]: ReadonlyArray<EndpointRow>) => (row === undefined ? undefined : endpointOf(row)))
  return {
    page: (organizationId: string, after: string | undefined, limit: number) =>
      many(
        sql<EndpointRow>`SELECT ${columns} FROM webhook_endpoints WHERE organization_id = ${organizationId} AND id > ${after ?? ""} ORDER BY id LIMIT ${limit}::int4`
      ),
    get: (organizationId: string, id: string) =>
      one(
        sql<EndpointRow>`SELECT ${columns} FROM webhook_endpoints WHERE organization_id = ${organizationId} AND id = ${id}`
      ),
    /** Locks the row until the transaction ends. */
    lock: (organizationId: string, id: string) =>
      one(
        sql<EndpointRow>`SELECT ${columns} FROM webhook_endpoints WHERE organization_id = ${organizationId} AND id = ${id} FOR UPDATE`
      ),
    /** Enabled endpoints of some organizations, locked against disabling and deletion until the transaction ends. */
    enabledOf: (organizationIds: ReadonlyArray<string>) =>
      Effect.flatMap(
        sql<EndpointRow>`SELECT ${columns} FROM webhook_endpoints WHERE organization_id = ANY(${[...organizationIds]}::text[]) AND enabled ORDER BY id FOR SHARE`,
        readable
      ),
    /**
     * False if the organization has `countMax` endpoints. The organization's row is locked, so that two concurrent
     * creations cannot both be the last.
     */
    insert: (endpoint: StoredEndpoint, countMax: number) =>
      Effect.gen(function* () {
        yield* sql`SELECT 1 FROM organizations WHERE id = ${endpoint.organization_id} FOR UPDATE`
        const inserted =
          yield* sql`INSERT INTO webhook_endpoints (id, organization_id, name, url, events, enabled, secrets, created_at, updated_at)
        SELECT ${endpoint.id}, ${endpoint.organization_id}, ${endpoint.name}, ${endpoint.url}, ${JSON.stringify(endpoint.events)}::text::jsonb, ${endpoint.enabled}, ${JSON.stringify(endpoint.secrets)}::text::jsonb,
          ${String(endpoint.created_at)}::text::int8, ${String(endpoint.updated_at)}::text::int8
        WHERE (SELECT count(*) FROM webhook_endpoints WHERE organization_id = ${endpoint.organization_id}) < ${countMax}::int4 RETURNING id`
        return inserted.length > 0
      }),
    save: (endpoint: StoredEndpoint) => {
      const at = (time: number | undefined) => (time === undefined ? null : String(time))
      return sql`UPDATE webhook_endpoints SET name = ${endpoint.name}, url = ${endpoint.url}, events = ${JSON.stringify(endpoint.events)}::text::jsonb, enabled = ${endpoint.enabled},
        secrets = ${JSON.stringify(endpoint.secrets)}::text::jsonb, failing_since = ${at(endpoint.failing_since)}::text::int8, disabled_at = ${at(endpoint.disabled_at)}::text::int8,
        disabled_reason = ${endpoint.disabled_reason ?? null}, updated_at = ${String(endpoint.updated_at)}::text::int8 WHERE id = ${endpoint.id}`
    },
    /** Its deliveries are deleted with it. */
    remove: (organizationId: string, id: string) =>
      sql`DELETE FROM webhook_endpoints WHERE organization_id = ${organizationId} AND id = ${id}`,
    /** Locked in the order of ids, as everywhere, so that two recorders never deadlock. */
    lockMany: (ids: ReadonlyArray<string>) =>
      many(
        sql<EndpointRow>`SELECT ${columns} FROM webhook_endpoints WHERE id = ANY(${[...ids]}::text[]) ORDER BY id FOR UPDATE`
      )
  }
})
