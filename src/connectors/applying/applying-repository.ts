/** Statements of applying, besides those for offsets. One function per statement, each for a complete batch. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { JournalEntry } from "../schema.ts"
import { Kinds, numbers, orEmpty } from "./kinds.ts"

/** What a batch changes about a connector. */
export interface ConnectorOutcome {
  /** The last failure; empty if there was none. */ error: string
  /** Number of its journal entries. */ entries: number
}
/** Results of the records of one push. */
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
export const makeApplyingRepository = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const time = (at: number) => sql`${String(at)}::text::int8`
  return {
    /** The connectors that exist, locked against deletion inside a transaction. */
    living: (ids: ReadonlyArray<string>) =>
      Effect.map(
        sql<{ id: string }>`SELECT id FROM connectors WHERE id = ANY(${ids}::text[]) ORDER BY id FOR KEY SHARE`,
        (rows) => new Set(rows.map(({ id }) => id))
      ),
    /** Inserts journal entries whose ids begin with `base` and sort in this order. */
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
    /** A record that was already counted is not counted again. */
    count: (pushes: ReadonlyArray<PushCounts>) =>
      sql<PushProgress>`UPDATE connector_pushes p SET done = p.done || t.parts, applied = p.applied + t.applied, ignored = p.ignored + t.ignored, failed = p.failed + t.failed
        FROM (SELECT job_id, string_to_array(parts, ',')::int4[] AS parts, applied, ignored, failed
          FROM unnest(${pushes.map(({ jobId }) => jobId)}::text[], ${pushes.map(({ parts }) => parts.join(","))}::text[], ${numbers(pushes.map(({ applied }) => applied))}::text[]::int4[],
            ${numbers(pushes.map(({ ignored }) => ignored))}::text[]::int4[], ${numbers(pushes.map(({ failed }) => failed))}::text[]::int4[]) AS u (job_id, parts, applied, ignored, failed)) t
        WHERE p.job_id = t.job_id AND NOT p.done && t.parts
        RETURNING p.job_id, p.records, cardinality(p.done) AS done, p.applied, p.ignored, p.failed`
  }
})
