/** Migrates a database to a schema: each migration once, always in the same order if several are new. */
import { Effect } from "effect"
import { Migrator, SqlClient, type SqlError } from "effect/sql"
import type { Migration } from "../room.ts"

export type Migrations = Readonly<Record<string, Migration>>
export const versionOf = (name: string): number => Number(name.slice(0, name.indexOf("_")))

const notRun = Effect.fnUntraced(function* (migrations: Migrations) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ migration_id: number }>`SELECT migration_id FROM effect_sql_migrations`
  const run = new Set(rows.map(({ migration_id }) => migration_id))
  return Object.entries(migrations)
    .filter(([name]) => !run.has(versionOf(name)))
    .sort(([a], [b]) => versionOf(a) - versionOf(b))
})

/**
 * The migrator continues after the newest migration that was run. Rooms are developed in parallel, so a migration may
 * arrive after one with a later date: skipped ones are run here.
 */
const runPassedOver = (migrations: Migrations): Effect.Effect<void, SqlError.SqlError, SqlClient.SqlClient> =>
  Effect.gen(function* () {
    if ((yield* notRun(migrations)).length === 0) return
    const sql = yield* SqlClient.SqlClient
    yield* sql.withTransaction(
      Effect.gen(function* () {
        yield* sql`LOCK TABLE effect_sql_migrations IN ACCESS EXCLUSIVE MODE`
        for (const [name, migration] of yield* notRun(migrations)) {
          yield* migration
          yield* sql`INSERT INTO effect_sql_migrations (migration_id, name) VALUES (${versionOf(name)}, ${name.slice(name.indexOf("_") + 1)})`
        }
      })
    )
  })

/**
 * Retried because of processes that start at the same time: creating the table of migrations concurrently fails for one
 * of them.
 */
export const migrate = (migrations: Migrations) =>
  Effect.orDie(
    Effect.andThen(
      Effect.retry(Migrator.make({})({ loader: Migrator.fromRecord(migrations) }), { times: 2 }),
      runPassedOver(migrations)
    )
  )
