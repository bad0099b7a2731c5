/**
 * Tables of crawls: the addresses of an unfinished job, what is known about a collection's pages from one crawl to
 * the next, and which process currently requests a host.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export const migrations = {
  "2026112540_crawl": Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql`CREATE TABLE crawl_frontier (
      job_id text NOT NULL,
      page_id text NOT NULL,
      organization_id text NOT NULL REFERENCES organizations (id),
      url text NOT NULL,
      depth int2 NOT NULL,
      hops int2 NOT NULL,
      is_done boolean NOT NULL,
      position bigint GENERATED ALWAYS AS IDENTITY,
      added_at bigint NOT NULL,
      PRIMARY KEY (job_id, page_id)
    )`
    yield* sql`CREATE INDEX crawl_frontier_waiting ON crawl_frontier (job_id, (hops = 0), depth, position) WHERE NOT is_done`
    yield* sql`CREATE INDEX crawl_frontier_by_age ON crawl_frontier (added_at)`
    yield* sql`CREATE TABLE crawl_pages (
      organization_id text NOT NULL REFERENCES organizations (id),
      collection text NOT NULL,
      page_id text NOT NULL,
      site text NOT NULL,
      url text NOT NULL,
      made text NOT NULL,
      etag text,
      last_modified text,
      content_hash text NOT NULL,
      documents int2 NOT NULL,
      depth int2 NOT NULL,
      gone int2 NOT NULL,
      checked_at bigint NOT NULL,
      PRIMARY KEY (organization_id, collection, page_id)
    )`
    yield* sql`CREATE INDEX crawl_pages_by_site ON crawl_pages (organization_id, collection, site, checked_at)`
    yield* sql`CREATE INDEX crawl_pages_by_age ON crawl_pages (checked_at)`
    yield* sql`CREATE TABLE crawl_hosts (
      host text PRIMARY KEY,
      claimed_by text,
      claimed_until timestamptz NOT NULL
    )`
    yield* sql`CREATE INDEX crawl_hosts_by_age ON crawl_hosts (claimed_until)`
  })
}
