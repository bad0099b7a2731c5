/**
 * Experiments, their runs, and the counts of each run: units, sums of variants by the day of a unit's first response,
 * and responses by day. Units and sums name a run without a foreign key: the rows of a deleted run are removed in
 * pages (`runs-repository.ts`), and not by the request that deletes it.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export const migrations = {
  "2026112330_experiments": Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql`CREATE TABLE experiments (
      organization_id text NOT NULL REFERENCES organizations (id),
      id text NOT NULL,
      collection text NOT NULL,
      definition json NOT NULL,
      status text NOT NULL CHECK (status IN ('draft', 'running', 'stopped', 'promoted', 'rolled_back')),
      run int4 NOT NULL,
      started_at bigint,
      stopped_at bigint,
      winner_variant_id text,
      promotion json,
      created_at bigint NOT NULL,
      updated_at bigint NOT NULL,
      bytes int4 NOT NULL GENERATED ALWAYS AS (octet_length(definition::text) + coalesce(octet_length(promotion::text), 0)) STORED,
      PRIMARY KEY (organization_id, id)
    )`
    yield* sql`CREATE INDEX experiments_running ON experiments (organization_id, collection) WHERE status = 'running'`
    yield* sql`CREATE TABLE experiment_runs (
      organization_id text NOT NULL,
      experiment_id text NOT NULL,
      run int4 NOT NULL,
      definition json NOT NULL,
      started_at bigint NOT NULL,
      stopped_at bigint,
      revenue_cap numeric,
      least_p json NOT NULL,
      split_p float8 NOT NULL,
      winner_variant_id text,
      looked_at bigint NOT NULL,
      PRIMARY KEY (organization_id, experiment_id, run),
      FOREIGN KEY (organization_id, experiment_id) REFERENCES experiments (organization_id, id) ON DELETE CASCADE
    )`
    yield* sql`CREATE INDEX experiment_runs_due ON experiment_runs (looked_at) WHERE stopped_at IS NULL`
    yield* sql`CREATE TABLE experiment_units (
      organization_id text NOT NULL,
      experiment_id text NOT NULL,
      run int4 NOT NULL,
      unit bigint NOT NULL,
      variants int4 NOT NULL,
      first_day bigint NOT NULL,
      searches bigint NOT NULL,
      no_results bigint NOT NULL,
      clicked bigint NOT NULL,
      purchased bigint NOT NULL,
      revenue bigint NOT NULL,
      PRIMARY KEY (organization_id, experiment_id, run, unit)
    )`
    yield* sql`CREATE INDEX experiment_units_person ON experiment_units (organization_id, unit)`
    yield* sql`CREATE TABLE experiment_sums (
      organization_id text NOT NULL,
      experiment_id text NOT NULL,
      run int4 NOT NULL,
      variant int4 NOT NULL,
      day bigint NOT NULL,
      metric text NOT NULL,
      n numeric NOT NULL,
      x numeric NOT NULL,
      xx numeric NOT NULL,
      y numeric NOT NULL,
      yy numeric NOT NULL,
      xy numeric NOT NULL,
      PRIMARY KEY (organization_id, experiment_id, run, variant, day, metric)
    )`
    yield* sql`CREATE TABLE experiment_exposures (
      organization_id text NOT NULL,
      experiment_id text NOT NULL,
      run int4 NOT NULL,
      variant int4 NOT NULL,
      day bigint NOT NULL,
      exposures bigint NOT NULL,
      PRIMARY KEY (organization_id, experiment_id, run, variant, day)
    )`
  }),
  /** What users did on each day, and the part of it in their units and the variants' sums (CUPED). */
  "2026112360_experiment_covariates": Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql`CREATE TABLE experiment_histories (
      organization_id text NOT NULL,
      unit bigint NOT NULL,
      day bigint NOT NULL,
      searches int4 NOT NULL,
      no_results int4 NOT NULL,
      clicked int4 NOT NULL,
      purchased int4 NOT NULL,
      revenue bigint NOT NULL,
      PRIMARY KEY (organization_id, unit, day)
    )`
    yield* sql`CREATE INDEX experiment_histories_day ON experiment_histories USING brin (day)`
    yield* sql`CREATE TABLE experiment_history_use (
      organization_id text PRIMARY KEY,
      rows bigint NOT NULL,
      dropped bigint NOT NULL
    )`
    for (const name of ["searches", "no_results", "clicked", "purchased", "revenue"])
      yield* sql`ALTER TABLE experiment_units ADD COLUMN ${sql.literal(`c_${name}`)} bigint NOT NULL DEFAULT 0`
    for (const name of ["c", "cc", "xc", "yc", "known"])
      yield* sql`ALTER TABLE experiment_sums ADD COLUMN ${sql.literal(name)} numeric NOT NULL DEFAULT 0`
  }),
  /** Latencies of responses in buckets, and the number of units by dimension. */
  "2026112361_experiment_guardrails": Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql`CREATE TABLE experiment_latencies (
      organization_id text NOT NULL,
      experiment_id text NOT NULL,
      run int4 NOT NULL,
      variant int4 NOT NULL,
      bucket int4 NOT NULL,
      exposures bigint NOT NULL,
      PRIMARY KEY (organization_id, experiment_id, run, variant, bucket)
    )`
    yield* sql`CREATE TABLE experiment_splits (
      organization_id text NOT NULL,
      experiment_id text NOT NULL,
      run int4 NOT NULL,
      dimension text NOT NULL,
      value text NOT NULL COLLATE "C",
      variant int4 NOT NULL,
      units bigint NOT NULL,
      PRIMARY KEY (organization_id, experiment_id, run, dimension, value, variant)
    )`
    for (const name of ["device", "country", "surface"])
      yield* sql`ALTER TABLE experiment_units ADD COLUMN ${sql.literal(name)} text COLLATE "C" NOT NULL DEFAULT ''`
    // The dimensions of units from before are unknown.
    yield* sql`INSERT INTO experiment_splits (organization_id, experiment_id, run, dimension, value, variant, units)
      SELECT organization_id, experiment_id, run, d, '', CASE WHEN variants & (variants - 1) = 0 THEN log(2, variants)::int4 ELSE -1 END AS variant, count(*)
      FROM experiment_units, unnest(ARRAY['device', 'country', 'surface']) AS d GROUP BY 1, 2, 3, 4, 6`
  }),
  /** What units took from two rankings in one list. */
  "2026112362_experiment_credits": Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    for (const name of ["clicked_a", "clicked_b", "purchased_a", "purchased_b"])
      yield* sql`ALTER TABLE experiment_units ADD COLUMN ${sql.literal(name)} bigint NOT NULL DEFAULT 0`
  }),
  /** What a replay rebuilds, before it replaces the current rows. */
  "2026112363_experiment_shadows": Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql`CREATE TABLE shadow_experiment_units (
      shadow text NOT NULL,
      experiment_id text NOT NULL,
      run int4 NOT NULL,
      unit bigint NOT NULL,
      variants int4 NOT NULL,
      first_day bigint,
      searches bigint NOT NULL,
      no_results bigint NOT NULL,
      clicked bigint NOT NULL,
      purchased bigint NOT NULL,
      revenue bigint NOT NULL,
      device text COLLATE "C" NOT NULL,
      country text COLLATE "C" NOT NULL,
      surface text COLLATE "C" NOT NULL,
      clicked_a bigint NOT NULL,
      clicked_b bigint NOT NULL,
      purchased_a bigint NOT NULL,
      purchased_b bigint NOT NULL,
      PRIMARY KEY (shadow, experiment_id, run, unit)
    )`
    yield* sql`CREATE TABLE shadow_experiment_answers (
      shadow text NOT NULL,
      experiment_id text NOT NULL,
      run int4 NOT NULL,
      kind text NOT NULL,
      variant int4 NOT NULL,
      at bigint NOT NULL,
      exposures bigint NOT NULL,
      PRIMARY KEY (shadow, experiment_id, run, kind, variant, at)
    )`
    yield* sql`CREATE TABLE shadow_experiment_histories (
      shadow text NOT NULL,
      unit bigint NOT NULL,
      day bigint NOT NULL,
      searches bigint NOT NULL,
      no_results bigint NOT NULL,
      clicked bigint NOT NULL,
      purchased bigint NOT NULL,
      revenue bigint NOT NULL,
      PRIMARY KEY (shadow, unit, day)
    )`
  })
}
