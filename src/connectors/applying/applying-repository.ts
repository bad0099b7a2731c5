/** What applying reads and writes beside the offsets. One function per statement, each for a whole batch. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { JournalEntry } from "../schema.ts"
import { documentKey, type Known } from "./decide.ts"

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
/** What came of records of one push. */
export interface PushCounts {
  readonly jobId: string
  readonly parts: ReadonlyArray<number>
  readonly applied: number
  readonly ignored: number
  readonly failed: number
}
export interface PushProgress {
  readonly job_id: string
  readonly records: number
  readonly done: number
  readonly applied: number
  readonly ignored: number
  readonly failed: number
}
export type OwnEntry = JournalEntry & { readonly connectorId: string }
const numbers = (values: ReadonlyArray<number>): ReadonlyArray<string> => values.map(String)
/** Empty for none: arrays of texts hold no null here. */
const orEmpty = (value: number | string | undefined): string => (value === undefined ? "" : String(value))

export const makeApplyingRepository = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const time = (at: number) => sql`${String(at)}::text::int8`
  return {
    /** Those of the connectors that are there; locked against going, inside a transaction. */
    living: (ids: ReadonlyArray<string>) =>
      Effect.map(
        sql<{ id: string }>`SELECT id FROM connectors WHERE id = ANY(${ids}::text[]) ORDER BY id FOR KEY SHARE`,
        (rows) => new Set(rows.map(({ id }) => id))
      ),
    known: (documents: ReadonlyArray<Document>) =>
      Effect.map(
        sql<DocumentRow>`SELECT d.connector_id, d.external_id, d.version::float8 AS version, d.deleted, d.log_partition AS partition, d.log_offset::float8 AS offset, d.log_index AS index
          FROM unnest(${documents.map(({ connectorId }) => connectorId)}::text[], ${documents.map(({ externalId }) => externalId)}::text[]) AS t (connector_id, external_id)
          JOIN connector_documents d ON d.connector_id = t.connector_id AND d.external_id = t.external_id`,
        (rows) =>
          new Map(
            rows.map(({ connector_id, deleted, external_id, index, offset, partition, version }): [string, Known] => [
              documentKey(connector_id, external_id),
              { version: version ?? undefined, deleted, place: { partition, offset, index } }
            ])
          )
      ),
    keep: (documents: ReadonlyArray<Document & { readonly known: Known }>, now: number) =>
      sql`INSERT INTO connector_documents (connector_id, external_id, version, deleted, log_partition, log_offset, log_index, applied_at)
        SELECT t.connector_id, t.external_id, nullif(t.version, '')::int8, t.deleted, t.p, t.o, t.i, ${time(now)}
        FROM unnest(${documents.map(({ connectorId }) => connectorId)}::text[], ${documents.map(({ externalId }) => externalId)}::text[],
          ${documents.map(({ known }) => orEmpty(known.version))}::text[], ${documents.map(({ known }) => String(known.deleted))}::text[]::bool[],
          ${numbers(documents.map(({ known }) => known.place.partition))}::text[]::int4[], ${numbers(documents.map(({ known }) => known.place.offset))}::text[]::int8[],
          ${numbers(documents.map(({ known }) => known.place.index))}::text[]::int4[]) AS t (connector_id, external_id, version, deleted, p, o, i)
        ON CONFLICT (connector_id, external_id) DO UPDATE SET version = EXCLUDED.version, deleted = EXCLUDED.deleted, log_partition = EXCLUDED.log_partition,
          log_offset = EXCLUDED.log_offset, log_index = EXCLUDED.log_index, applied_at = EXCLUDED.applied_at`,
    note: (entries: ReadonlyArray<OwnEntry>, now: number) =>
      sql`INSERT INTO connector_journal (connector_id, id, external_id, op, version, status, mapping, error, attempts, at)
        SELECT t.connector_id, t.id, t.external_id, t.op, nullif(t.version, '')::int8, t.status, nullif(t.mapping, ''), nullif(t.error, ''), t.attempts, ${time(now)}
        FROM unnest(${entries.map(({ connectorId }) => connectorId)}::text[], ${entries.map(({ id }) => id)}::text[], ${entries.map(({ external_id }) => external_id)}::text[],
          ${entries.map(({ op }) => op)}::text[], ${entries.map(({ version }) => orEmpty(version))}::text[], ${entries.map(({ status }) => status)}::text[],
          ${entries.map(({ mapping }) => orEmpty(mapping))}::text[], ${entries.map(({ error }) => orEmpty(error))}::text[], ${numbers(entries.map(({ attempts }) => attempts))}::text[]::int4[])
          AS t (connector_id, id, external_id, op, version, status, mapping, error, attempts)`,
    /** `error`: the last of each, empty where all went well. */
    state: (states: ReadonlyArray<readonly [connectorId: string, error: string]>, now: number) =>
      sql`INSERT INTO connector_states (connector_id, last_sync_at, last_error)
        SELECT t.id, ${time(now)}, nullif(t.error, '') FROM unnest(${states.map(([id]) => id)}::text[], ${states.map(([, error]) => error)}::text[]) AS t (id, error)
        ON CONFLICT (connector_id) DO UPDATE SET last_sync_at = EXCLUDED.last_sync_at, last_error = EXCLUDED.last_error`,
    /** A record that was counted before is not counted again. */
    count: (pushes: ReadonlyArray<PushCounts>) =>
      sql<PushProgress>`UPDATE connector_pushes p SET done = p.done || t.parts, applied = p.applied + t.applied, ignored = p.ignored + t.ignored, failed = p.failed + t.failed
        FROM (SELECT job_id, string_to_array(parts, ',')::int4[] AS parts, applied, ignored, failed
          FROM unnest(${pushes.map(({ jobId }) => jobId)}::text[], ${pushes.map(({ parts }) => parts.join(","))}::text[], ${numbers(pushes.map(({ applied }) => applied))}::text[]::int4[],
            ${numbers(pushes.map(({ ignored }) => ignored))}::text[]::int4[], ${numbers(pushes.map(({ failed }) => failed))}::text[]::int4[]) AS u (job_id, parts, applied, ignored, failed)) t
        WHERE p.job_id = t.job_id AND NOT p.done && t.parts
        RETURNING p.job_id, p.records, cardinality(p.done) AS done, p.applied, p.ignored, p.failed`
  }
})
/** What was deleted is remembered that long: a shop system sends again for days, not for months. */
const DELETED_KEPT_MS = 90 * 24 * 3_600_000
export const expireDeletions = (rowsMax: number) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const rows = yield* sql`DELETE FROM connector_documents WHERE (connector_id, external_id) IN
      (SELECT connector_id, external_id FROM connector_documents WHERE deleted AND applied_at < extract(epoch FROM clock_timestamp()) * 1000 - ${DELETED_KEPT_MS}::int8 LIMIT ${rowsMax}::int4) RETURNING 1`
    return rows.length
  })
