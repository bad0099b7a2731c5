/** Rows of providers. One function per statement. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Subject } from "../configuration/change.ts"
import type { ProviderBody } from "./schema.ts"

export interface ProviderRow {
  readonly organization_id: string
  readonly port: string
  readonly value: unknown
  readonly sealed_api_key: string | null
  /** Unix milliseconds. */ readonly created_at: number
  readonly updated_at: number
}
const COLUMNS =
  "organization_id, port, value, sealed_api_key, created_at::float8 AS created_at, updated_at::float8 AS updated_at"

export const makeProvidersRepository = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  return {
    /** The `id` of a subject is the port. */
    read: (subjects: ReadonlyArray<Subject> | "all") =>
      subjects === "all"
        ? sql.unsafe<ProviderRow>(`SELECT ${COLUMNS} FROM ai_providers`)
        : sql.unsafe<ProviderRow>(
            `SELECT ${COLUMNS} FROM ai_providers WHERE (organization_id, port) IN (SELECT * FROM unnest($1::text[], $2::text[]))`,
            [subjects.map(({ organizationId }) => organizationId), subjects.map(({ id }) => id)]
          ),
    put: (
      organizationId: string,
      port: string,
      { api_key: _, ...value }: ProviderBody,
      sealedApiKey: string | null,
      now: number
    ) =>
      sql`INSERT INTO ai_providers (organization_id, port, value, sealed_api_key, created_at, updated_at)
        VALUES (${organizationId}, ${port}, ${JSON.stringify(value)}::text::json, ${sealedApiKey}, ${String(now)}::text::int8, ${String(now)}::text::int8)
        ON CONFLICT (organization_id, port) DO UPDATE SET value = EXCLUDED.value, sealed_api_key = EXCLUDED.sealed_api_key, updated_at = EXCLUDED.updated_at`,
    remove: (organizationId: string, port: string) =>
      sql`DELETE FROM ai_providers WHERE organization_id = ${organizationId} AND port = ${port}`
  }
})
