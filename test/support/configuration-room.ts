/** A room that keeps counters of organizations in `Configuration`, and a member of an installation that has it. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { Configuration } from "../../src/configuration/configuration.ts"
import { type ConfigurationOptions, layerPostgres } from "../../src/configuration/configuration-postgres.ts"
import { Identifiers } from "../../log/identifiers.ts"

export interface Address {
  readonly host: string
  readonly port: number
  readonly username: string
  readonly password: string
  readonly database: string
}

export const makeTable = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) =>
    sql`CREATE TABLE IF NOT EXISTS test_settings (organization_id text, id text, value int4 NOT NULL, PRIMARY KEY (organization_id, id))`
)

/** The room: a write adds one and returns the sum, so a smaller value read later is stale. */
export const makeRoom = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const configuration = yield* Configuration
  const settings = new Map<string, number>()
  const keyOf = (organizationId: string, id: string) => `${organizationId}/${id}`
  /** Thrown instead of reading, for a room whose rows cannot be read. */
  let broken: string | undefined
  let slowness: Effect.Effect<void> = Effect.void
  let loads = 0
  yield* configuration.keep("engine_resource", (subjects) =>
    Effect.suspend(() => {
      loads++
      if (broken !== undefined) return Effect.die(new Error(broken))
      return Effect.andThen(
        slowness,
        Effect.map(
          sql<{ organization_id: string; id: string; value: number }>`SELECT * FROM test_settings WHERE
      ${subjects === "all" ? sql`true` : sql`(organization_id, id) IN (SELECT * FROM unnest(${subjects.map(({ organizationId }) => organizationId)}::text[], ${subjects.map(({ id }) => id)}::text[]))`}`,
          (rows) => {
            if (subjects === "all") settings.clear()
            else for (const { id, organizationId } of subjects) settings.delete(keyOf(organizationId, id))
            for (const { id, organization_id, value } of rows) settings.set(keyOf(organization_id, id), value)
          }
        )
      )
    })
  )
  return {
    configuration,
    write: (organizationId: string, id: string) =>
      configuration.write(
        { kind: "engine_resource", organizationId, id },
        Effect.map(
          sql<{
            value: number
          }>`INSERT INTO test_settings VALUES (${organizationId}, ${id}, 1) ON CONFLICT (organization_id, id) DO UPDATE SET value = test_settings.value + 1 RETURNING value`,
          ([row]) => row!.value
        )
      ),
    remove: (organizationId: string, id: string) =>
      configuration.write(
        { kind: "engine_resource", organizationId, id },
        sql`DELETE FROM test_settings WHERE organization_id = ${organizationId} AND id = ${id}`
      ),
    /** Fails after writing. */
    writeAndFail: (organizationId: string, id: string) =>
      configuration.write(
        { kind: "engine_resource", organizationId, id },
        Effect.andThen(
          sql`INSERT INTO test_settings VALUES (${organizationId}, ${id}, 1000) ON CONFLICT (organization_id, id) DO UPDATE SET value = 1000`,
          Effect.fail("refused" as const)
        )
      ),
    /** As a request reads. */
    read: (organizationId: string, id: string) =>
      Effect.suspend(() =>
        configuration.isCurrent()
          ? Effect.succeed(settings.get(keyOf(organizationId, id)))
          : Effect.map(configuration.current, () => settings.get(keyOf(organizationId, id)))
      ),
    breakWith: (message: string | undefined) => {
      broken = message
    },
    /** Before each reading. */
    slowDown: (effect: Effect.Effect<void>) => {
      slowness = effect
    },
    loads: () => loads
  }
})
export type Room = Effect.Success<typeof makeRoom>

const client = (
  { database, host, password, port, username }: Address,
  applicationName: string,
  maxConnections: number
) =>
  Layer.fresh(
    PgClient.layer({
      host,
      port,
      username,
      database,
      password: Redacted.make(password),
      applicationName,
      maxConnections
    })
  )

/** A process's part of an installation, until the scope closes. */
export const makeMember = (address: Address, options: ConfigurationOptions = {}) =>
  Effect.gen(function* () {
    const layer = Layer.provideMerge(
      layerPostgres(client(address, "configuration", 3), options),
      Layer.mergeAll(Identifiers.layer, client(address, "room", 4))
    )
    const context = yield* Layer.build(Layer.fresh(layer))
    return yield* Effect.provide(makeRoom, context as Context.Context<Configuration | SqlClient.SqlClient>)
  })
