/**
 * Rows with every kind of column are restored unchanged, also into the schema of an earlier version, which is then
 * migrated.
 */
import { it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { chmodSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect } from "vitest"
import { dataVersion, layer as layerMigrations, layerUpTo } from "../../../src/migrations/index.ts"
import { copyIn, copyOut, countRows, describeRows } from "../../../src/runtime/backup/rows.ts"
import { layerSql } from "../../../src/runtime/embedded.ts"
import { acquireEmptyPostgres } from "../../support/postgres.ts"

const VERSION = 25
const odd = "quote ' \" back\\slash \\. tab\t line\nend, ünï, \u{1F600}, \\N"

it.live("rows survive the move to another database, transaction numbers do not", () =>
  Effect.scoped(
    Effect.gen(function* () {
      const [from, to] = [yield* acquireEmptyPostgres, yield* acquireEmptyPostgres]
      // The servers write and read here, whichever user runs them.
      const folder = yield* Effect.acquireRelease(
        Effect.sync(() => {
          const made = mkdtempSync(join(tmpdir(), "dowser-rows-"))
          chmodSync(made, 0o777)
          return made
        }),
        (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
      )
      const source = Layer.provideMerge(layerUpTo(VERSION), layerSql(from))
      const described = yield* Effect.provide(
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          yield* sql`INSERT INTO organizations (id, name, status, plan, created_at) VALUES ('org_a', ${odd}, 'active', 'standard', 9007199254740993)`
          yield* sql`INSERT INTO search_rule_sets VALUES ('org_a', 'c', 1, ${'{"text":"\\u0000 zero",  "n": 1.10}'}::text::json, 2)`
          yield* sql`INSERT INTO analytics_instants (organization_id, minute_at, packed) VALUES ('org_a', 60000, decode('00ff0a5c', 'hex')), ('org_a', 120000, decode('', 'hex'))`
          yield* sql`INSERT INTO analytics_product_rollup (organization_id, grain, bucket_at, collection, document_id, views, clicks, add_to_carts, purchases, quantity_micros, cart_value_micros, revenue_micros)
      VALUES ('org_a', 1, 0, 'c', 'd', 1, 2, 3, 4, 12345678901234567890123.000001, 0, -1)`
          yield* sql`INSERT INTO query_popularity (organization_id, collection, q, searches, weight, zero_weight, click_weight, changed) VALUES ('org_a', 'c', ${odd}, 1, 0.1, 1e300, -0.0, 4711)`
          yield* sql`INSERT INTO outbox (organization_id, delivery_id, event, data, created_at) VALUES ('org_a', 'dlv_1', 'x', '{}', 0)`
          return yield* sql.withTransaction(
            Effect.gen(function* () {
              yield* sql`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY`
              const found = yield* describeRows
              for (const table of found.tables) yield* copyOut(table, join(folder, table.name))
              return found
            })
          )
        }),
        source
      )
      expect(described.dataVersion).toBe(VERSION)

      const rows = (sql: SqlClient.SqlClient) =>
        Effect.all({
          organizations: sql`SELECT id, name, created_at::text AS created_at FROM organizations`,
          rules: sql`SELECT rule_set::text AS rule_set FROM search_rule_sets`,
          instants: sql`SELECT minute_at::text AS minute_at, flush::text AS flush, encode(packed, 'hex') AS packed FROM analytics_instants ORDER BY minute_at`,
          products: sql`SELECT quantity_micros::text AS quantity, revenue_micros::text AS revenue FROM analytics_product_rollup`,
          queries: sql`SELECT q, weight::text AS weight, zero_weight::text AS zero_weight FROM query_popularity`,
          fingerprints: sql`SELECT name, encode(value, 'hex') AS value FROM stream_settings`
        })
      const original = yield* Effect.provide(Effect.flatMap(SqlClient.SqlClient, rows), layerSql(from))
      yield* Effect.provide(
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          yield* copyIn(described.tables, described.sequences, ({ name }, copy) => copy(join(folder, name)))
          expect(yield* rows(sql)).toEqual(original)
          expect(yield* countRows("analytics_instants")).toBe(2)
          expect(yield* sql`SELECT DISTINCT written_by::text AS by FROM analytics_instants`).toEqual([{ by: "0" }])
          expect(yield* sql`SELECT changed::float8 AS changed FROM query_popularity`).toEqual([{ changed: 0 }])
          // Generated ids continue after the existing ones.
          yield* sql`INSERT INTO outbox (organization_id, delivery_id, event, data, created_at) VALUES ('org_a', 'dlv_2', 'x', '{}', 0)`
          expect(
            (yield* sql<{ id: number }>`SELECT id::float8 AS id FROM outbox ORDER BY id`).map(({ id }) => id)
          ).toEqual([1, 2])
        }),
        Layer.provideMerge(layerUpTo(VERSION), layerSql(to))
      )
      // Starting the current program does the rest.
      yield* Effect.provide(
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          expect(yield* sql`SELECT max(migration_id)::float8 AS version FROM effect_sql_migrations`).toEqual([
            { version: dataVersion }
          ])
          expect(yield* rows(sql)).toEqual(original)
        }),
        Layer.provideMerge(layerMigrations, layerSql(to))
      )
    })
  )
)
