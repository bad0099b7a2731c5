/** Rows of the journal. One function per statement. */
import { ulidTime } from "@dowser/log/identifiers"
import { Clock, Effect } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import type { JournalEntry } from "./schema.ts"

type Row = Omit<JournalEntry, "error" | "mapping" | "version"> & {
  readonly version: number | null
  readonly mapping: string | null
  readonly error: string | null
}
const entryOf = ({ error, mapping, version, ...row }: Row): JournalEntry => ({
  ...row,
  ...(version === null ? {} : { version }),
  ...(mapping === null ? {} : { mapping }),
  ...(error === null ? {} : { error })
})
/** Seven days. */
const JOURNAL_KEPT_MS = 7 * 24 * 3_600_000
/** Limit per connector: a shop of a million products with an hourly feed would write 24 million entries a day. */
export const JOURNAL_ENTRIES_MAX = 500_000

export const makeJournalRepository = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  return {
    /** Newest first, for one connector, which the caller has checked against its organization. */
    page: (
      connectorId: string,
      {
        before,
        externalId,
        limit,
        status
      }: {
        readonly before: string | undefined
        readonly externalId: string | undefined
        readonly status: string | undefined
        readonly limit: number
      }
    ) =>
      Effect.map(
        sql<Row>`SELECT id, external_id, op, version::float8 AS version, status, mapping, error, attempts, at::float8 AS at FROM connector_journal
          WHERE connector_id = ${connectorId} AND (${before ?? null}::text IS NULL OR id < ${before ?? null}::text)
            AND (${status ?? null}::text IS NULL OR status = ${status ?? null}::text)
            AND (${externalId ?? null}::text IS NULL OR external_id = ${externalId ?? null}::text)
          ORDER BY id DESC LIMIT ${limit}::int4`,
        (rows) => rows.map(entryOf)
      )
  }
})
/** Removes the entries that `which` selects, and counts them. */
const removed = Effect.fnUntraced(function* (which: Statement.Fragment) {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{
    n: number
  }>`WITH gone AS (DELETE FROM connector_journal WHERE (connector_id, id) IN (${which}) RETURNING connector_id),
    counts AS (SELECT connector_id, count(*) AS n FROM gone GROUP BY 1),
    told AS (UPDATE connector_states s SET journal_entries = greatest(0, s.journal_entries - c.n) FROM counts c WHERE s.connector_id = c.connector_id)
    SELECT coalesce(sum(n), 0)::int4 AS n FROM counts`
  return row!.n
})
/** Removes entries that are too old to be shown. */
export const expireJournal = (rowsMax: number) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const before = `cje_${ulidTime((yield* Clock.currentTimeMillis) - JOURNAL_KEPT_MS)}`
    return yield* removed(
      sql`SELECT j.connector_id, j.id FROM connector_states s CROSS JOIN LATERAL (
          SELECT connector_id, id FROM connector_journal WHERE connector_id = s.connector_id AND id < ${before} ORDER BY id LIMIT ${rowsMax}::int4) j
        LIMIT ${rowsMax}::int4`
    )
  })
/** Removes the oldest entries of a journal that is too long. */
export const shortenJournal = (rowsMax: number, entriesMax = JOURNAL_ENTRIES_MAX) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const [long] = yield* sql<{
      connector_id: string
      above: number
    }>`SELECT connector_id, (journal_entries - ${entriesMax}::int8)::float8 AS above FROM connector_states
      WHERE journal_entries > ${entriesMax}::int8 LIMIT 1`
    if (long === undefined) return 0
    return yield* removed(
      sql`SELECT connector_id, id FROM connector_journal WHERE connector_id = ${long.connector_id} ORDER BY id LIMIT ${Math.min(rowsMax, long.above)}::int4`
    )
  })
/** Removes rows that a deleted connector left behind; returns how many. 0: nothing is left of any connector. */
export const expireLeftovers = (rowsMax: number) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const [left] = yield* sql<{ connector_id: string }>`SELECT connector_id FROM connector_leftovers LIMIT 1`
    if (left === undefined) return 0
    for (const table of ["connector_documents", "connector_journal", "connector_pull_seen"]) {
      const rows = yield* sql`DELETE FROM ${sql(table)} WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM ${sql(table)} WHERE connector_id = ${left.connector_id} LIMIT ${rowsMax}::int4)) RETURNING 1`
      if (rows.length > 0) return rows.length
    }
    yield* sql`DELETE FROM connector_leftovers WHERE connector_id = ${left.connector_id}`
    return 1
  })
