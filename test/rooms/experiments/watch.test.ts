/** When a winner is reported: the figures alone, and the checks of three processes by a set clock. */
import { describe, expect, it } from "@effect/vitest"
import { Clock, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { bucketOf, NO_UNITS } from "../../../engine-sdk/src/experiments/mod.ts"
import { Identifiers } from "../../../log/identifiers.ts"
import { Outbox } from "../../../log/outbox.ts"
import { Configuration } from "../../../src/configuration/configuration.ts"
import type { Definition } from "../../../src/experiments/definition.ts"
import { lookedAt, resultsOf, winnerOf } from "../../../src/experiments/results.ts"
import type { StoredRun, SumsRow } from "../../../src/experiments/runs-repository.ts"
import { makeLook } from "../../../src/experiments/watch.ts"
import { RowReaders } from "../../../src/identity/row-readers.ts"
import { randomOf } from "../../../engine-sdk/test/random.ts"
import { makeSetClock } from "../../support/clock.ts"
import { layerTestSql } from "../../support/postgres.ts"
import { makeOrganization } from "../../support/replays.ts"

const DAY = 86_400_000
const START = Date.UTC(2026, 10, 1)
const definition: Definition = {
  name: "e",
  collection: "goods",
  variants: [
    { id: "a", name: "a", weight: 1 },
    { id: "b", name: "b", weight: 1 }
  ],
  metric: "ctr",
  traffic: 1,
  min_sample: 1_000,
  minimum_days: 7,
  covariate_days: 14,
  unit: "session"
}
const run: StoredRun = {
  organization_id: "org_1",
  experiment_id: "exp_1",
  run: 1,
  definition,
  started_at: START,
  stopped_at: null,
  revenue_cap: null,
  least_p: {},
  split_p: 1,
  winner_variant_id: null
}
/** Units of one search each, of which `clicked` clicked and `none` found nothing. */
const rows = (variant: number, n: number, clicked: number, none = 0): ReadonlyArray<SumsRow> =>
  (
    [
      ["ctr", clicked],
      ["zero_result_rate", none],
      ["conversion_rate", 0],
      ["revenue_per_search", 0]
    ] as const
  ).map(([metric, x]) => ({ ...NO_UNITS, variant, day: START, metric, n, x, xx: x, y: n, yy: n, xy: x }))
const counted = (...parts: ReadonlyArray<ReadonlyArray<SumsRow>>): Parameters<typeof resultsOf>[1] => ({
  sums: parts.flat(),
  exposures: [],
  latencies: [],
  splits: [],
  droppedDays: 0
})
const late = START + 7 * DAY

describe("the figures of a run", () => {
  it("have a winner if all holds: certainty, enough units and days, a right split, no worse guardrail", () => {
    const better = counted(rows(0, 5_000, 500), rows(1, 5_000, 700))
    expect(winnerOf(run, better, late)?.variant_id).toBe("b")
    expect(winnerOf(run, better, late - 1)).toBeNull()
    expect(winnerOf({ ...run, definition: { ...definition, min_sample: 5_001 } }, better, late)).toBeNull()
    expect(winnerOf(run, counted(rows(0, 5_000, 500), rows(1, 5_500, 770)), late)).toBeNull()
    expect(winnerOf(run, counted(rows(0, 5_000, 500), rows(1, 5_000, 700, 400)), late)).toBeNull()
    expect(winnerOf(run, counted(rows(0, 5_000, 500), rows(1, 5_000, 520)), late)).toBeNull()
    expect(winnerOf(run, counted(rows(0, 5_000, 500), rows(1, 5_000, 350)), late)?.variant_id).toBe("a")
    // One unit in a hundred that two variants answered, and a split that an earlier check found wrong.
    expect(winnerOf(run, counted(rows(0, 5_000, 500), rows(1, 5_000, 700), rows(-1, 102, 9)), late)).toBeNull()
    expect(winnerOf({ ...run, split_p: 0.0009 }, better, late)).toBeNull()
  })
  it("are reported with their meaning, and do not change by a later check", () => {
    const better = counted(rows(0, 5_000, 500), rows(1, 5_000, 700))
    const early = resultsOf(run, better, START + DAY)
    expect(early).toMatchObject({
      state: "collecting",
      units: 10_000,
      multiple_exposure_share: 0,
      days_to_min_effect: 4
    })
    const [control, variant] = early.variants
    expect([control!.lift, control!.p_value, variant!.lift]).toEqual([null, null, expect.closeTo(0.4, 9)])
    expect(variant!.interval![0]).toBeGreaterThan(0)
    expect(variant!.p_value).toBeLessThan(0.001)
    expect(early.daily).toMatchObject([
      {
        date: "2026-11-01",
        variants: [
          { id: "a", mean: 0.1 },
          { id: "b", mean: 0.14 }
        ]
      }
    ])
    // The smallest p found so far is kept, though the difference is gone now.
    const equal = counted(rows(0, 5_000, 500), rows(1, 5_000, 500))
    expect(resultsOf({ ...run, least_p: { b: 0.01 } }, equal, late).variants[1]!.p_value).toBe(0.01)
    const state = (of: Partial<StoredRun>, what: typeof equal) => resultsOf({ ...run, ...of }, what, late).state
    expect(state({}, equal)).toBe("ready")
    expect(state({}, counted(rows(0, 90_000, 27_000), rows(1, 90_000, 27_000)))).toBe("no_effect")
    expect(state({ winner_variant_id: "b" }, better)).toBe("winner")
    expect(state({}, counted(rows(0, 5_000, 500), rows(1, 6_000, 700)))).toBe("unhealthy")
    expect(resultsOf(run, counted(), START + 1)).toMatchObject({
      state: "collecting",
      units: 0,
      days_to_min_effect: null
    })
  })
  it("give no win to a variant that answers more slowly, within the sketch's precision", () => {
    const random = randomOf(5)
    const took = (variant: number, slower: number) => {
      const buckets = new Map<number, number>()
      for (let i = 0; i < 6_000; i++) {
        const normal = Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next())
        const bucket = bucketOf(20_000 * slower * Math.exp(0.5 * normal))
        buckets.set(bucket, (buckets.get(bucket) ?? 0) + 1)
      }
      return [...buckets].map(([bucket, exposures]) => ({ variant, bucket, exposures }))
    }
    const better = counted(rows(0, 5_000, 500), rows(1, 5_000, 700))
    const same = { ...better, latencies: [...took(0, 1), ...took(1, 1)] }
    const slower = { ...better, latencies: [...took(0, 1), ...took(1, 1.3)] }
    const railOf = (what: typeof better, of: Partial<StoredRun> = {}) =>
      resultsOf({ ...run, ...of }, what, late).guardrails[1]!
    expect([winnerOf(run, same, late)?.variant_id, railOf(same)]).toEqual([
      "b",
      { metric: "latency_p95", ok: true, p_value: 1 }
    ])
    expect([winnerOf(run, slower, late), railOf(slower).ok]).toEqual([null, false])
    expect(railOf(same, { least_p: lookedAt(run, slower).least_p }).ok).toBe(false)
    // The 95th percentile is 20 ms times e^(0.5 * 1.645).
    const [a, b] = resultsOf(run, slower, late).variants
    expect(a!.latency_p95_ms! / 45.5).toBeCloseTo(1, 1)
    expect(b!.latency_p95_ms! / 59.2).toBeCloseTo(1, 1)
    expect(resultsOf(run, better, late).variants[0]!.latency_p95_ms).toBeNull()
  })
  it("show the source of a wrong split: what is significant, or the first five", () => {
    const of = (dimension: "device" | "country", value: string, a: number, b: number) =>
      [a, b].map((units, variant) => ({ dimension, value, variant, units }))
    const fine = Array.from({ length: 8 }, (_, i) => of("country", `c${i}`, 500, 500)).flat()
    const by = (splits: typeof fine) => resultsOf(run, { ...counted(), splits }, late).srm.by
    const skewed = by([...fine, ...of("device", "mobile", 3_000, 2_400), ...of("device", "", 2_000, 2_000)])
    expect(skewed[0]).toMatchObject({ dimension: "device", value: "mobile", units: [3_000, 2_400], ok: false })
    expect(skewed[0]!.p_value).toBeLessThan(0.001)
    expect(skewed.slice(1).map(({ ok }) => ok)).toEqual([true, true, true, true])
    expect(skewed[1]).toMatchObject({ dimension: "device", value: null, units: [2_000, 2_000] })
    const many = by(Array.from({ length: 30 }, (_, i) => of("country", `c${i}`, 3_000, 2_000)).flat())
    expect([many.length, many.every(({ ok }) => !ok)]).toEqual([20, true])
    expect(by([])).toEqual([])
  })
  it("of an interleaved run are wins, losses and ties, one vote for each unit with a click", () => {
    const merged = { ...run, definition: { ...definition, mode: "interleave" as const } }
    const votes = (wins: number, losses: number, ties: number) => {
      const vote = { ...NO_UNITS, variant: 0, day: START, x: wins - losses, xx: wins + losses }
      return counted(
        rows(0, 2_000, 500),
        [{ ...vote, metric: "vote_ctr", n: wins + losses + ties }],
        [{ ...vote, metric: "vote_conversion_rate", n: 9, x: -9, xx: 9 }]
      )
    }
    const results = resultsOf(merged, votes(180, 120, 40), late)
    expect(results).toMatchObject({
      state: "ready",
      srm: { ok: true, by: [] },
      guardrails: [],
      interleaving: { wins: 180, losses: 120, ties: 40 }
    })
    expect(results.interleaving!.p_value).toBeLessThan(0.05)
    const winner = (wins: number, losses: number, at = late) => winnerOf(merged, votes(wins, losses, 5), at)?.variant_id
    expect([winner(180, 120), winner(120, 180), winner(155, 145), winner(180, 120, late - 1)]).toEqual([
      "b",
      "a",
      undefined,
      undefined
    ])
    // An earlier check found it; with fewer units than required, there is no result yet.
    expect(
      winnerOf({ ...merged, least_p: lookedAt(merged, votes(180, 120, 0)).least_p }, votes(151, 149, 0), late)
        ?.variant_id
    ).toBe("b")
    const more = { ...merged, definition: { ...merged.definition, min_sample: 2_001 } }
    expect(winnerOf(more, votes(180, 120, 5), late)).toBeNull()
    expect(resultsOf(run, counted(), late).interleaving).toBeNull()
    const purchases = { ...merged, definition: { ...merged.definition, metric: "conversion_rate" as const } }
    expect(resultsOf(purchases, votes(1, 1, 1), late).interleaving).toMatchObject({ wins: 0, losses: 9, ties: 0 })
  })
  it("are adjusted by earlier figures of units, if these explain something; raw ones are as counted", () => {
    // One in ten of 5,000 units clicked, and most of these had clicked before.
    const known = (variant: number, clicked: number, both: number, before = 500): ReadonlyArray<SumsRow> =>
      rows(variant, 5_000, clicked).map((row) =>
        row.metric !== "ctr" ? row : { ...row, c: before, cc: before, xc: both, yc: before, known: 5_000 }
      )
    const told = (...parts: ReadonlyArray<ReadonlyArray<SumsRow>>) => resultsOf(run, counted(...parts), late)
    const found = told(known(0, 500, 400), known(1, 560, 420))
    const [control, variant] = found.variants
    expect(control!.cuped!.reduction).toBeGreaterThan(0.5)
    expect(variant!.cuped).toEqual(control!.cuped)
    expect([variant!.raw.mean, variant!.raw.lift]).toEqual([0.112, expect.closeTo(0.12, 9)])
    expect(variant!.raw.interval![0]).toBeLessThan(0)
    expect(variant!.interval![0]).toBeGreaterThan(0)
    expect(variant!.p_value).toBeLessThan(0.05)
    expect(found.daily[0]!.variants[1]!.interval).toEqual(variant!.interval)
    // The variant's units clicked more before, which is subtracted from its mean.
    const luckier = told(known(0, 500, 400), known(1, 560, 450, 560)).variants[1]!
    expect(luckier.mean).toBeLessThan(luckier.raw.mean!)
    expect(luckier.lift).toBeLessThan(0.03)
    // Earlier and later clicks are independent: a tenth of a tenth did both.
    const chance = told(known(0, 500, 50), known(1, 560, 56)).variants[1]!
    expect([chance.cuped, chance.mean]).toEqual([null, 0.112])
  })
  it("of several variants share the allowed rate of false findings, and lower is better for empty searches", () => {
    const three = {
      ...run,
      definition: { ...definition, variants: ["a", "b", "c"].map((id) => ({ id, name: id, weight: 1 })) }
    }
    const sums = counted(rows(0, 5_000, 500), rows(1, 5_000, 590), rows(2, 5_000, 500))
    const [, two] = resultsOf(run, counted(rows(0, 5_000, 500), rows(1, 5_000, 590)), late).variants
    const [, b, c] = resultsOf(three, sums, late).variants
    expect(b!.p_value).toBeGreaterThan(1.9 * two!.p_value!)
    expect(c!.p_value).toBe(1)
    expect(b!.interval![0]).toBeLessThan(two!.interval![0])
    const zero = { ...run, definition: { ...definition, metric: "zero_result_rate" as const } }
    expect(winnerOf(zero, counted(rows(0, 5_000, 500, 700), rows(1, 5_000, 500, 500)), late)?.variant_id).toBe("b")
  })
})

const environment = Configuration.layerEmbedded.pipe(
  Layer.provideMerge(Outbox.layer),
  Layer.provideMerge(
    Layer.mergeAll(
      Identifiers.layer,
      Layer.succeed(
        RowReaders,
        new Map([["experiment", (sql, { id }) => sql`SELECT id AS row FROM experiments WHERE id = ${id}`]])
      )
    )
  ),
  Layer.provideMerge(layerTestSql)
)

describe("checks of runs", () => {
  it.live("are made every 30 seconds, once over all processes; a winner is reported once a run, a cap fixed once", () =>
    Effect.gen(function* () {
      const { clock, forward, now } = yield* makeSetClock(late)
      const sql = yield* SqlClient.SqlClient
      yield* makeOrganization("org_1")
      const stored = (id: string, own: Definition) =>
        Effect.gen(function* () {
          yield* sql`INSERT INTO experiments (organization_id, id, collection, definition, status, run, started_at, created_at, updated_at)
            VALUES ('org_1', ${id}, 'goods', ${JSON.stringify(own)}::text::json, 'running', 1, ${START}, ${START}, ${START})`
          yield* sql`INSERT INTO experiment_runs (organization_id, experiment_id, run, definition, started_at, least_p, split_p, looked_at)
            VALUES ('org_1', ${id}, 1, ${JSON.stringify(own)}::text::json, ${START}, '{}', 1, 0)`
        })
      yield* stored("exp_ctr", definition)
      yield* stored("exp_money", { ...definition, metric: "revenue_per_search" })
      for (const { metric, n, variant, x, xx, xy, y, yy } of [...rows(0, 5_000, 500), ...rows(1, 5_000, 700)])
        yield* sql`INSERT INTO experiment_sums (organization_id, experiment_id, run, variant, day, metric, n, x, xx, y, yy, xy)
          VALUES ('org_1', 'exp_ctr', 1, ${variant}::int4, ${START}, ${metric}, ${n}::int4, ${x}::int4, ${xx}::int4, ${y}::int4, ${yy}::int4, ${xy}::int4)`
      // Ten of 2,000 units made a purchase, one of them for a hundred times as much.
      yield* sql`INSERT INTO experiment_units (organization_id, experiment_id, run, unit, variants, first_day, searches, no_results, clicked, purchased, revenue)
        SELECT 'org_1', 'exp_money', 1, u, 1 + u % 2, ${START}, 1, 0, 0, (u <= 10)::int4, CASE WHEN u = 1 THEN 1000000000 WHEN u <= 10 THEN 10000000 ELSE 0 END FROM generate_series(1, 2000) u`
      yield* sql`INSERT INTO experiment_sums (organization_id, experiment_id, run, variant, day, metric, n, x, xx, y, yy, xy) VALUES ('org_1', 'exp_money', 1, 0, ${START}, 'ctr', 2000, 0, 0, 2000, 2000, 0)`

      const look = Effect.provideService(yield* makeLook, Clock.Clock, clock)
      const all = Effect.map(Effect.all([look, look, look], { concurrency: 3 }), (found) =>
        found.reduce((a, b) => a + b)
      )
      expect([yield* all, yield* all]).toEqual([1, 0])
      forward(29_999)
      expect(yield* all).toBe(0)
      const lookedAt = Effect.map(
        sql<{ at: number }>`SELECT looked_at::float8 AS at FROM experiment_runs WHERE experiment_id = 'exp_ctr'`,
        ([row]) => row!.at
      )
      expect(yield* lookedAt).toBe(late)
      forward(1)
      expect(yield* all).toBe(0)
      expect(yield* lookedAt).toBe(now())
      const told = yield* sql<{
        event: string
        data: unknown
      }>`SELECT event, data FROM outbox WHERE organization_id = 'org_1'`
      expect(told).toEqual([
        {
          event: "experiment.winner_detected",
          data: {
            experiment_id: "exp_ctr",
            variant_id: "b",
            metric: "ctr",
            lift: expect.closeTo(0.4, 6),
            p_value: expect.any(Number)
          }
        }
      ])
      expect((told[0]!.data as { p_value: number }).p_value).toBeLessThan(0.05)
      const shown = yield* sql`SELECT id, winner_variant_id FROM experiments ORDER BY id`
      expect(shown).toEqual([
        { id: "exp_ctr", winner_variant_id: "b" },
        { id: "exp_money", winner_variant_id: null }
      ])
      const [money] = yield* sql<{
        cap: string
      }>`SELECT revenue_cap::text AS cap FROM experiment_runs WHERE experiment_id = 'exp_money'`
      expect(money).toEqual({ cap: "10000000" })
      const sums =
        yield* sql`SELECT variant, n::int4 AS n, x::text AS x FROM experiment_sums WHERE experiment_id = 'exp_money' AND metric = 'revenue_per_search' ORDER BY variant`
      expect(sums).toEqual([
        { variant: 0, n: 1000, x: "50000000" },
        { variant: 1, n: 1000, x: "50000000" }
      ])
    }).pipe(Effect.provide(environment))
  )
})
