/** The newest version and the log position of each document of a connector. One function per statement. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { documentKey, type DocumentVersion } from "./decide.ts"
import { Kinds, orEmpty } from "./kinds.ts"

interface DocumentRow {
  readonly connector_id: string
  readonly external_id: string
  readonly version: number | null
  readonly deleted: boolean
  readonly partition: number
  readonly offset: number
  readonly index: number
}
interface Document {
  readonly connectorId: string
  readonly externalId: string
}
export type KnownDocument = Document & { readonly known: DocumentVersion }

export const makeDocumentsRepository = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const time = (at: number) => sql`${String(at)}::text::int8`
  const rowsOf = (documents: ReadonlyArray<KnownDocument>) => {
    const kinds = new Kinds<KnownDocument>(({ connectorId, known: { deleted, place } }) => [
      connectorId,
      String(deleted),
      String(place.partition),
      String(place.offset)
    ])
    const kind = documents.map(kinds.of)
    return sql`(SELECT k.connector_id, u.external_id, nullif(u.version, '')::int8 AS version, k.deleted, k.log_partition, k.log_offset, u.log_index
      FROM unnest(${documents.map(({ externalId }) => externalId)}::text[], ${documents.map(({ known }) => orEmpty(known.version))}::text[],
        ${documents.map(({ known }) => String(known.place.index))}::text[]::int4[], ${kind}::text[]::int8[]) AS u (external_id, version, log_index, kind)
      JOIN unnest(${kinds.column(0)}::text[], ${kinds.column(1)}::text[]::bool[], ${kinds.column(2)}::text[]::int4[], ${kinds.column(3)}::text[]::int8[])
        WITH ORDINALITY AS k (connector_id, deleted, log_partition, log_offset, kind) ON k.kind = u.kind)`
  }
  const add = (documents: ReadonlyArray<KnownDocument>, now: number) =>
    sql`INSERT INTO connector_documents (connector_id, external_id, version, deleted, log_partition, log_offset, log_index, applied_at)
      SELECT connector_id, external_id, version, deleted, log_partition, log_offset, log_index, ${time(now)} FROM ${rowsOf(documents)} AS t`
  return {
    known: (documents: ReadonlyArray<Document>) =>
      Effect.map(
        sql<DocumentRow>`SELECT d.connector_id, d.external_id, d.version::float8 AS version, d.deleted, d.log_partition AS partition, d.log_offset::float8 AS offset, d.log_index AS index
          FROM unnest(${documents.map(({ connectorId }) => connectorId)}::text[], ${documents.map(({ externalId }) => externalId)}::text[]) AS t (connector_id, external_id)
          JOIN connector_documents d ON d.connector_id = t.connector_id AND d.external_id = t.external_id`,
        (rows) =>
          new Map(
            rows.map(
              ({
                connector_id,
                deleted,
                external_id,
                index,
                offset,
                partition,
                version
              }): [string, DocumentVersion] => [
                documentKey(connector_id, external_id),
                { version: version ?? undefined, deleted, place: { partition, offset, index } }
              ]
            )
          )
      ),
    /** Inserts documents seen for the first time. */
    add,
    /** Inserts the documents whose row is missing, for example because it expired. */
    restore: (documents: ReadonlyArray<KnownDocument>, now: number) =>
      sql`${add(documents, now)} ON CONFLICT DO NOTHING`,
    /** Updates known documents; returns how many of their rows still exist. */
    renew: (documents: ReadonlyArray<KnownDocument>, now: number) =>
      Effect.map(
        sql<{
          n: number
        }>`WITH renewed AS (UPDATE connector_documents d SET version = t.version, deleted = t.deleted, log_partition = t.log_partition, log_offset = t.log_offset,
            log_index = t.log_index, applied_at = ${time(now)} FROM ${rowsOf(documents)} AS t WHERE d.connector_id = t.connector_id AND d.external_id = t.external_id RETURNING 1)
          SELECT count(*)::int4 AS n FROM renewed`,
        ([row]) => row!.n
      )
  }
})
/** How long deletions are remembered: a shop system repeats pushes for days, not for months. */
const DELETED_KEPT_MS = 90 * 24 * 3_600_000
export const expireDeletions = (rowsMax: number) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const rows = yield* sql`DELETE FROM connector_documents WHERE (connector_id, external_id) IN
      (SELECT connector_id, external_id FROM connector_documents WHERE deleted AND applied_at < extract(epoch FROM clock_timestamp()) * 1000 - ${DELETED_KEPT_MS}::int8 LIMIT ${rowsMax}::int4) RETURNING 1`
    return rows.length
  })
