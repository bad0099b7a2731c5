/** When alerts fire: the decision alone, and the checks of three processes by a set clock. */
import { describe, expect, it } from "@effect/vitest"
import { Clock, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Identifiers } from "../../../log/identifiers.ts"
import { Outbox } from "../../../log/outbox.ts"
import { makeAlertsRepository, type StoredAlert } from "../../../src/alerts/alerts-repository.ts"
import { judged, knownValue } from "../../../src/alerts/decision.ts"
import { makeLook } from "../../../src/alerts/watch.ts"
import { percentileOf, stepOf } from "../../../src/search/search-minutes.ts"
import { makeSetClock } from "../../support/clock.ts"
import { layerTestSql } from "../../support/postgres.ts"

const START = Date.UTC(2026, 10, 23, 16)
const above = { metric: "ctr", op: ">", threshold: 0.5 } as const

describe("an alert", () => {
  it("fires once for each crossing and is armed again when the condition is false", () => {
    expect(judged(above, "ok", 0.5)).toEqual({ state: "ok", hasFired: false })
    expect(judged(above, "ok", 0.6)).toEqual({ state: "firing", hasFired: true })
    expect(judged(above, "firing", 0.7)).toEqual({ state: "firing", hasFired: false })
    expect(judged(above, "firing", 0.5)).toEqual({ state: "ok", hasFired: false })
    expect(judged({ ...above, op: "<" }, "ok", 0.4)).toEqual({ state: "firing", hasFired: true })
    expect(judged(above, "firing", undefined)).toEqual({ state: "firing", hasFired: false })
  })
  it("knows rates from 50 searches on, and sums always", () => {
    expect(knownValue("ctr", 0.5, 49)).toBeUndefined()
    expect(knownValue("ctr", 0.5, 50)).toBe(0.5)
    expect(knownValue("searches", 3, 3)).toBe(3)
  })
  it("estimates percentiles to within an eighth", () => {
    const counts = new Array<number>(60).fill(0)
    for (let ms = 1; ms <= 1_000; ms++) counts[stepOf(ms)]!++
    expect(percentileOf(counts, 0.95)! / 950).toBeGreaterThan(0.875)
    expect(percentileOf(counts, 0.95)! / 950).toBeLessThan(1.125)
    expect(percentileOf([], 0.95)).toBeUndefined()
  })
})

const alertOf = (organization_id: string, id: string): StoredAlert => ({
  id,
  organization_id,
  name: id,
  metric: "searches",
  op: ">",
  threshold: 10,
  window_minutes: 5,
  enabled: true,
  state: "ok",
  last_value: null,
  last_fired_at: null,
  created_at: START,
  updated_at: START
})

describe("checks of alerts", () => {
  it.live("are made every 30 seconds, once over all processes, and write a crossing to the outbox once", () =>
    Effect.gen(function* () {
      const { clock, forward, now } = yield* makeSetClock(START)
      const sql = yield* SqlClient.SqlClient
      const repository = yield* makeAlertsRepository
      for (const id of ["org_a", "org_b"])
        yield* sql`INSERT INTO organizations (id, name, plan, created_at) VALUES (${id}, ${id}, 'free', 0)`
      yield* repository.put(alertOf("org_a", "alr_1"))
      yield* repository.put(alertOf("org_b", "alr_2"))
      yield* repository.put({ ...alertOf("org_b", "alr_off"), enabled: false })
      const values = new Map([
        ["org_a", 5],
        ["org_b", 5]
      ])
      let asked = 0
      const look = yield* makeLook(({ organization_id }) =>
        Effect.sync(() => {
          asked++
          return values.get(organization_id)
        })
      )
      const looks = Effect.provideService(Effect.all([look, look, look], { concurrency: 3 }), Clock.Clock, clock)
      const fired = sql<{
        organization_id: string
        data: unknown
      }>`SELECT organization_id, data FROM outbox WHERE event = 'alert.fired' ORDER BY id`
      yield* looks
      expect(asked).toBe(2)
      values.set("org_a", 11)
      forward(29_000)
      yield* looks
      expect(asked).toBe(2)
      forward(1_000)
      yield* looks
      expect(asked).toBe(4)
      expect(yield* fired).toEqual([
        { organization_id: "org_a", data: { alert_id: "alr_1", metric: "searches", value: 11, threshold: 10 } }
      ])
      expect(yield* repository.get("org_a", "alr_1")).toMatchObject({
        state: "firing",
        last_value: 11,
        last_fired_at: now()
      })
      for (const value of [12, 9, 13]) {
        values.set("org_a", value)
        forward(30_000)
        yield* looks
      }
      expect((yield* fired).map(({ organization_id }) => organization_id)).toEqual(["org_a", "org_a"])
    }).pipe(Effect.provide(Layer.provideMerge(Outbox.layer, Layer.merge(Identifiers.layer, Layer.fresh(layerTestSql)))))
  )
})
