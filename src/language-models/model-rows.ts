/** Rows of models, one table per kind. One function per statement. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Subject } from "../configuration/change.ts"
import type { LanguageModel } from "./model.ts"

export interface ModelRow {
  readonly organization_id: string
  readonly id: string
  readonly value: unknown
  readonly sealed_api_key: string | null
  /** Unix milliseconds. */ readonly created_at: number
}
export type ModelsTable = "nl_search_models" | "conversation_models"
const COLUMNS = "organization_id, id, value, sealed_api_key, created_at::float8 AS created_at"

export const modelsTable = (table: ModelsTable) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql`CREATE TABLE ${sql(table)} (
    organization_id text NOT NULL REFERENCES organizations (id),
    id text NOT NULL,
    value json NOT NULL,
    sealed_api_key text,
    created_at bigint NOT NULL,
    PRIMARY KEY (organization_id, id)
  )`
  )

export const makeModelRows = Effect.fnUntraced(function* (table: ModelsTable) {
  const sql = yield* SqlClient.SqlClient
  return {
    read: (subjects: ReadonlyArray<Subject> | "all") =>
      subjects === "all"
        ? sql.unsafe<ModelRow>(`SELECT ${COLUMNS} FROM ${table}`)
        : sql.unsafe<ModelRow>(
            `SELECT ${COLUMNS} FROM ${table} WHERE (organization_id, id) IN (SELECT * FROM unnest($1::text[], $2::text[]))`,
            [subjects.map(({ organizationId }) => organizationId), subjects.map(({ id }) => id)]
          ),
    put: (organizationId: string, { fields, id }: LanguageModel, sealedSecrets: string | null, now: number) =>
      sql`INSERT INTO ${sql(table)} (organization_id, id, value, sealed_api_key, created_at)
        VALUES (${organizationId}, ${id}, ${JSON.stringify(fields)}::text::json, ${sealedSecrets}, ${String(now)}::text::int8)
        ON CONFLICT (organization_id, id) DO UPDATE SET value = EXCLUDED.value, sealed_api_key = EXCLUDED.sealed_api_key`,
    remove: (organizationId: string, id: string) =>
      sql`DELETE FROM ${sql(table)} WHERE organization_id = ${organizationId} AND id = ${id}`
  }
})
