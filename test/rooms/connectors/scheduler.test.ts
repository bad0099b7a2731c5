/** Scheduled pulls by a set clock, with three processes that check for them at the same time. */
import { describe, expect, it } from "@effect/vitest"
import { Clock, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { StoredConnector } from "../../../src/connectors/connectors-repository.ts"
import { Connectors } from "../../../src/connectors/connectors.ts"
import { makePullsRepository } from "../../../src/connectors/pulling/pulls-repository.ts"
import { makeLook } from "../../../src/connectors/pulling/scheduler.ts"
import { nextRunAt } from "../../../src/job-rows/cron.ts"
import { Organizations } from "../../../src/organizations/organizations.ts"
import { makeSetClock } from "../../support/clock.ts"
import { layerTestSql } from "../../support/postgres.ts"

const START = Date.UTC(2026, 10, 25, 16, 30)
const schedules = new Map([
  ["con_five", { organization_id: "org_a", schedule_cron: "*/5 * * * *", enabled: true }],
  ["con_hour", { organization_id: "org_b", schedule_cron: "0 * * * *", enabled: true }],
  ["con_off", { organization_id: "org_b", schedule_cron: "*/5 * * * *", enabled: false }],
  ["con_paused", { organization_id: "org_c", schedule_cron: "*/5 * * * *", enabled: true }]
])
const byId = (id: string) => {
  const own = schedules.get(id)
  return own === undefined ? undefined : ({ id, ...own } as StoredConnector)
}
const layerKnown = Layer.mergeAll(
  Layer.succeed(Connectors, { byId } as unknown as Connectors["Service"]),
  Layer.succeed(Organizations, {
    find: (id: string) => ({ status: id === "org_c" ? "paused" : "active" })
  } as unknown as Organizations["Service"])
)

describe("schedules of connectors", () => {
  it.live("start a pull once at its time, whichever process looks first, and make up missed ones once", () =>
    Effect.gen(function* () {
      const { clock, forward } = yield* makeSetClock(START)
      const sql = yield* SqlClient.SqlClient
      const repository = yield* makePullsRepository
      for (const id of ["org_a", "org_b", "org_c"])
        yield* sql`INSERT INTO organizations (id, name, plan, created_at) VALUES (${id}, ${id}, 'free', 0)`
      for (const [id, { enabled, organization_id, schedule_cron }] of schedules) {
        yield* sql`INSERT INTO connectors (id, organization_id, name, collection, provider, sync_mode, schedule_cron, secrets, secret_preview, enabled, created_at, updated_at)
          VALUES (${id}, ${organization_id}, ${id}, 'goods', 'generic', 'pull', ${schedule_cron}, '[]', '', ${enabled}, 0, 0)`
        yield* repository.schedule(id, nextRunAt(schedule_cron, START))
      }
      const started: Array<string> = []
      const look = yield* makeLook(({ id }) =>
        Effect.as(
          Effect.andThen(
            Effect.sleep(20),
            Effect.sync(() => started.push(id))
          ),
          true
        )
      )
      const looks = Effect.provideService(Effect.all([look, look, look], { concurrency: 3 }), Clock.Clock, clock)
      yield* looks
      expect(started).toEqual([])
      forward(5 * 60_000)
      yield* looks
      yield* looks
      expect(started).toEqual(["con_five"])
      forward(3 * 3_600_000)
      yield* looks
      yield* looks
      expect(started.slice(1).sort()).toEqual(["con_five", "con_hour"])
      // Saved again without a schedule, the connector is not started any more.
      yield* repository.schedule("con_five", undefined)
      forward(3_600_000)
      yield* looks
      expect(started.slice(3)).toEqual(["con_hour"])
    }).pipe(Effect.provide(Layer.merge(layerKnown, Layer.fresh(layerTestSql))))
  )
})
