/** Rows of CMS installations and of their modules' reports. One function per statement. */
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { CmsConfig, type CreateInstallation, Installation } from "./schema.ts"

const decode = Schema.decodeUnknownSync(Installation)
interface Row {
  readonly [column: string]: unknown
}
/** Omits null fields; throws if the row is not a valid installation. */
const installationOf = (row: Row): Installation =>
  decode({
    ...Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)),
    in_sync: row.desired_revision === row.applied_revision
  })
interface ReportedFields {
  readonly applied_revision: number | undefined
  readonly discovery: unknown
  readonly sync_health: unknown
  readonly metadata: unknown
  readonly unknown: number
  /** `null` removes it. */ readonly last_error: string | null | undefined
}
interface RuntimeRow {
  readonly organization_id: string
  readonly desired_revision: number
  readonly config: unknown
  readonly served_hash: string | null
}
const decodeConfig = Schema.decodeUnknownSync(CmsConfig)
const json = (value: unknown): string | null => (value === undefined ? null : JSON.stringify(value))

export const makeInstallationsRepository = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const time = (at: number) => sql`${String(at)}::text::int8`
  const rows = sql.literal(
    `SELECT i.id, i.name, i.provider, i.environment, i.origin, i.desired_revision, i.config, i.revoked_at::float8 AS revoked_at, i.created_at::float8 AS created_at,
      i.updated_at::float8 AS updated_at, r.applied_revision, r.discovery, r.sync_health, r.metadata, r.unknown_fields, r.last_error, r.last_seen_at::float8 AS last_seen_at
      FROM cms_installations i JOIN cms_reports r ON r.installation_id = i.id`
  )
  return {
    /** Counts an organization's installations with a key, one request at a time. */
    lockCount: Effect.fnUntraced(function* (organizationId: string) {
      yield* sql`SELECT pg_advisory_xact_lock(hashtextextended(${`cms installations of ${organizationId}`}, 0))`
      const [row] = yield* sql<{
        n: number
      }>`SELECT count(*)::int4 AS n FROM cms_installations WHERE organization_id = ${organizationId} AND revoked_at IS NULL`
      return row!.n
    }),
    insert: (organizationId: string, id: string, fields: CreateInstallation, config: CmsConfig, now: number) =>
      Effect.andThen(
        sql`INSERT INTO cms_installations (id, organization_id, name, provider, environment, origin, config, created_at, updated_at)
          VALUES (${id}, ${organizationId}, ${fields.name.trim()}, ${fields.provider.trim()}, ${fields.environment}, ${fields.origin}, ${JSON.stringify(config)}::text::json, ${time(now)}, ${time(now)})`,
        sql`INSERT INTO cms_reports (installation_id) VALUES (${id})`
      ),
    /** Removes an installation whose key could not be created. */
    remove: (organizationId: string, id: string) =>
      sql`DELETE FROM cms_installations WHERE organization_id = ${organizationId} AND id = ${id}`,
    get: (organizationId: string, id: string) =>
      Effect.map(sql<Row>`${rows} WHERE i.organization_id = ${organizationId} AND i.id = ${id}`, ([row]) =>
        row === undefined ? undefined : installationOf(row)
      ),
    lock: (organizationId: string, id: string) =>
      Effect.map(
        sql<Row>`${rows} WHERE i.organization_id = ${organizationId} AND i.id = ${id} FOR UPDATE OF i`,
        ([row]) => (row === undefined ? undefined : installationOf(row))
      ),
    page: (organizationId: string, cursor: string | undefined, limit: number) =>
      Effect.map(
        sql<Row>`${rows} WHERE i.organization_id = ${organizationId} AND i.id > ${cursor ?? ""} ORDER BY i.id LIMIT ${limit}::int4`,
        (all) => all.map(installationOf)
      ),
    publish: (id: string, revision: number, config: CmsConfig, now: number) =>
      sql`UPDATE cms_installations SET desired_revision = ${revision}::int4, config = ${JSON.stringify(config)}::text::json, updated_at = ${time(now)} WHERE id = ${id}`,
    revoke: (organizationId: string, id: string, now: number) =>
      sql`UPDATE cms_installations SET revoked_at = ${time(now)}, updated_at = ${time(now)} WHERE organization_id = ${organizationId} AND id = ${id} AND revoked_at IS NULL`,
    /** The data that a module reads; also records that the module was seen. */
    runtime: (organizationId: string, id: string, now: number) =>
      Effect.map(
        sql<RuntimeRow>`UPDATE cms_reports r SET last_seen_at = ${time(now)} FROM cms_installations i
          WHERE i.id = ${id} AND i.organization_id = ${organizationId} AND r.installation_id = i.id
          RETURNING i.organization_id, i.desired_revision, i.config, r.served_hash`,
        ([row]) => (row === undefined ? undefined : { ...row, config: decodeConfig(row.config) })
      ),
    served: (id: string, hash: string) =>
      sql`UPDATE cms_reports SET served_hash = ${hash} WHERE installation_id = ${id}`,
    /** Omitted fields keep their values. */
    report: (id: string, given: ReportedFields) =>
      sql`UPDATE cms_reports SET applied_revision = coalesce(${given.applied_revision ?? null}::int4, applied_revision),
        discovery = coalesce(${json(given.discovery)}::text::json, discovery), sync_health = coalesce(${json(given.sync_health)}::text::json, sync_health),
        metadata = ${json(given.metadata)}::text::json, unknown_fields = least(unknown_fields::int8 + ${given.unknown}::int4, 2000000000)::int4,
        last_error = CASE WHEN ${given.last_error === undefined} THEN last_error ELSE ${given.last_error ?? null}::text END
        WHERE installation_id = ${id}`
  }
})
