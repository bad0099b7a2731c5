/** How long a session of the console lasts, by a set clock, over a real Postgres. */
import { it } from "@effect/vitest"
import { Clock, Effect, Layer, Redacted } from "effect"
import { PgClient } from "@effect/sql-pg"
import { expect } from "vitest"
import { OperatorAuth } from "../../../src/identity/operator.ts"
import { layerPostgres } from "../../../src/configuration/configuration-postgres.ts"
import { Console, type ConsoleCaller } from "../../../src/console/console.ts"
import { layer as layerMigrations } from "../../../src/migrations/index.ts"
import { layerLeased } from "../../../src/ports/counter/leased-sql.ts"
import { Identifiers } from "../../../log/identifiers.ts"
import { SqlClient } from "effect/sql"
import { makeShiftedClock } from "../../support/clock.ts"
import { acquireTestPostgres } from "../../support/postgres.ts"

const TWELVE_HOURS_MS = 43_200_000
const operator: ConsoleCaller = { type: "operator" }

it.live("a session ends twelve hours after it was opened, and a new one belongs to its member", () =>
  Effect.scoped(
    Effect.gen(function* () {
      const server = yield* acquireTestPostgres
      const client = (maxConnections: number) =>
        Layer.fresh(
          PgClient.layer({
            host: server.host,
            port: server.port,
            username: server.username,
            password: Redacted.make(server.password),
            database: server.database,
            maxConnections
          })
        )
      const layer = Console.layer.pipe(
        Layer.provideMerge(Layer.mergeAll(layerPostgres(client(2)), layerLeased({ isAlone: true }))),
        Layer.provideMerge(Layer.mergeAll(Identifiers.layer, OperatorAuth.layer("token"))),
        Layer.provideMerge(Layer.provideMerge(layerMigrations, client(3)))
      )
      yield* Effect.provide(
        Effect.gen(function* () {
          const people = yield* Console
          const sql = yield* SqlClient.SqlClient
          const time = yield* makeShiftedClock
          const timed = Effect.provideService(Clock.Clock, time.clock)
          for (const id of ["org_one", "org_two"])
            yield* sql`INSERT INTO organizations (id, name, status, plan, created_at) VALUES (${id}, ${id}, 'active', 'standard', 0)`
          const password = "a long enough one"
          for (const id of ["org_one", "org_two"])
            yield* timed(
              people.addMember(operator, id, { email: `owner@${id}.example`, name: "Owner", role: "owner", password })
            )
          const signIn = (id: string) =>
            timed(
              people.signIn({
                address: "127.0.0.1",
                email: `owner@${id}.example`,
                organizationId: undefined,
                password
              })
            )
          const mayRead = (token: string, organizationId: string) =>
            timed(
              Effect.match(
                people.check({
                  bearer: undefined,
                  headers: { cookie: `dowser_session=${token}` },
                  isRead: true,
                  least: "member",
                  organizationId
                }),
                {
                  onFailure: ({ _tag }) => _tag as string,
                  onSuccess: (caller) => (caller.type === "member" ? caller.member.organization_id : "operator")
                }
              )
            )
          const { session, token } = yield* signIn("org_one")
          expect(session.expires_at - session.created_at).toBe(TWELVE_HOURS_MS)
          expect(yield* mayRead(token, "org_one")).toBe("org_one")
          time.forward(TWELVE_HOURS_MS - 60_000)
          expect(yield* mayRead(token, "org_one")).toBe("org_one")
          const later = yield* signIn("org_two")
          time.forward(61_000)
          expect(yield* mayRead(token, "org_one")).toBe("Unauthorized")
          expect(yield* mayRead(later.token, "org_two")).toBe("org_two")
          expect(yield* mayRead(later.token, "org_one")).toBe("RoleDenied")
          expect(yield* mayRead((yield* signIn("org_one")).token, "org_one")).toBe("org_one")
        }),
        layer
      )
    })
  )
)
