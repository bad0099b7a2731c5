/**
 * Claims of writers of an asset's content, which expire ten seconds after their process ends. One function a statement.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const WRITER_S = 10

export const makeWritersRepository = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const whole = (n: number) => sql`${String(n)}::text::int8`
  const writerEnd = sql.literal(`clock_timestamp() + make_interval(secs => ${WRITER_S})`)
  return {
    /** Succeeds if it has no content and no writer; returns what a dead writer had reserved. */
    takeWriter: (organizationId: string, id: string, writing: string, bytes: number) =>
      Effect.map(
        sql<{
          bytes: number
        }>`UPDATE media_assets a SET writing = ${writing}, writing_until = ${writerEnd}, bytes_reserved = ${whole(bytes)}
          FROM (SELECT id, bytes_reserved FROM media_assets WHERE organization_id = ${organizationId} AND id = ${id} FOR UPDATE) old
          WHERE a.id = old.id AND a.blob IS NULL AND (a.writing_until IS NULL OR a.writing_until < clock_timestamp()) RETURNING old.bytes_reserved::float8 AS bytes`,
        ([row]) => row?.bytes
      ),
    renewWriter: (id: string, writing: string) =>
      sql`UPDATE media_assets SET writing_until = ${writerEnd} WHERE id = ${id} AND writing = ${writing}`,
    /** Returns the reservation, if the writer still holds the claim. */
    freeWriter: (id: string, writing: string) =>
      Effect.map(
        sql<{ bytes: number }>`UPDATE media_assets a SET writing = NULL, writing_until = NULL, bytes_reserved = 0
          FROM (SELECT id, bytes_reserved FROM media_assets WHERE id = ${id} AND writing = ${writing} FOR UPDATE) old
          WHERE a.id = old.id RETURNING old.bytes_reserved::float8 AS bytes`,
        ([row]) => row?.bytes
      ),
    /** Writers whose process has ended. */
    abandoned: (rowsMax: number) =>
      sql<{
        id: string
        organization_id: string
        writing: string
      }>`SELECT id, organization_id, writing FROM media_assets WHERE writing_until < clock_timestamp() LIMIT ${rowsMax}::int4`,
    /** Ends the claims of earlier processes, if there can be no others. */
    endWriters: sql`UPDATE media_assets SET writing_until = clock_timestamp() WHERE writing IS NOT NULL`
  }
})
