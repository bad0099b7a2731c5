/** Ingest jobs with their progress, so that a job continues after a restart. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE TABLE ingest_jobs (
    id text PRIMARY KEY,
    organization_id text NOT NULL REFERENCES organizations (id),
    name text NOT NULL,
    collection text NOT NULL,
    source text NOT NULL,
    status text NOT NULL,
    config jsonb NOT NULL,
    stats jsonb NOT NULL,
    error text,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    finished_at bigint
  )`
  yield* sql`CREATE INDEX ingest_jobs_organization ON ingest_jobs (organization_id, created_at DESC)`
  // One live reindex per collection, across processes.
  yield* sql`CREATE UNIQUE INDEX ingest_jobs_one_reindex ON ingest_jobs (organization_id, collection) WHERE source = 'reindex' AND finished_at IS NULL`
})
