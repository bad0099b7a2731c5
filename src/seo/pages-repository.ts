/**
 * Rows of pages, one function per statement. Generation writes hundreds at a time, as one JSON text that Postgres
 * unpacks.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { AuditedPage } from "./audit-findings.ts"
import type { KnownPage, LeftPage, PageState } from "./decide-pages.ts"
import type { Product } from "./page-facts.ts"
import type { Status } from "./schema.ts"

export interface PageText {
  readonly slug: string
  readonly value: string
  readonly title: string
  readonly description: string
  readonly h1: string
  readonly text: string
  readonly count: number
  readonly document_ids: ReadonlyArray<string>
  readonly products: ReadonlyArray<Product>
  readonly hash: string
}
export interface StoredPage extends PageText {
  readonly status: Status
  readonly canonical: string | null
  readonly moved_to: string | null
  readonly related: ReadonlyArray<string>
  readonly prev: string | null
  readonly next: string | null
  readonly changed_at: number
  readonly generated_at: number
  readonly empty_since: number | null
}
interface ListedPages {
  readonly status: string | undefined
  readonly after: string | undefined
  readonly limit: number
}

export const makePagesRepository = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const time = (at: number) => sql`${String(at)}::text::int8`
  const json = (value: unknown) => sql`${JSON.stringify(value)}::text::json`
  const columns = sql.literal(
    "slug, value, status, canonical, moved_to, title, description, h1, text, count, document_ids, products, related, prev, next, hash, changed_at::float8 AS changed_at, generated_at::float8 AS generated_at, empty_since::float8 AS empty_since"
  )
  return {
    /** Every page of a rule, including gone and moved ones: at most `ROWS_MAX`. */
    known: (organizationId: string, ruleId: string) =>
      sql<KnownPage>`SELECT slug, value, status, document_ids, empty_since::float8 AS empty_since, moved_to FROM seo_pages WHERE organization_id = ${organizationId} AND rule_id = ${ruleId} ORDER BY slug`,
    /** Pages of an organization that are not gone, except those of one rule. */
    countOthers: (organizationId: string, ruleId: string) =>
      Effect.map(
        sql<{
          n: number
        }>`SELECT count(*)::int4 AS n FROM seo_pages WHERE organization_id = ${organizationId} AND rule_id <> ${ruleId} AND status <> 'gone'`,
        ([row]) => row!.n
      ),
    /** Stores the texts of values with documents. Their status is set when all are known. */
    putTexts: (organizationId: string, ruleId: string, pages: ReadonlyArray<PageText>, now: number) =>
      sql`INSERT INTO seo_pages (organization_id, rule_id, slug, value, status, title, description, h1, text, count, document_ids, products, related, hash, changed_at, generated_at)
        SELECT ${organizationId}, ${ruleId}, p.slug, p.value, 'noindex', p.title, p.description, p.h1, p.text, p.count, p.document_ids, p.products, '[]'::json, p.hash, ${time(now)}, ${time(now)}
        FROM json_to_recordset(${json(pages)}) AS p(slug text, value text, title text, description text, h1 text, text text, count int4, document_ids json, products json, hash text)
        ON CONFLICT (organization_id, rule_id, slug) DO UPDATE SET value = EXCLUDED.value, title = EXCLUDED.title, description = EXCLUDED.description, h1 = EXCLUDED.h1, text = EXCLUDED.text,
          count = EXCLUDED.count, document_ids = EXCLUDED.document_ids, products = EXCLUDED.products, generated_at = EXCLUDED.generated_at, empty_since = NULL, moved_to = NULL,
          status = CASE WHEN seo_pages.status = 'gone' THEN 'noindex' ELSE seo_pages.status END,
          changed_at = CASE WHEN seo_pages.hash = EXCLUDED.hash THEN seo_pages.changed_at ELSE EXCLUDED.changed_at END, hash = EXCLUDED.hash`,
    putStates: (organizationId: string, ruleId: string, states: ReadonlyArray<PageState>) =>
      sql`UPDATE seo_pages SET status = s.status, canonical = s.canonical, related = s.related, prev = s.prev, next = s.next
        FROM json_to_recordset(${json(states)}) AS s(slug text, status text, canonical text, related json, prev text, next text)
        WHERE organization_id = ${organizationId} AND rule_id = ${ruleId} AND seo_pages.slug = s.slug`,
    putLeft: (organizationId: string, ruleId: string, left: ReadonlyArray<LeftPage>) =>
      sql`UPDATE seo_pages SET status = l.status, empty_since = l.empty_since, moved_to = l.moved_to, canonical = NULL, prev = NULL, next = NULL, count = 0,
          products = CASE WHEN l.status = 'gone' THEN '[]'::json ELSE products END
        FROM json_to_recordset(${json(left)}) AS l(slug text, status text, empty_since int8, moved_to text)
        WHERE organization_id = ${organizationId} AND rule_id = ${ruleId} AND seo_pages.slug = l.slug`,
    get: (organizationId: string, ruleId: string, slug: string) =>
      Effect.map(
        sql<StoredPage>`SELECT ${columns} FROM seo_pages WHERE organization_id = ${organizationId} AND rule_id = ${ruleId} AND slug = ${slug}`,
        ([row]) => row
      ),
    /** Sorted by slug. */
    page: (organizationId: string, ruleId: string, { after, limit, status }: ListedPages) =>
      sql<StoredPage>`SELECT ${columns} FROM seo_pages WHERE organization_id = ${organizationId} AND rule_id = ${ruleId} AND (${after ?? null}::text IS NULL OR slug > ${after ?? null})
        AND (${status ?? null}::text IS NULL OR status = ${status ?? null}) ORDER BY slug LIMIT ${limit}::int4`,
    /** Values of those of the pages that search engines may index, unordered. */
    labels: (organizationId: string, ruleId: string, slugs: ReadonlyArray<string>) =>
      sql<{
        slug: string
        value: string
      }>`SELECT slug, value FROM seo_pages WHERE organization_id = ${organizationId} AND rule_id = ${ruleId} AND status = 'index' AND slug = ANY(${slugs}::text[])`,
    /** The entries of a sitemap, sorted by slug. */
    indexed: (organizationId: string, ruleId: string) =>
      sql<{
        slug: string
        changed_at: number
      }>`SELECT slug, changed_at::float8 AS changed_at FROM seo_pages WHERE organization_id = ${organizationId} AND rule_id = ${ruleId} AND status = 'index' ORDER BY slug`,
    audited: (organizationId: string, ruleId: string) =>
      sql<AuditedPage>`SELECT slug, value, status, canonical, moved_to, title, description, h1, left(text, 1000) AS text, count FROM seo_pages WHERE organization_id = ${organizationId} AND rule_id = ${ruleId} ORDER BY slug`,
    /** Titles of indexed pages of other rules whose addresses start with `origin`. */
    titles: (organizationId: string, ruleId: string, origin: string) =>
      sql<{
        title: string
        slug: string
      }>`SELECT p.title, p.slug FROM seo_pages p JOIN seo_rules r ON r.organization_id = p.organization_id AND r.id = p.rule_id
        WHERE p.organization_id = ${organizationId} AND p.rule_id <> ${ruleId} AND p.status = 'index' AND starts_with(r.url_template, ${origin}) LIMIT 100000`
  }
})
