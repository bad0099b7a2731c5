/**
 * Minutes of searches: counts of any process can be read by all, for one organization; they are removed after a day,
 * and only stored for organizations with alerts that use them.
 */
import { describe, expect, it } from "@effect/vitest"
import { Clock, Effect, Exit, Layer, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { Identifiers } from "../../../log/identifiers.ts"
import { expireSearchMinutes, keepMinutes, readSearchMinutes } from "../../../src/alerts/stored-minutes.ts"
import { SearchMinutes } from "../../../src/search/search-minutes.ts"
import { makeSetClock } from "../../support/clock.ts"
import { layerTestSql } from "../../support/postgres.ts"

const START = Date.UTC(2026, 10, 23, 16)

/** Creates an organization with an alert on a figure. */
const alertOn = Effect.fnUntraced(function* (organizationId: string, metric: string, enabled = true) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`INSERT INTO organizations (id, name, plan, created_at) VALUES (${organizationId}, 'x', 'free', 0)`
  yield* sql`INSERT INTO alerts (id, organization_id, name, metric, op, threshold, window_minutes, enabled, state, created_at, updated_at)
    VALUES (${`alert_${organizationId}`}, ${organizationId}, 'a', ${metric}, '>', 1, 5, ${enabled}, 'ok', 0, 0)`
})
/** A process that counts until its scope is closed. */
const counting = (clock: Clock.Clock, scope: Scope.Scope) =>
  Effect.gen(function* () {
    const minutes = yield* SearchMinutes.make
    yield* Scope.provide(keepMinutes(minutes), scope)
    return minutes
  }).pipe(Effect.provideService(Clock.Clock, clock))

describe("minutes of searches", () => {
  it.live("add up over processes, by organization and window, if an alert uses them", () =>
    Effect.gen(function* () {
      const { clock, forward, now } = yield* makeSetClock(START)
      const at = Effect.provideService(Clock.Clock, clock)
      for (const organization of ["org_a", "org_b"]) yield* alertOn(organization, "p95_latency_ms")
      yield* alertOn("org_c", "revenue")
      yield* alertOn("org_d", "error_rate", false)
      const first = yield* Scope.make()
      const second = yield* Scope.make()
      const a = yield* counting(clock, first)
      const b = yield* counting(clock, second)
      for (let i = 0; i < 95; i++) a.add("org_a", 10, false)
      for (let i = 0; i < 5; i++) b.add("org_a", 1_000, true)
      for (const organization of ["org_b", "org_c", "org_d", "org_e"]) b.add(organization, 5_000, true)
      forward(60_000)
      b.add("org_a", 10, false)
      yield* Scope.close(first, Exit.void)
      yield* Scope.close(second, Exit.void)
      const whole = yield* readSearchMinutes("org_a", START, now() + 1)
      expect(whole).toMatchObject({ searches: 101, errors: 5 })
      expect(whole.p95_ms).toBeGreaterThan(8)
      expect(whole.p95_ms).toBeLessThan(12)
      expect(yield* readSearchMinutes("org_a", now(), now() + 1)).toMatchObject({ searches: 1, errors: 0 })
      expect(yield* readSearchMinutes("org_b", START, now() + 1)).toMatchObject({ searches: 1, errors: 1 })
      for (const organization of ["org_c", "org_d", "org_e"])
        expect(yield* readSearchMinutes(organization, START, now() + 1)).toMatchObject({ searches: 0 })
      expect(yield* at(expireSearchMinutes(100))).toBe(0)
      forward(25 * 3_600_000)
      expect(yield* at(expireSearchMinutes(100))).toBe(3)
    }).pipe(Effect.provide(Layer.merge(Identifiers.layer, Layer.fresh(layerTestSql))))
  )

  it("are kept for the newest of very many organizations, and returned once, complete, when they are over", () => {
    let now = START
    const minutes = new SearchMinutes(() => now)
    for (let i = 0; i < 25_000; i++) minutes.add(`org_${i}`, 10, false)
    expect(minutes.held).toBe(20_000)
    const isOne = (organizationId: string) => organizationId === "org_24999"
    const given = minutes.take(isOne)
    expect(given.minutes.map(({ organizationId }) => organizationId)).toEqual(["org_24999"])
    expect(minutes.take(isOne).minutes).toEqual([])
    // Figures that could not be stored are stored later, with those counted meanwhile.
    given.again()
    minutes.add("org_24999", 10, true)
    expect(minutes.take(isOne).minutes).toMatchObject([{ organizationId: "org_24999", errors: 1 }])
    expect(minutes.take(() => false).minutes).toEqual([])
    now += 3 * 60_000
    expect(minutes.take(() => false).minutes).toEqual([])
    expect(minutes.held).toBe(0)
  })
})
