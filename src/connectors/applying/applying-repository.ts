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
/** What a batch leaves of a connector. */
export interface ConnectorOutcome {
  /** The last failure, empty where all went well. */ error: string
  /** Lines of its journal. */ entries: number
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
export type OwnEntry = Omit<JournalEntry, "at" | "id"> & { readonly connectorId: string }
export type KnownDocument = Document & { readonly known: Known }
/**
 * What rows of a batch have in common is sent once, and of each row its number (from 1): arrays of four thousand texts
 * are a third of what a statement costs.
 */
class Kinds<A> {
  readonly #partsOf: (one: A) => ReadonlyArray<string>
  readonly #numbers = new Map<string, string>()
  readonly #parts: Array<ReadonlyArray<string>> = []
  constructor(partsOf: (one: A) => ReadonlyArray<string>) {
    this.#partsOf = partsOf
  }
  readonly of = (one: A): string => {
    const parts = this.#partsOf(one)
    const key = parts.join("\u0000")
    let number = this.#numbers.get(key)
    if (number === undefined) {
      this.#parts.push(parts)
      this.#numbers.set(key, (number = String(this.#parts.length)))
    }
    return number
  }
  column(at: number): ReadonlyArray<string> {
    return this.#parts.map((parts) => parts[at]!)
  }
}
const numbers = (values: ReadonlyArray<number>): ReadonlyArray<string> => values.map(String)
/** Empty for none: arrays of texts hold no null here. */
const orEmpty = (value: number | string | undefined): string => (value === undefined ? "" : String(value))

export const makeApplyingRepository = Effect.gen(function* () {
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
    /** Of documents that nothing was known of. */
    add,
    /** Of those among them that are not there. */
    restore: (documents: ReadonlyArray<KnownDocument>, now: number) =>
      sql`${add(documents, now)} ON CONFLICT DO NOTHING`,
    /** Of documents that something was known of; how many there still are. */
    renew: (documents: ReadonlyArray<KnownDocument>, now: number) =>
      Effect.map(
        sql<{
          n: number
        }>`WITH renewed AS (UPDATE connector_documents d SET version = t.version, deleted = t.deleted, log_partition = t.log_partition, log_offset = t.log_offset,
            log_index = t.log_index, applied_at = ${time(now)} FROM ${rowsOf(documents)} AS t WHERE d.connector_id = t.connector_id AND d.external_id = t.external_id RETURNING 1)
          SELECT count(*)::int4 AS n FROM renewed`,
        ([row]) => row!.n
      ),
    /** Their ids begin with `base`, and sort as they stand here. */
    note: (entries: ReadonlyArray<OwnEntry>, { at, base }: { readonly at: number; readonly base: string }) => {
      const kinds = new Kinds<OwnEntry>(({ attempts, connectorId, error, mapping, op, status }) => [
        connectorId,
        op,
        status,
        orEmpty(mapping),
        orEmpty(error),
        String(attempts)
      ])
      const kind = entries.map(kinds.of)
      return sql`INSERT INTO connector_journal (connector_id, id, external_id, op, version, status, mapping, error, attempts, at)
        SELECT k.connector_id, ${base} || '_' || lpad((t.place - 1)::text, 5, '0'), t.external_id, k.op, nullif(t.version, '')::int8, k.status, nullif(k.mapping, ''), nullif(k.error, ''), k.attempts, ${time(at)}
        FROM unnest(${entries.map(({ external_id }) => external_id)}::text[], ${entries.map(({ version }) => orEmpty(version))}::text[], ${kind}::text[]::int8[])
          WITH ORDINALITY AS t (external_id, version, kind, place)
        JOIN unnest(${kinds.column(0)}::text[], ${kinds.column(1)}::text[], ${kinds.column(2)}::text[], ${kinds.column(3)}::text[], ${kinds.column(4)}::text[], ${kinds.column(5)}::text[]::int4[])
          WITH ORDINALITY AS k (connector_id, op, status, mapping, error, attempts, kind) ON k.kind = t.kind`
    },
    state: (states: ReadonlyArray<readonly [connectorId: string, state: ConnectorOutcome]>, now: number) =>
      sql`INSERT INTO connector_states AS s (connector_id, last_sync_at, last_error, journal_entries)
        SELECT t.id, ${time(now)}, nullif(t.error, ''), t.entries
        FROM unnest(${states.map(([id]) => id)}::text[], ${states.map(([, { error }]) => error)}::text[], ${numbers(states.map(([, { entries }]) => entries))}::text[]::int8[]) AS t (id, error, entries)
        ON CONFLICT (connector_id) DO UPDATE SET last_sync_at = EXCLUDED.last_sync_at, last_error = EXCLUDED.last_error, journal_entries = s.journal_entries + EXCLUDED.journal_entries`,
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
