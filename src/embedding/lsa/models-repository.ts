/** Rows of trained models. One function per statement; each takes the organization. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export const makeModelsRepository = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  return {
    get: (organizationId: string, hash: string) =>
      Effect.map(
        sql<{
          readonly bytes: Uint8Array
        }>`SELECT bytes FROM trained_models WHERE organization_id = ${organizationId} AND hash = ${hash} LIMIT 1`,
        ([row]) => row?.bytes
      ),
    put: (organizationId: string, collection: string, hash: string, bytes: Uint8Array, now: number) =>
      sql`INSERT INTO trained_models (organization_id, hash, collection, bytes, created_at)
        VALUES (${organizationId}, ${hash}, ${collection}, ${bytes}, ${String(now)}::text::int8) ON CONFLICT DO NOTHING`,
    /** `""` removes all. */
    removeOthers: (organizationId: string, collection: string, hash: string) =>
      sql`DELETE FROM trained_models WHERE organization_id = ${organizationId} AND collection = ${collection} AND hash <> ${hash}`
  }
})
