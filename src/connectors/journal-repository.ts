/** Rows of the journal. One function per statement. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
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

export const makeJournalRepository = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  return {
    /** Newest first; of one connector, which its caller has found by its organization. */
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
/** Older entries than anybody is shown. */
export const expireJournal = (rowsMax: number) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const rows = yield* sql`DELETE FROM connector_journal WHERE (connector_id, id) IN
      (SELECT connector_id, id FROM connector_journal WHERE at < extract(epoch FROM clock_timestamp()) * 1000 - ${JOURNAL_KEPT_MS}::int8 ORDER BY at LIMIT ${rowsMax}::int4) RETURNING 1`
    return rows.length
  })
