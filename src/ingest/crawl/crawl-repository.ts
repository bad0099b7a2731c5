/** Rows of crawls. One function per statement; each list is passed as one parameter. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export interface FrontierPage {
  readonly page_id: string
  readonly url: string
  readonly depth: number
  /** Number of redirects that led here. */ readonly hops: number
}
/** What earlier crawls stored about a page. */
export interface KnownPage {
  readonly page_id: string
  readonly url: string
  /** Identifies the collection as created; one created again has none of the documents. */ readonly made: string
  readonly etag: string | null
  readonly last_modified: string | null
  readonly content_hash: string
  readonly documents: number
  /** Number of links from a start address. */ readonly depth: number
  /** Consecutive crawls that did not find it. */ readonly gone: number
}
export interface CrawlOwner {
  readonly jobId: string
  readonly organizationId: string
  readonly collection: string
  /** Identifies a list of start addresses; crawls of the same site share what is stored about its pages. */
  readonly site: string
}
/** An address in a sitemap; `changed_at` in milliseconds if the sitemap gives it. */
interface ListedPage extends FrontierPage {
  readonly changed_at?: number | undefined
}

const PAGES_KEPT_MS = 180 * 86_400_000
/** After that time a job is over and nothing uses its rows. */
const FRONTIER_KEPT_MS = 30 * 86_400_000

export const makeCrawlRepository = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const big = (value: number) => sql`${String(Math.floor(value))}::text::int8`
  const json = (rows: unknown) => sql`${JSON.stringify(rows)}::text::jsonb`
  return {
    counts: (jobId: string) =>
      Effect.map(
        sql<{
          kept: number
          done: number
        }>`SELECT count(*)::int4 AS kept, (count(*) FILTER (WHERE is_done))::int4 AS done FROM crawl_frontier WHERE job_id = ${jobId}`,
        ([row]) => row!
      ),
    /** Returns how many are new. Pages that were read since they last changed are marked as done. */
    add: (
      { collection, jobId, organizationId }: CrawlOwner,
      pages: ReadonlyArray<ListedPage>,
      made: string,
      now: number
    ) =>
      Effect.map(
        sql<{
          page_id: string
        }>`INSERT INTO crawl_frontier (job_id, page_id, organization_id, url, depth, hops, is_done, added_at)
          SELECT ${jobId}, t.page_id, ${organizationId}, t.url, t.depth, t.hops,
            COALESCE(t.changed_at IS NOT NULL AND k.gone = 0 AND k.made = ${made} AND k.checked_at > t.changed_at, false), ${big(now)}
          FROM jsonb_to_recordset(${json(pages.map((page, n) => ({ ...page, n })))}) AS t (page_id text, url text, depth int2, hops int2, changed_at int8, n int4)
          LEFT JOIN crawl_pages k ON k.organization_id = ${organizationId} AND k.collection = ${collection} AND k.page_id = t.page_id
          ORDER BY t.n ON CONFLICT DO NOTHING RETURNING page_id`,
        (rows) => rows.length
      ),
    /** Redirect targets and canonical pages first, then by depth. */
    next: (jobId: string, limit: number) =>
      sql<FrontierPage>`SELECT page_id, url, depth, hops FROM crawl_frontier WHERE job_id = ${jobId} AND NOT is_done ORDER BY (hops = 0), depth, position LIMIT ${limit}::int4`,
    done: (jobId: string, pageIds: ReadonlyArray<string>) =>
      sql`UPDATE crawl_frontier SET is_done = true WHERE job_id = ${jobId} AND page_id = ANY(${pageIds}::text[])`,
    /** Known pages that the crawl did not reach are requested too; otherwise nobody would notice that they are gone. */
    sweep: ({ collection, jobId, organizationId, site }: CrawlOwner, limit: number, now: number) =>
      Effect.map(
        sql<{
          page_id: string
        }>`INSERT INTO crawl_frontier (job_id, page_id, organization_id, url, depth, hops, is_done, added_at)
          SELECT ${jobId}, k.page_id, ${organizationId}, k.url, k.depth, 0, false, ${big(now)} FROM crawl_pages k
          WHERE k.organization_id = ${organizationId} AND k.collection = ${collection} AND k.site = ${site}
            AND NOT EXISTS (SELECT 1 FROM crawl_frontier f WHERE f.job_id = ${jobId} AND f.page_id = k.page_id)
          ORDER BY k.checked_at LIMIT ${limit}::int4
          ON CONFLICT DO NOTHING RETURNING page_id`,
        (rows) => rows.length
      ),
    known: ({ collection, organizationId }: CrawlOwner, pageIds: ReadonlyArray<string>) =>
      sql<KnownPage>`SELECT page_id, url, made, etag, last_modified, content_hash, documents, depth, gone FROM crawl_pages
        WHERE organization_id = ${organizationId} AND collection = ${collection} AND page_id = ANY(${pageIds}::text[])`,
    keep: ({ collection, organizationId, site }: CrawlOwner, pages: ReadonlyArray<KnownPage>, now: number) =>
      sql`INSERT INTO crawl_pages (organization_id, collection, page_id, site, url, made, etag, last_modified, content_hash, documents, depth, gone, checked_at)
        SELECT ${organizationId}, ${collection}, t.page_id, ${site}, t.url, t.made, t.etag, t.last_modified, t.content_hash, t.documents, t.depth, t.gone, ${big(now)}
        FROM jsonb_to_recordset(${json(pages)}) AS t (page_id text, url text, made text, etag text, last_modified text, content_hash text, documents int2, depth int2, gone int2)
        ON CONFLICT (organization_id, collection, page_id) DO UPDATE SET site = excluded.site, made = excluded.made, etag = excluded.etag,
          last_modified = excluded.last_modified, content_hash = excluded.content_hash, documents = excluded.documents, depth = excluded.depth, gone = excluded.gone, checked_at = excluded.checked_at`,
    drop: ({ collection, organizationId }: CrawlOwner, pageIds: ReadonlyArray<string>) =>
      sql`DELETE FROM crawl_pages WHERE organization_id = ${organizationId} AND collection = ${collection} AND page_id = ANY(${pageIds}::text[])`,
    forget: (organizationId: string, jobId: string) =>
      sql`DELETE FROM crawl_frontier WHERE organization_id = ${organizationId} AND job_id = ${jobId}`
  }
})

/** Claims of hosts over all processes, by the database's clock. `take` returns whether the host is ours from now on. */
export const makeHostClaims = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  return {
    take: (host: string, process: string, for_s: number) =>
      Effect.map(
        sql`INSERT INTO crawl_hosts (host, claimed_by, claimed_until) VALUES (${host}, ${process}, clock_timestamp() + make_interval(secs => ${String(for_s)}::text::float8))
          ON CONFLICT (host) DO UPDATE SET claimed_by = excluded.claimed_by, claimed_until = excluded.claimed_until
          WHERE crawl_hosts.claimed_until <= clock_timestamp() RETURNING 1`,
        (rows) => rows.length > 0
      ),
    /** No process may request the host for this long. */
    give: (host: string, process: string, after_s: number) =>
      sql`UPDATE crawl_hosts SET claimed_until = clock_timestamp() + make_interval(secs => ${String(after_s)}::text::float8) WHERE host = ${host} AND claimed_by = ${process}`
  }
})

/** Removes rows that are no longer needed. */
export const crawlExpiries = (now: number, rowsMax: number) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const before = (ms: number) => String(Math.floor(now - ms))
    const gone = yield* Effect.all([
      sql`DELETE FROM crawl_pages WHERE ctid = ANY(ARRAY(SELECT ctid FROM crawl_pages WHERE checked_at < ${before(PAGES_KEPT_MS)}::text::int8 LIMIT ${rowsMax}::int4)) RETURNING 1`,
      sql`DELETE FROM crawl_frontier WHERE ctid = ANY(ARRAY(SELECT ctid FROM crawl_frontier WHERE added_at < ${before(FRONTIER_KEPT_MS)}::text::int8 LIMIT ${rowsMax}::int4)) RETURNING 1`,
      sql`DELETE FROM crawl_hosts WHERE ctid = ANY(ARRAY(SELECT ctid FROM crawl_hosts WHERE claimed_until < clock_timestamp() - interval '1 day' LIMIT ${rowsMax}::int4)) RETURNING 1`
    ])
    return gone.reduce((sum, rows) => sum + rows.length, 0)
  })
