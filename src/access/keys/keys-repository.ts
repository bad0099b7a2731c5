/** Rows of keys, which `Access` caches in memory, so that a request never waits for a look-up. */
import { Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import type { Subject } from "../../configuration/change.ts"
import type { KeyRecord } from "../../identity/key-record.ts"
import { type KeyParts, type KeyRow, keysOfRows, PartsReader, type PartsRow } from "./stored-keys.ts"

/** At most `rowsMax` keys with ids greater than `after`. */
interface KeysPage {
  readonly after: string
  readonly rowsMax: number
}

/** One function per statement. Times are cast to float8 so that they arrive as numbers. */
export const makeKeysRepository = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const named = (subjects: ReadonlyArray<Subject> | "all") =>
    subjects === "all" ? sql`true` : sql`id = ANY(${subjects.map(({ id }) => id)}::text[])`
  const reader = new PartsReader()
  return {
    /**
     * A page of all keys in byte order of their ids, which matches this program's order whatever the database's
     * collation.
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
              const read = reader.partsOf(row)
              parts.push("own" in read ? read : yield* read)
            }
            if (rows.length < rowsMax) reader.forget()
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
    insertKey: (key: KeyRecord) =>
      sql`INSERT INTO api_keys (id, organization_id, scope, description, actions, collections, value_prefix, lookup_hash, sealed_digest, restrictions, rate_limit_per_minute, expires_at, created_at, autodelete, installation_id)
        VALUES (${key.id}, ${key.organization_id}, ${key.scope}, ${key.description}, ${JSON.stringify(key.actions)}::text::jsonb, ${JSON.stringify(key.collections)}::text::jsonb,
          ${key.value_prefix}, ${key.lookup_hash}, ${key.sealed_digest ?? null}, ${JSON.stringify({ cidrs: key.cidrs, origins: key.origins, filter_by: key.filter_by, fields: key.fields, ...(key.personalization === false ? { personalization: false } : {}) })}::text::jsonb,
          ${key.rate_limit_per_minute}, ${key.expires_at}, ${key.created_at}, ${key.autodelete}, ${key.installation_id ?? null})`,
    /**
     * How many keys the organization's lists show, counted up to `upTo`. Locks the count until the transaction ends.
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
    /** Keys with `autodelete` whose expiry has passed (Unix seconds). */
    expired: (now_s: number) =>
      Effect.flatMap(
        sql<KeyRow>`SELECT id, organization_id, scope, description, actions, collections, value_prefix, lookup_hash, sealed_digest, restrictions, rate_limit_per_minute,
        expires_at::float8 AS expires_at, created_at::float8 AS created_at, revoked_at::float8 AS revoked_at, autodelete, installation_id FROM api_keys WHERE autodelete AND revoked_at IS NULL AND expires_at <= ${String(now_s)}::text::int8 ORDER BY id LIMIT 1000`,
        keysOfRows
      ),
    /** False if it was already revoked. */
    revokeKey: (id: string, at: number) =>
      Effect.map(
        sql`UPDATE api_keys SET revoked_at = ${at} WHERE id = ${id} AND revoked_at IS NULL RETURNING id`,
        (rows) => rows.length > 0
      )
  }
})
