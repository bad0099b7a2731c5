/** A schema of many rooms: each migration runs once, also one that was merged after another of a later day. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { migrate } from "../../../src/migrations/migrate.ts"
import type { Migration } from "../../../src/room.ts"
import { layerSql } from "../../../src/runtime/embedded.ts"
import { acquireEmptyPostgres } from "../../support/postgres.ts"

it.live("a migration that was skipped runs once, and one that fails leaves nothing behind", () =>
  Effect.scoped(
    Effect.gen(function* () {
      const server = yield* acquireEmptyPostgres
      const body = Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const ran: Array<string> = []
        const step = (name: string): Migration =>
          Effect.flatMap(SqlClient.SqlClient, (client) =>
            Effect.andThen(
              Effect.sync(() => {
                ran.push(name)
              }),
              client.unsafe(`CREATE TABLE ${name} (id int)`)
            )
          )
        const later = { "0001_ground": step("ground"), "2026113001_later": step("later") }
        yield* migrate(later)
        const both = { ...later, "2026112901_earlier": step("earlier"), "2026112801_earliest": step("earliest") }
        yield* Effect.all([migrate(both), migrate(both), migrate(both)], { concurrency: 3 })
        assert.deepStrictEqual(ran, ["ground", "later", "earliest", "earlier"])
        const broken = {
          ...both,
          "2026112701_broken": Effect.andThen(step("half"), sql`SELECT nothing FROM nowhere`) as Migration
        }
        assert.strictEqual((yield* Effect.exit(migrate(broken)))._tag, "Failure")
        const tables = yield* sql<{
          name: string
        }>`SELECT tablename AS name FROM pg_tables WHERE tablename IN ('ground', 'later', 'earlier', 'earliest', 'half') ORDER BY 1`
        assert.deepStrictEqual(
          tables.map(({ name }) => name),
          ["earlier", "earliest", "ground", "later"]
        )
      })
      yield* Effect.provide(body, layerSql(server))
    })
  )
)
