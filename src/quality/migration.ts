/** Tables of quality suites. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export const qualitySuites = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE TABLE quality_suites (
    organization_id text NOT NULL REFERENCES organizations (id),
    id text NOT NULL,
    name text NOT NULL,
    collection text NOT NULL,
    params json NOT NULL,
    tolerance float8 NOT NULL,
    schedule_cron text,
    next_run_at bigint,
    judgments_count int4 NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    PRIMARY KEY (organization_id, id)
  )`
  yield* sql`CREATE INDEX quality_suites_due ON quality_suites (next_run_at) WHERE next_run_at IS NOT NULL`
  yield* sql`CREATE TABLE quality_judgments (
    organization_id text NOT NULL,
    suite_id text NOT NULL,
    judgments json NOT NULL,
    PRIMARY KEY (organization_id, suite_id),
    FOREIGN KEY (organization_id, suite_id) REFERENCES quality_suites (organization_id, id) ON DELETE CASCADE
  )`
  yield* sql`CREATE TABLE quality_runs (
    organization_id text NOT NULL,
    suite_id text NOT NULL,
    id text NOT NULL,
    job_id text NOT NULL,
    is_stored boolean NOT NULL,
    params json NOT NULL,
    profile text,
    queries int4 NOT NULL,
    ndcg_at_10 float8 NOT NULL,
    mrr float8 NOT NULL,
    recall_at_100 float8 NOT NULL,
    judged_at_10 float8 NOT NULL,
    previous json,
    per_query json NOT NULL,
    finished_at bigint NOT NULL,
    PRIMARY KEY (organization_id, suite_id, id),
    FOREIGN KEY (organization_id, suite_id) REFERENCES quality_suites (organization_id, id) ON DELETE CASCADE
  )`
})
