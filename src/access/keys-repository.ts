/** Rows of organizations and keys, which `Access` keeps in memory: a request never waits for a look-up. */
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { Subject } from "../configuration/change.ts"
import type { KeyRecord } from "./key-record.ts"

export interface OrganizationRecord {
  readonly id: string
  readonly name: string
  readonly status: "active" | "paused"
  readonly paused_reason: "payment" | "manual" | undefined
  readonly plan: string
  readonly created_at: number
}

const Restrictions = Schema.Struct({
  cidrs: Schema.Array(Schema.String),
  origins: Schema.Array(Schema.String),
  filter_by: Schema.Record(Schema.String, Schema.String),
  // Rows of before this restriction do not have it.
  fields: Schema.optionalKey(Schema.Array(Schema.String))
})
const decodeRestrictions = Schema.decodeUnknownSync(Restrictions)
const decodeNames = Schema.decodeUnknownSync(Schema.Array(Schema.String))

interface KeyRow {
  readonly id: string; readonly organization_id: string; readonly scope: KeyRecord["scope"]; readonly description: string
  readonly actions: unknown; readonly collections: unknown; readonly value_prefix: string; readonly lookup_hash: string
  readonly sealed_digest: string | null; readonly restrictions: unknown; readonly rate_limit_per_minute: number
  readonly expires_at: number; readonly created_at: number; readonly revoked_at: number | null
  readonly autodelete: boolean; readonly installation_id: string | null
}
interface SigningKeyRow { readonly organization_id: string; readonly sealed_key: string }
interface OrganizationRow { readonly id: string; readonly name: string; readonly status: "active" | "paused"; readonly paused_reason: "payment" | "manual" | null; readonly plan: string; readonly created_at: number }

const keyOfRow = (row: KeyRow): KeyRecord => ({
  id: row.id,
  organization_id: row.organization_id,
  scope: row.scope,
  description: row.description,
  actions: decodeNames(row.actions),
  collections: decodeNames(row.collections),
  value_prefix: row.value_prefix,
  lookup_hash: row.lookup_hash,
  sealed_digest: row.sealed_digest ?? undefined,
  fields: [],
  ...decodeRestrictions(row.restrictions),
  autodelete: row.autodelete,
  installation_id: row.installation_id ?? undefined,
  rate_limit_per_minute: row.rate_limit_per_minute,
  expires_at: row.expires_at,
  created_at: row.created_at,
  revoked_at: row.revoked_at ?? undefined
})

/**
 * A row that cannot be read is a key that nobody has: told, and known as revoked, so that memory forgets what it was. All
 * others go on; a row that stopped them all would shut out every organization.
 */
const keysOfRows = (rows: ReadonlyArray<KeyRow>) =>
  Effect.forEach(rows, (row) => Effect.catch(
    Effect.try({ try: () => keyOfRow(row), catch: (error) => error }),
    (error) => Effect.as(Effect.logError(`The row of key ${row.id} cannot be read; the key is refused`, error), keyOfRow({ ...row, actions: [], collections: [], restrictions: { cidrs: [], origins: [], filter_by: {} }, sealed_digest: null, revoked_at: row.revoked_at ?? row.created_at }))
  ))

const organizationOfRow = (row: OrganizationRow): OrganizationRecord => ({ ...row, paused_reason: row.paused_reason ?? undefined })

/** At most so many keys whose ids come after this one. */
export interface KeysPage { readonly after: string; readonly rowsMax: number }

/** One function per statement. Times are cast to float8 so that they arrive as numbers. */
export const makeKeysRepository = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const named = (subjects: ReadonlyArray<Subject> | "all") => subjects === "all" ? sql`true` : sql`id = ANY(${subjects.map(({ id }) => id)}::text[])`
  /** In the order of bytes, which is that of this program too, whatever the database's language. */
  const page = ({ after, rowsMax }: KeysPage) => sql`id IN (SELECT id FROM api_keys WHERE id COLLATE "C" > ${after} ORDER BY id COLLATE "C" LIMIT ${rowsMax}::int4)`
  return {
    organizations: (subjects: ReadonlyArray<Subject> | "all") => Effect.map(
      sql<OrganizationRow>`SELECT id, name, status, paused_reason, plan, created_at::float8 AS created_at FROM organizations WHERE ${named(subjects)} ORDER BY created_at, id`,
      (rows) => rows.map(organizationOfRow)
    ),
    keys: (subjects: ReadonlyArray<Subject> | KeysPage) => Effect.flatMap(
      sql<KeyRow>`SELECT id, organization_id, scope, description, actions, collections, value_prefix, lookup_hash, sealed_digest, restrictions, rate_limit_per_minute,
        expires_at::float8 AS expires_at, created_at::float8 AS created_at, revoked_at::float8 AS revoked_at, autodelete, installation_id FROM api_keys WHERE ${"after" in subjects ? page(subjects) : named(subjects)} ORDER BY created_at, id`,
      keysOfRows
    ),
    signingKeys: (subjects: ReadonlyArray<Subject> | "all") =>
      sql<SigningKeyRow>`SELECT organization_id, sealed_key FROM organization_signing_keys WHERE ${subjects === "all" ? sql`true` : sql`organization_id = ANY(${subjects.map(({ id }) => id)}::text[])`}`,
    /** The first one stays. */
    insertSigningKey: (organizationId: string, sealed: string, at: number) =>
      sql`INSERT INTO organization_signing_keys (organization_id, sealed_key, created_at) VALUES (${organizationId}, ${sealed}, ${at}) ON CONFLICT (organization_id) DO NOTHING`,
    /** Locked until the transaction ends. */
    lockOrganization: (id: string) => Effect.map(
      sql<OrganizationRow>`SELECT id, name, status, paused_reason, plan, created_at::float8 AS created_at FROM organizations WHERE id = ${id} FOR UPDATE`,
      ([row]) => row === undefined ? undefined : organizationOfRow(row)
    ),
    insertOrganization: (organization: OrganizationRecord) =>
      sql`INSERT INTO organizations (id, name, status, paused_reason, plan, created_at)
        VALUES (${organization.id}, ${organization.name}, ${organization.status}, ${organization.paused_reason ?? null}, ${organization.plan}, ${organization.created_at})`,
    updateOrganization: (organization: OrganizationRecord) =>
      sql`UPDATE organizations SET name = ${organization.name}, status = ${organization.status}, paused_reason = ${organization.paused_reason ?? null}, plan = ${organization.plan} WHERE id = ${organization.id}`,
    insertKey: (key: KeyRecord) =>
      sql`INSERT INTO api_keys (id, organization_id, scope, description, actions, collections, value_prefix, lookup_hash, sealed_digest, restrictions, rate_limit_per_minute, expires_at, created_at, autodelete, installation_id)
        VALUES (${key.id}, ${key.organization_id}, ${key.scope}, ${key.description}, ${JSON.stringify(key.actions)}::text::jsonb, ${JSON.stringify(key.collections)}::text::jsonb,
          ${key.value_prefix}, ${key.lookup_hash}, ${key.sealed_digest ?? null}, ${JSON.stringify({ cidrs: key.cidrs, origins: key.origins, filter_by: key.filter_by, fields: key.fields })}::text::jsonb,
          ${key.rate_limit_per_minute}, ${key.expires_at}, ${key.created_at}, ${key.autodelete}, ${key.installation_id ?? null})`,
    /** How many keys lists show of the organization, told up to `upTo`. Nobody else counts them before the transaction ends. */
    lockListed: (organizationId: string, upTo: number) => Effect.andThen(
      sql`SELECT 1 FROM organizations WHERE id = ${organizationId} FOR NO KEY UPDATE`,
      Effect.map(sql<{ readonly n: number }>`SELECT count(*)::int4 AS n FROM (SELECT 1 FROM api_keys WHERE organization_id = ${organizationId} AND revoked_at IS NULL AND scope <> 'installation' LIMIT ${upTo}::int4) AS listed`, ([row]) => row!.n)
    ),
    /** Keys that were to go with their time, which has come (Unix seconds). */
    expired: (now_s: number) => Effect.flatMap(
      sql<KeyRow>`SELECT id, organization_id, scope, description, actions, collections, value_prefix, lookup_hash, sealed_digest, restrictions, rate_limit_per_minute,
        expires_at::float8 AS expires_at, created_at::float8 AS created_at, revoked_at::float8 AS revoked_at, autodelete, installation_id FROM api_keys WHERE autodelete AND revoked_at IS NULL AND expires_at <= ${String(now_s)}::text::int8 ORDER BY id LIMIT 1000`,
      keysOfRows
    ),
    /** False when it was revoked already. */
    revokeKey: (id: string, at: number) => Effect.map(sql`UPDATE api_keys SET revoked_at = ${at} WHERE id = ${id} AND revoked_at IS NULL RETURNING id`, (rows) => rows.length > 0)
  }
})
