/** Rows of rules, one function per statement. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { SeoRule } from "./schema.ts"

export interface StoredRule extends SeoRule {
  readonly organization_id: string
}

export const makeRulesRepository = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const time = (at: number) => sql`${String(at)}::text::int8`
  const columns = sql.literal(
    "id, organization_id, collection, name, facet_field, url_template, site_name, active, min_products, templates, created_at::float8 AS created_at, updated_at::float8 AS updated_at"
  )
  const first = (rows: ReadonlyArray<StoredRule>) => rows[0]
  return {
    /** Serializes counts of one organization's rules. */
    lockCount: (organizationId: string) =>
      Effect.map(
        Effect.andThen(
          sql`SELECT pg_advisory_xact_lock(hashtextextended(${`seo rules of ${organizationId}`}, 0))`,
          sql<{ n: number }>`SELECT count(*)::int4 AS n FROM seo_rules WHERE organization_id = ${organizationId}`
        ),
        ([row]) => row!.n
      ),
    put: (rule: StoredRule) =>
      sql`INSERT INTO seo_rules (id, organization_id, collection, name, facet_field, url_template, site_name, active, min_products, templates, created_at, updated_at)
        VALUES (${rule.id}, ${rule.organization_id}, ${rule.collection}, ${rule.name}, ${rule.facet_field}, ${rule.url_template}, ${rule.site_name}, ${rule.active}::bool, ${rule.min_products}::int4,
          ${JSON.stringify(rule.templates)}::text::json, ${time(rule.created_at)}, ${time(rule.updated_at)})
        ON CONFLICT (organization_id, id) DO UPDATE SET collection = EXCLUDED.collection, name = EXCLUDED.name, facet_field = EXCLUDED.facet_field, url_template = EXCLUDED.url_template,
          site_name = EXCLUDED.site_name, active = EXCLUDED.active, min_products = EXCLUDED.min_products, templates = EXCLUDED.templates, updated_at = EXCLUDED.updated_at`,
    get: (organizationId: string, id: string) =>
      Effect.map(
        sql<StoredRule>`SELECT ${columns} FROM seo_rules WHERE organization_id = ${organizationId} AND id = ${id}`,
        first
      ),
    /** Locks the row until the transaction ends. */
    lock: (organizationId: string, id: string) =>
      Effect.map(
        sql<StoredRule>`SELECT ${columns} FROM seo_rules WHERE organization_id = ${organizationId} AND id = ${id} FOR UPDATE`,
        first
      ),
    /** Sorted by id. `collections`: LIKE patterns, one of which must match; all if absent. */
    page: (
      organizationId: string,
      after: string | undefined,
      limit: number,
      collections: ReadonlyArray<string> | undefined
    ) =>
      sql<StoredRule>`SELECT ${columns} FROM seo_rules WHERE organization_id = ${organizationId} AND (${after ?? null}::text IS NULL OR id > ${after ?? null})
        AND (${collections === undefined} OR collection LIKE ANY(${collections ?? []}::text[])) ORDER BY id LIMIT ${limit}::int4`,
    /** Its pages are deleted with it. */
    remove: (organizationId: string, id: string) =>
      sql`DELETE FROM seo_rules WHERE organization_id = ${organizationId} AND id = ${id}`,
    ofCollection: (organizationId: string, collection: string) =>
      Effect.map(
        sql<{
          id: string
        }>`SELECT id FROM seo_rules WHERE organization_id = ${organizationId} AND collection = ${collection}`,
        (rows) => rows.map(({ id }) => id)
      )
  }
})
