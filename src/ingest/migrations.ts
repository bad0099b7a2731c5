/** Which process runs an ingest job, its progress, and whose turn is next. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export const migrations = {
  "2026112530_ingest_running": Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql`ALTER TABLE ingest_jobs
      ADD COLUMN claimed_by text,
      ADD COLUMN claimed_until timestamptz,
      ADD COLUMN attempts int4 NOT NULL DEFAULT 0,
      ADD COLUMN load text NOT NULL DEFAULT 'import',
      ADD COLUMN options jsonb NOT NULL DEFAULT '{}',
      ADD COLUMN state jsonb NOT NULL DEFAULT '{}',
      ADD COLUMN progress float8 NOT NULL DEFAULT 0,
      ADD COLUMN failures int4 NOT NULL DEFAULT 0,
      ADD COLUMN not_before timestamptz,
      ADD COLUMN pass int4 NOT NULL DEFAULT 1,
      ADD COLUMN schedule_id text,
      ADD COLUMN schedule_cron text`
    // Earlier jobs counted from -1 and had their total in the request.
    yield* sql`UPDATE ingest_jobs SET stats = jsonb_set(stats, '{cursor}', to_jsonb((stats ->> 'cursor')::int8 + 1)) WHERE finished_at IS NULL`
    yield* sql`CREATE INDEX ingest_jobs_unfinished ON ingest_jobs (load, organization_id, created_at) WHERE finished_at IS NULL`
    // Organizations take turns: the one served least recently is next.
    yield* sql`CREATE SEQUENCE ingest_turn`
    yield* sql`CREATE TABLE ingest_turns (
      organization_id text NOT NULL REFERENCES organizations (id),
      load text NOT NULL,
      turn bigint NOT NULL,
      PRIMARY KEY (organization_id, load)
    )`
    // Stored feeds (\`src/ports/feed-store\`): expected bytes, and the job that reads them.
    yield* sql`CREATE TABLE ingest_feeds (
      id text PRIMARY KEY,
      organization_id text NOT NULL REFERENCES organizations (id),
      job_id text UNIQUE,
      upload jsonb,
      bytes_expected bigint NOT NULL,
      is_complete boolean NOT NULL DEFAULT false,
      writer text,
      writer_until timestamptz,
      created_at bigint NOT NULL,
      expires_at bigint NOT NULL
    )`
    yield* sql`CREATE INDEX ingest_feeds_by_organization ON ingest_feeds (organization_id)`
    yield* sql`CREATE INDEX ingest_feeds_by_end ON ingest_feeds (expires_at)`
    // Used only if several processes share it: a single process stores files.
    yield* sql`CREATE TABLE ingest_feed_bytes (
      feed_id text NOT NULL,
      position bigint NOT NULL,
      bytes bytea NOT NULL,
      PRIMARY KEY (feed_id, position)
    )`
    // Repeated jobs: each row describes the next job.
    yield* sql`CREATE TABLE ingest_schedules (
      id text PRIMARY KEY,
      organization_id text NOT NULL REFERENCES organizations (id),
      name text NOT NULL,
      collection text NOT NULL,
      source text NOT NULL,
      config jsonb NOT NULL,
      load text NOT NULL,
      options jsonb NOT NULL,
      cron text NOT NULL,
      next_at bigint NOT NULL,
      last_job_id text NOT NULL,
      passes int4 NOT NULL DEFAULT 0,
      state jsonb NOT NULL DEFAULT '{}',
      created_at bigint NOT NULL
    )`
    yield* sql`CREATE INDEX ingest_schedules_due ON ingest_schedules (next_at)`
    yield* sql`CREATE INDEX ingest_schedules_by_organization ON ingest_schedules (organization_id)`
  })
}
