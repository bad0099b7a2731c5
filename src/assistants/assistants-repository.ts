/** Rows of assistants. One function per statement. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import {
  type Assistant,
  type AssistantBody,
  DOCUMENTS_BY_DEFAULT,
  THRESHOLD_BY_DEFAULT,
  TTL_DAYS_BY_DEFAULT
} from "./schema.ts"

/** An assistant in the form used for answering. */
export interface StoredAssistant extends Omit<Assistant, "search_params"> {
  /** As texts. */ readonly search_params: Readonly<Record<string, string>>
}
interface Row {
  readonly id: string
  readonly value: AssistantBody
  readonly created_at: number
  readonly updated_at: number
}
const COLUMNS = "id, value, created_at::float8 AS created_at, updated_at::float8 AS updated_at"

const shown = ({ created_at, id, updated_at, value }: Row): Assistant => ({
  id,
  ...value,
  max_context_documents: value.max_context_documents ?? DOCUMENTS_BY_DEFAULT,
  refuse_without_sources: value.refuse_without_sources ?? true,
  refusal_threshold: value.refusal_threshold ?? THRESHOLD_BY_DEFAULT,
  conversation_ttl_days: value.conversation_ttl_days ?? TTL_DAYS_BY_DEFAULT,
  created_at,
  updated_at
})
export const storedOf = (assistant: Assistant): StoredAssistant => ({
  ...assistant,
  search_params: Object.fromEntries(
    Object.entries(assistant.search_params ?? {}).map(([name, value]) => [name, String(value)])
  )
})

export const makeAssistantsRepository = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const time = (at: number) => sql`${String(at)}::text::int8`
  return {
    get: (organizationId: string, id: string) =>
      Effect.map(
        sql<Row>`SELECT ${sql.literal(COLUMNS)} FROM assistants WHERE organization_id = ${organizationId} AND id = ${id}`,
        ([row]) => (row === undefined ? undefined : shown(row))
      ),
    page: (organizationId: string, after: string, limit: number) =>
      Effect.map(
        sql<Row>`SELECT ${sql.literal(COLUMNS)} FROM assistants WHERE organization_id = ${organizationId} AND id > ${after} ORDER BY id LIMIT ${limit}::int4`,
        (rows) => rows.map(shown)
      ),
    /** Serializes counting, so that an organization runs one count at a time. */
    lockCount: (organizationId: string) =>
      Effect.map(
        Effect.andThen(
          sql`SELECT pg_advisory_xact_lock(hashtextextended(${`assistants of ${organizationId}`}, 0))`,
          sql<{ n: number }>`SELECT count(*)::int4 AS n FROM assistants WHERE organization_id = ${organizationId}`
        ),
        ([row]) => row!.n
      ),
    put: (organizationId: string, id: string, value: AssistantBody, now: number) =>
      Effect.map(
        sql<Row>`INSERT INTO assistants (organization_id, id, value, created_at, updated_at)
          VALUES (${organizationId}, ${id}, ${JSON.stringify(value)}::text::json, ${time(now)}, ${time(now)})
          ON CONFLICT (organization_id, id) DO UPDATE SET value = EXCLUDED.value, updated_at = EXCLUDED.updated_at
          RETURNING ${sql.literal(COLUMNS)}`,
        ([row]) => shown(row!)
      ),
    remove: (organizationId: string, id: string) =>
      sql`DELETE FROM assistants WHERE organization_id = ${organizationId} AND id = ${id}`
  }
})
