/**
 * Rows of every table, from one snapshot and into an empty database: by the server's own COPY, so that none passes
 * through this process. All tables and columns that the migrations create are copied, except what would be wrong
 * elsewhere.
 */
import { Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"

interface TableRows {
  readonly name: string
  readonly columns: ReadonlyArray<string>
}

const LEDGER = "effect_sql_migrations"
/** Sessions that have ended since must not reopen; leases and members belong to processes that have ended. */
const LEFT_OUT: ReadonlySet<string> = new Set([LEDGER, "console_sessions", "configuration_leases", "stream_members"])
/** Transaction numbers are meaningless in another database. Columns of type `xid8` are found automatically. */
const TRANSACTION_COLUMNS: ReadonlySet<string> = new Set(["query_popularity.changed"])

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`
const text = (value: string): string => `'${value.replaceAll("'", "''")}'`

interface ColumnRow {
  readonly name: string
  readonly column: string
  readonly type: string
}

/** Describes the tables that the transaction sees: call it first in a REPEATABLE READ transaction. */
export const describeRows = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const columns =
    yield* sql<ColumnRow>`SELECT c.relname::text AS name, a.attname::text AS column, format_type(a.atttypid, NULL) AS type FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE n.nspname = 'public' AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' ORDER BY c.relname, a.attnum`
  const tables = new Map<string, { readonly columns: Array<string>; readonly selected: Array<string> }>()
  for (const { column, name, type } of columns) {
    if (LEFT_OUT.has(name)) continue
    const table = tables.get(name) ?? { columns: [], selected: [] }
    tables.set(name, table)
    table.columns.push(column)
    table.selected.push(
      type === "xid8"
        ? `'0'::xid8 AS ${quoted(column)}`
        : TRANSACTION_COLUMNS.has(`${name}.${column}`)
          ? `0::${type} AS ${quoted(column)}`
          : quoted(column)
    )
  }
  const sequences = yield* sql<{
    readonly name: string
    readonly next: string
  }>`SELECT sequencename::text AS name, (coalesce(last_value + 1, start_value))::text AS next FROM pg_sequences WHERE schemaname = 'public'`
  const [ledger] = yield* sql.unsafe<{ readonly version: number }>(
    `SELECT max(migration_id)::float8 AS version FROM ${LEDGER}`
  )
  return {
    dataVersion: ledger!.version,
    sequences: Object.fromEntries(sequences.map(({ name, next }) => [name, next])),
    tables: [...tables].map(([name, table]) => ({ name, ...table }))
  }
})

/** The Postgres server itself writes `file`. */
export const copyOut = (
  { name, selected }: { readonly name: string; readonly selected: ReadonlyArray<string> },
  file: string
) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    sql.unsafe(`COPY (SELECT ${selected.join(", ")} FROM ${quoted(name)}) TO ${text(file)}`)
  )

/**
 * Fills a database that has the schema and nothing else worth keeping, in one transaction. Constraints between rows are
 * not checked again, because the rows are from one snapshot. `fileOf`: where the server reads a table's rows.
 */
export const copyIn = (
  tables: ReadonlyArray<TableRows>,
  sequences: Readonly<Record<string, string>>,
  each: (
    table: TableRows,
    copy: (file: string) => Effect.Effect<void, SqlError.SqlError>
  ) => Effect.Effect<void, SqlError.SqlError>
) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql.withTransaction(
      Effect.gen(function* () {
        yield* sql`SET LOCAL session_replication_role = replica`
        yield* sql.unsafe(`TRUNCATE ${tables.map(({ name }) => quoted(name)).join(", ")} CASCADE`)
        for (const table of tables) {
          yield* each(table, (file) =>
            Effect.asVoid(
              sql.unsafe(`COPY ${quoted(table.name)} (${table.columns.map(quoted).join(", ")}) FROM ${text(file)}`)
            )
          )
        }
        for (const [name, next] of Object.entries(sequences))
          yield* sql`SELECT setval(${quoted(name)}::regclass, ${next}::text::int8, false)`
      })
    )
    // Until the first automatic ANALYZE, query plans would be those for empty tables.
    yield* sql`ANALYZE`
  })

/** How many rows a table has. O(rows). */
export const countRows = (name: string) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.map(
      sql.unsafe<{ readonly n: number }>(`SELECT count(*)::float8 AS n FROM ${quoted(name)}`),
      ([row]) => row!.n
    )
  )
