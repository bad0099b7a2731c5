/** Rows of recommendation models. One function per statement. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Subject } from "../configuration/change.ts"
import type { Metrics, Model, StoredModel } from "./schema.ts"

export const makeModelsRepository = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const columns = sql.literal(
    "organization_id, id, name, collection, type, params, status, trained_at::float8 AS trained_at, metrics, created_at::float8 AS created_at, updated_at::float8 AS updated_at"
  )
  const json = (value: unknown) => sql`${JSON.stringify(value)}::text::json`
  const time = (at: number | null) => sql`${at === null ? null : String(at)}::text::int8`
  return {
    read: (subjects: ReadonlyArray<Subject> | "all") =>
      sql<StoredModel>`SELECT ${columns} FROM recommendation_models WHERE ${
        subjects === "all"
          ? sql`true`
          : sql`(organization_id, id) IN (SELECT * FROM unnest(${subjects.map(({ organizationId }) => organizationId)}::text[], ${subjects.map(({ id }) => id)}::text[]))`
      }`,
    /** Until the transaction ends, no model is created or deleted, and no rules start to name one. */
    lock: (organizationId: string) =>
      sql`SELECT pg_advisory_xact_lock(hashtextextended(${`recommendation models of ${organizationId}`}, 0))`,
    count: (organizationId: string) =>
      Effect.map(
        sql<{
          n: number
        }>`SELECT count(*)::int4 AS n FROM recommendation_models WHERE organization_id = ${organizationId}`,
        ([row]) => row!.n
      ),
    exists: (organizationId: string, id: string) =>
      Effect.map(
        sql`SELECT 1 FROM recommendation_models WHERE organization_id = ${organizationId} AND id = ${id}`,
        (rows) => rows.length > 0
      ),
    /** Collections whose search rules fall back to the model, at most 100. */
    usedBy: (organizationId: string, id: string) =>
      Effect.map(
        sql<{
          readonly collection: string
        }>`SELECT collection FROM search_rule_sets WHERE organization_id = ${organizationId} AND rule_set->>'zero_hits_fallback' = 'recommendations' AND rule_set->>'fallback_model_id' = ${id} ORDER BY collection LIMIT 100`,
        (rows) => rows.map(({ collection }) => collection)
      ),
    /**
     * Experiments that show or may yet promote rules that fall back to the model, or would restore such rules, at most
     * 100. Reads the definitions of all of the organization's experiments.
     */
    shownBy: (organizationId: string, id: string) =>
      Effect.map(
        sql<{ readonly id: string }>`SELECT id FROM experiments, LATERAL (SELECT CASE
            WHEN status IN ('draft', 'running', 'stopped') THEN (SELECT json_agg(v->'rules') FROM json_array_elements(definition->'variants') v)
            WHEN status = 'promoted' THEN json_build_array(promotion->'before') END AS sets) s
          WHERE organization_id = ${organizationId} AND EXISTS (SELECT 1 FROM json_array_elements(sets) r
            WHERE json_typeof(r) = 'object' AND r->>'zero_hits_fallback' = 'recommendations' AND r->>'fallback_model_id' = ${id}) ORDER BY id LIMIT 100`,
        (rows) => rows.map((row) => row.id)
      ),
    put: (model: StoredModel) =>
      sql`INSERT INTO recommendation_models (organization_id, id, name, collection, type, params, status, trained_at, metrics, created_at, updated_at)
        VALUES (${model.organization_id}, ${model.id}, ${model.name}, ${model.collection}, ${model.type}, ${json(model.params)}, ${model.status}, ${time(model.trained_at)}, ${json(model.metrics)}, ${time(model.created_at)}, ${time(model.updated_at)})
        ON CONFLICT (organization_id, id) DO UPDATE SET name = EXCLUDED.name, collection = EXCLUDED.collection, type = EXCLUDED.type, params = EXCLUDED.params,
          status = EXCLUDED.status, trained_at = EXCLUDED.trained_at, metrics = EXCLUDED.metrics, updated_at = EXCLUDED.updated_at`,
    /** Stores the results of a training; does nothing if the model was deleted. */
    storeResult: (
      organizationId: string,
      id: string,
      status: Model["status"],
      metrics: Metrics | null,
      at: number | null
    ) =>
      sql`UPDATE recommendation_models SET status = ${status}, metrics = coalesce(${metrics === null ? null : JSON.stringify(metrics)}::text::json, metrics), trained_at = coalesce(${time(at)}, trained_at)
        WHERE organization_id = ${organizationId} AND id = ${id}`,
    remove: (organizationId: string, id: string) =>
      sql`DELETE FROM recommendation_models WHERE organization_id = ${organizationId} AND id = ${id}`
  }
})

export const modelsTable = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql`CREATE TABLE recommendation_models (
    organization_id text NOT NULL REFERENCES organizations (id),
    id text NOT NULL,
    name text NOT NULL,
    collection text NOT NULL,
    type text NOT NULL,
    params json NOT NULL,
    status text NOT NULL CHECK (status IN ('new', 'training', 'ready', 'failed')),
    trained_at bigint,
    metrics json,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    PRIMARY KEY (organization_id, id)
  )`
)
