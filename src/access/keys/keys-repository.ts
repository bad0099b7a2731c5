/** Rows of organizations and keys, which `Access` keeps in memory: a request never waits for a look-up. */
import { Effect, Schema } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import type { Subject } from "../../configuration/change.ts"
import type { KeyRecord } from "../../identity/key-record.ts"
import type { OwnPart, Shared } from "./key-row.ts"

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
  readonly id: string
  readonly organization_id: string
  readonly scope: KeyRecord["scope"]
  readonly description: string
  readonly actions: unknown
  readonly collections: unknown
  readonly value_prefix: string
  readonly lookup_hash: string
  readonly sealed_digest: string | null
  readonly restrictions: unknown
  readonly rate_limit_per_minute: number
  readonly expires_at: number
  readonly created_at: number
  readonly revoked_at: number | null
  readonly autodelete: boolean
  readonly installation_id: string | null
}
interface SigningKeyRow {
  readonly organization_id: string
  readonly sealed_key: string
}
interface OrganizationRow {
  readonly id: string
  readonly name: string
  readonly status: "active" | "paused"
  readonly paused_reason: "payment" | "manual" | null
  readonly plan: string
  readonly created_at: number
}

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
 * A row that cannot be read is a key that nobody has: told, and known as revoked, so that memory forgets what it was.
 * All others go on; a row that stopped them all would shut out every organization.
 */
const keysOfRows = (rows: ReadonlyArray<KeyRow>) =>
  Effect.forEach(rows, (row) =>
    Effect.catch(Effect.try({ try: () => keyOfRow(row), catch: (error) => error }), (error) =>
      Effect.as(
        Effect.logError(`The row of key ${row.id} cannot be read; the key is refused`, error),
        keyOfRow({
          ...row,
          actions: [],
          collections: [],
          restrictions: { cidrs: [], origins: [], filter_by: {} },
          sealed_digest: null,
          revoked_at: row.revoked_at ?? row.created_at
        })
      )
    )
  )

/** A key in two parts: what is its own, and what many say alike, one object for all that say the same. */
export interface KeyParts {
  readonly own: OwnPart
  readonly shared: Shared
}
interface PartsRow extends Pick<
  KeyRow,
  | "id"
  | "organization_id"
  | "description"
  | "value_prefix"
  | "lookup_hash"
  | "sealed_digest"
  | "created_at"
  | "revoked_at"
> {
  /** `SharedRow` as JSON. */ readonly shared: string
}
type SharedRow = readonly [
  scope: KeyRecord["scope"],
  actions: unknown,
  collections: unknown,
  restrictions: unknown,
  rate_limit_per_minute: number,
  expires_at: number,
  autodelete: boolean,
  installation_id: string | null
]
/** Different ones that are remembered while pages are read; the key store keeps as many. */
const SHARED_MAX = 20_000
/** What a key has whose row cannot be read. */
const unreadableShared = { actions: [], collections: [], restrictions: { cidrs: [], origins: [], filter_by: {} } }

const sharedOf = (text: string): Shared => {
  const [scope, actions, collections, restrictions, rate_limit_per_minute, expires_at, autodelete, installation_id] =
    JSON.parse(text) as SharedRow
  const {
    created_at: _c,
    description: _d,
    id: _i,
    lookup_hash: _l,
    organization_id: _o,
    revoked_at: _r,
    sealed_digest: _s,
    value_prefix: _v,
    ...shared
  } = keyOfRow({
    scope,
    actions,
    collections,
    restrictions,
    rate_limit_per_minute,
    expires_at,
    autodelete,
    installation_id,
    id: "",
    organization_id: "",
    description: "",
    value_prefix: "",
    lookup_hash: "",
    sealed_digest: null,
    created_at: 0,
    revoked_at: null
  })
  return shared
}

const organizationOfRow = (row: OrganizationRow): OrganizationRecord => ({
  ...row,
  paused_reason: row.paused_reason ?? undefined
})

/** At most so many keys whose ids come after this one. */
export interface KeysPage {
  readonly after: string
  readonly rowsMax: number
}

/** One function per statement. Times are cast to float8 so that they arrive as numbers. */
export const makeKeysRepository = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const named = (subjects: ReadonlyArray<Subject> | "all") =>
    subjects === "all" ? sql`true` : sql`id = ANY(${subjects.map(({ id }) => id)}::text[])`
  const known = new Map<string, Shared>()
  const rememberedShared = (text: string): Shared => {
    let shared = known.get(text)
    if (shared === undefined) {
      shared = sharedOf(text)
      if (known.size < SHARED_MAX) known.set(text, shared)
    }
    return shared
  }
  const partsOfRow = ({
    created_at,
    description,
    id,
    lookup_hash,
    organization_id,
    revoked_at,
    sealed_digest,
    shared: text,
    value_prefix
  }: PartsRow): Effect.Effect<KeyParts> | KeyParts => {
    const own: OwnPart = {
      id,
      organization_id,
      description,
      value_prefix,
      lookup_hash,
      created_at,
      sealed_digest: sealed_digest ?? undefined,
      revoked_at: revoked_at ?? undefined
    }
    try {
      return { own, shared: rememberedShared(text) }
    } catch (error) {
      const [scope, , , , rate_limit_per_minute, expires_at, autodelete, installation_id] = JSON.parse(
        text
      ) as SharedRow
      const { actions, collections, restrictions } = unreadableShared
      const shared = sharedOf(
        JSON.stringify([
          scope,
          actions,
          collections,
          restrictions,
          rate_limit_per_minute,
          expires_at,
          autodelete,
          installation_id
        ])
      )
      return Effect.as(Effect.logError(`The row of key ${id} cannot be read; the key is refused`, error), {
        own: { ...own, sealed_digest: undefined, revoked_at: own.revoked_at ?? created_at },
        shared
      })
    }
  }
  return {
    organizations: (subjects: ReadonlyArray<Subject> | "all") =>
      Effect.map(
        sql<OrganizationRow>`SELECT id, name, status, paused_reason, plan, created_at::float8 AS created_at FROM organizations WHERE ${named(subjects)} ORDER BY created_at, id`,
        (rows) => rows.map(organizationOfRow)
      ),
    /**
     * A page of all keys in the order of their ids' bytes, which is that of this program too, whatever the database's
     * language.
     */
    keysPage: ({ after, rowsMax }: KeysPage): Effect.Effect<ReadonlyArray<KeyParts>, SqlError.SqlError> =>
      Effect.flatMap(
        sql<PartsRow>`SELECT id, organization_id, description, value_prefix, lookup_hash, sealed_digest, created_at::float8 AS created_at, revoked_at::float8 AS revoked_at,
          json_build_array(scope, actions, collections, restrictions, rate_limit_per_minute, expires_at, autodelete, installation_id)::text AS shared
        FROM api_keys WHERE id COLLATE "C" > ${after} ORDER BY id COLLATE "C" LIMIT ${rowsMax}::int4`,
        (rows) =>
          Effect.gen(function* () {
            const parts: Array<KeyParts> = []
            for (const row of rows) {
              const read = partsOfRow(row)
              parts.push("own" in read ? read : yield* read)
            }
            if (rows.length < rowsMax) known.clear()
            return parts
          })
      ),
    keysCount: Effect.map(sql<{ readonly n: number }>`SELECT count(*)::int4 AS n FROM api_keys`, ([row]) => row!.n),
    keys: (subjects: ReadonlyArray<Subject>) =>
      Effect.flatMap(
        sql<KeyRow>`SELECT id, organization_id, scope, description, actions, collections, value_prefix, lookup_hash, sealed_digest, restrictions, rate_limit_per_minute,
        expires_at::float8 AS expires_at, created_at::float8 AS created_at, revoked_at::float8 AS revoked_at, autodelete, installation_id FROM api_keys WHERE ${named(subjects)} ORDER BY created_at, id`,
        keysOfRows
      ),
    signingKeys: (subjects: ReadonlyArray<Subject> | "all") =>
      sql<SigningKeyRow>`SELECT organization_id, sealed_key FROM organization_signing_keys WHERE ${subjects === "all" ? sql`true` : sql`organization_id = ANY(${subjects.map(({ id }) => id)}::text[])`}`,
    /** The first one stays. */
    insertSigningKey: (organizationId: string, sealed: string, at: number) =>
      sql`INSERT INTO organization_signing_keys (organization_id, sealed_key, created_at) VALUES (${organizationId}, ${sealed}, ${at}) ON CONFLICT (organization_id) DO NOTHING`,
    /** Locked until the transaction ends. */
    lockOrganization: (id: string) =>
      Effect.map(
        sql<OrganizationRow>`SELECT id, name, status, paused_reason, plan, created_at::float8 AS created_at FROM organizations WHERE id = ${id} FOR UPDATE`,
        ([row]) => (row === undefined ? undefined : organizationOfRow(row))
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
    /**
     * How many keys lists show of the organization, told up to `upTo`. Nobody else counts them before the transaction
     * ends.
     */
    lockListed: (organizationId: string, upTo: number) =>
      Effect.andThen(
        sql`SELECT 1 FROM organizations WHERE id = ${organizationId} FOR NO KEY UPDATE`,
        Effect.map(
          sql<{
            readonly n: number
          }>`SELECT count(*)::int4 AS n FROM (SELECT 1 FROM api_keys WHERE organization_id = ${organizationId} AND revoked_at IS NULL AND scope <> 'installation' LIMIT ${upTo}::int4) AS listed`,
          ([row]) => row!.n
        )
      ),
    /** Keys that were to go with their time, which has come (Unix seconds). */
    expired: (now_s: number) =>
      Effect.flatMap(
        sql<KeyRow>`SELECT id, organization_id, scope, description, actions, collections, value_prefix, lookup_hash, sealed_digest, restrictions, rate_limit_per_minute,
        expires_at::float8 AS expires_at, created_at::float8 AS created_at, revoked_at::float8 AS revoked_at, autodelete, installation_id FROM api_keys WHERE autodelete AND revoked_at IS NULL AND expires_at <= ${String(now_s)}::text::int8 ORDER BY id LIMIT 1000`,
        keysOfRows
      ),
    /** False when it was revoked already. */
    revokeKey: (id: string, at: number) =>
      Effect.map(
        sql`UPDATE api_keys SET revoked_at = ${at} WHERE id = ${id} AND revoked_at IS NULL RETURNING id`,
        (rows) => rows.length > 0
      )
  }
})
