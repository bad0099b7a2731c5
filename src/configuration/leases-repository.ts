/** Versions, changes and leases in Postgres. One function per statement. */
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { Change, ConfigurationKind } from "./change.ts"
import type { LeaseRow } from "./leases.ts"

export const channel = "dowser_configuration"
/** Number of changes kept: a process that is further behind reads everything. */
const CHANGES_KEPT = 10_000
/** Maximum idle time of a process between taking the next version and its commit: every other write waits. */
const COMMIT_WITHIN_MS = 1_000

interface ChangesRow {
  readonly version: number
  readonly kind: ConfigurationKind | null
  readonly organization_id: string
  readonly subject: string
}
interface LeasesRow extends LeaseRow {
  readonly version: number
}

/** `sql` is any client of the database, but `nextVersion` needs that of the write's transaction. */
export const makeLeasesRepository = (sql: SqlClient.SqlClient) => ({
  version: Effect.map(
    sql<{ version: number }>`SELECT version::float8 AS version FROM configuration_version`,
    ([row]) => row!.version
  ),
  /** The last statement of a write's transaction, because its row stays locked until the commit. */
  nextVersion: ({ id, kind, organizationId }: Change) =>
    Effect.map(
      sql<{ version: number }>`
    WITH next AS (UPDATE configuration_version SET version = version + 1 RETURNING version),
      logged AS (INSERT INTO configuration_changes (version, kind, organization_id, subject) SELECT version, ${kind}::text, ${organizationId}::text, ${id}::text FROM next),
      trimmed AS (DELETE FROM configuration_changes WHERE version <= (SELECT version - ${CHANGES_KEPT}::int4 FROM next))
    SELECT version::float8 AS version, pg_notify(${channel}, ''), set_config('idle_in_transaction_session_timeout', ${String(COMMIT_WITHIN_MS)}, true) FROM next`,
      ([row]) => row!.version
    ),
  /**
   * The newest version and the changes after `applied` up to it, read at one moment; `all` if the changes are no
   * longer stored.
   */
  changesSince: (applied: number) =>
    Effect.map(
      sql<ChangesRow>`
    SELECT v.version::float8 AS version, c.kind, c.organization_id, c.subject FROM configuration_version v LEFT JOIN configuration_changes c ON c.version > ${String(applied)}::text::int8 ORDER BY c.version`,
      (rows) => {
        const version = rows[0]!.version
        const changes = rows.flatMap(({ kind, organization_id, subject }): ReadonlyArray<Change> =>
          kind === null ? [] : [{ kind, organizationId: organization_id, id: subject }]
        )
        return { version, changes: changes.length === version - applied ? changes : ("all" as const) }
      }
    ),
  join: (process: string, confirmed: number) =>
    sql`INSERT INTO configuration_leases (process, confirmed, renewals) VALUES (${process}, ${String(confirmed)}::text::int8, 0)`,
  /** Renews; returns the newest version and all leases as they were before; undefined if the lease was ended. */
  renew: (process: string, confirmed: number) =>
    Effect.map(
      sql<LeasesRow & { readonly is_held: boolean }>`
    WITH mine AS (UPDATE configuration_leases SET renewals = renewals + 1, confirmed = ${String(confirmed)}::text::int8 WHERE process = ${process} RETURNING process)
    SELECT v.version::float8 AS version, l.process, l.confirmed::float8 AS confirmed, l.renewals::float8 AS renewals, EXISTS (SELECT FROM mine) AS is_held
    FROM configuration_version v LEFT JOIN configuration_leases l ON true`,
      (rows) => (rows[0]!.is_held ? { version: rows[0]!.version, leases: rows as ReadonlyArray<LeaseRow> } : undefined)
    ),
  leases: sql<LeaseRow>`SELECT process, confirmed::float8 AS confirmed, renewals::float8 AS renewals FROM configuration_leases`,
  /** Ends a lease unless it has been renewed since. */
  end: ({ process, renewals }: LeaseRow) =>
    sql`DELETE FROM configuration_leases WHERE process = ${process} AND renewals = ${String(renewals)}::text::int8`,
  /** Notifies the others of the version up to which a process has every change. Not durable: a renewal repeats it. */
  confirm: (process: string, version: number) => sql`SELECT pg_notify(${channel}, ${`${process} ${version}`})`,
  /** Ends every lease of a process, including one whose creation was never acknowledged. */
  leave: (member: string) =>
    sql`WITH gone AS (DELETE FROM configuration_leases WHERE starts_with(process, ${`${member}.`}::text) RETURNING process) SELECT pg_notify(${channel}, process || ' gone') FROM gone`
})
