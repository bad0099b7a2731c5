/**
 * Units of experiments: the tables contain what a recount of all facts at once finds, however the log was cut into
 * flushes and in whatever order it came; a person's erasure does not change the sums of anybody else.
 */
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { join } from "node:path"
import { bucketOf, documentPrint } from "../../engine-sdk/src/experiments/mod.ts"
import { EventLog } from "../../log/event-log/event-log.ts"
import type { BehaviouralEvent, ServedExposure, ServedSearch } from "../../log/event-schema.ts"
import { Identifiers } from "../../log/identifiers.ts"
import { Replays } from "../../src/events/replays/replays.ts"
import type { FactProcessor } from "../../streams/facts/fact-processor.ts"
import type { FactSink, SearchFacts } from "../../streams/facts/facts.ts"
import { DAY_MS } from "../../streams/figures/grain.ts"
import { FACT_PROCESSORS } from "../../streams/processors/counting.ts"
import { RunChange } from "../../streams/processors/experiments/emitted.ts"
import { labelUnits } from "../../streams/processors/experiments/labels.ts"
import { openStateStore } from "../../streams/state/lmdb.ts"
import { generate, seeded } from "../support/attribution-oracle.ts"
import { layerTestSql, temporaryFolder } from "../support/postgres.ts"
import { eventsRecord, jobEnd, makeOrganization, servedRecord, startStreams } from "../support/replays.ts"

const START = Math.floor(Date.now() / DAY_MS) * DAY_MS - 2 * DAY_MS + 23 * 3_600_000
const CAP = 60_000_000

interface Unit {
  variants: number
  day: number
  searches: number
  none: number
  clicked: number
  purchased: number
  revenue: number
  device: string
  surface: string
  /** Clicks and purchases of documents that only one of the rankings proposed. */
  credits: { click: [number, number]; purchase: [number, number] }
  /** How long its answers took, by variant. */ took: Array<readonly [variant: number, us: number]>
}
/** The recount: every fact that ever occurred, by unit. */
class Recount implements FactSink {
  readonly units: Map<string, Unit>
  constructor(units: Map<string, Unit>) {
    this.units = units
  }
  #of(organizationId: string, { exposure, who }: SearchFacts): Unit | undefined {
    if (exposure === undefined) return undefined
    const key = `${organizationId} ${exposure.id} ${exposure.run} ${who[exposure.unit === "user" ? 0 : exposure.unit === "anonymous" ? 1 : 2]}`
    const unit = this.units.get(key) ?? {
      variants: 0,
      day: Infinity,
      searches: 0,
      none: 0,
      clicked: 0,
      purchased: 0,
      revenue: 0,
      device: "",
      surface: "",
      credits: { click: [0, 0], purchase: [0, 0] },
      took: []
    }
    this.units.set(key, unit)
    return unit
  }
  answer({ at, organization_id }: ServedSearch, said: SearchFacts) {
    const unit = this.#of(organization_id, said)
    if (unit === undefined) return
    unit.variants |= 1 << said.exposure!.variant
    unit.day = Math.min(unit.day, Math.floor(at / DAY_MS) * DAY_MS)
    unit.device = [unit.device, said.device].toSorted()[1]!
    unit.surface = [unit.surface, said.surface].toSorted()[1]!
    unit.took.push([said.exposure!.variant, said.exposure!.took_us!])
  }
  search({ key }: { readonly key: ReadonlyArray<string> }, search: SearchFacts, sign: number) {
    const unit = this.#of(key[0]!, search)
    if (unit === undefined) return
    unit.searches += sign
    unit.none += search.hasNoResults ? sign : 0
  }
  converted({ key }: { readonly key: ReadonlyArray<string> }, search: SearchFacts, kind: string, sign: number) {
    const unit = this.#of(key[0]!, search)
    if (unit === undefined) return
    if (kind === "click") unit.clicked += sign
    else unit.purchased += sign
  }
  interaction: NonNullable<FactSink["interaction"]> = ({ key }, { documents, kind, money }, sign, search) => {
    const unit = this.#of(key[0]!, search)
    const { a, b } = search.exposure?.teams ?? { a: [], b: [] }
    if (unit !== undefined && kind !== "add_to_cart") {
      for (const document of documents) {
        if (a.includes(document)) unit.credits[kind][0] += sign
        if (b.includes(document)) unit.credits[kind][1] += sign
      }
    }
    if (unit !== undefined && kind === "purchase") unit.revenue += sign * (money.units * 1_000_000 + money.micros)
  }
}
const recounting = (units: Map<string, Unit>): FactProcessor<undefined, Recount> => ({
  name: "recount",
  open: () => undefined,
  newEmitted: () => new Recount(units),
  sizeOf: () => 0,
  write: () => Effect.void,
  erasing: { outcome: "rebuilt" }
})
/** The rows of sums, as one text each, that a recount finds. */
const expectedSums = (units: ReadonlyMap<string, Unit>, organizationId: string) => {
  const rows = new Map<string, Array<bigint>>()
  for (const [key, unit] of units) {
    const [organization, id, run] = key.split(" ") as [string, string, string]
    if (organization !== organizationId || unit.variants === 0) continue
    const isSingle = (unit.variants & (unit.variants - 1)) === 0
    const variant = isSingle ? Math.log2(unit.variants) : -1
    const figures = {
      ctr: unit.clicked,
      conversion_rate: unit.purchased,
      revenue_per_search: Math.min(unit.revenue, run === "2" ? CAP : Infinity),
      zero_result_rate: unit.none
    }
    for (const [metric, figure] of Object.entries(figures)) {
      const row = `${id} ${run} ${variant} ${unit.day} ${metric}`
      const [x, y] = [BigInt(figure), BigInt(unit.searches)]
      const own = [1n, x, x * x, y, y * y, x * y]
      rows.set(row, rows.get(row)?.map((sum, i) => sum + own[i]!) ?? own)
    }
    for (const [metric, [a, b]] of [
      ["vote_ctr", unit.credits.click],
      ["vote_conversion_rate", unit.credits.purchase]
    ] as const) {
      if (a + b === 0) continue
      const row = `${id} ${run} ${variant} ${unit.day} ${metric}`
      const [x, y] = [BigInt(Math.sign(b - a)), BigInt(unit.searches)]
      const own = [1n, x, x * x, y, y * y, x * y]
      rows.set(row, rows.get(row)?.map((sum, i) => sum + own[i]!) ?? own)
    }
  }
  return [...rows].map(([row, sums]) => `${row}: ${sums.join(" ")}`).sort()
}
/** Nothing of a deleted experiment is kept. */
const isKept = (row: string): boolean => !row.startsWith("exp_gone")
/** Counts of answers by how long they took, and of units by surface, device and country. */
const expectedParts = (units: ReadonlyMap<string, Unit>, organizationId: string) => {
  const rows = new Map<string, number>()
  const count = (row: string) => rows.set(row, (rows.get(row) ?? 0) + 1)
  for (const [key, { device, surface, took, variants }] of units) {
    const [organization, id, run] = key.split(" ") as [string, string, string]
    if (organization !== organizationId || variants === 0) continue
    const variant = (variants & (variants - 1)) === 0 ? Math.log2(variants) : -1
    for (const [of, us] of took) count(`${id} ${run} ${of} took ${bucketOf(us)}`)
    count(`${id} ${run} ${variant} device ${device}`)
    count(`${id} ${run} ${variant} country `)
    count(`${id} ${run} ${variant} surface ${surface}`)
  }
  return [...rows].map(([row, n]) => `${row}: ${n}`).sort()
}
const storedParts = Effect.fnUntraced(function* (organizationId: string) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{
    row: string
  }>`SELECT concat(experiment_id, ' ', run, ' ', variant, ' took ', bucket, ': ', exposures) AS row FROM experiment_latencies WHERE organization_id = ${organizationId}
    UNION ALL SELECT concat(experiment_id, ' ', run, ' ', variant, ' ', dimension, ' ', value, ': ', units) FROM experiment_splits WHERE organization_id = ${organizationId} AND units <> 0`
  return rows.map(({ row }) => row).sort()
})
const storedSums = Effect.fnUntraced(function* (organizationId: string) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{
    row: string
  }>`SELECT concat(experiment_id, ' ', run, ' ', variant, ' ', day, ' ', metric, ': ', n, ' ', x, ' ', xx, ' ', y, ' ', yy, ' ', xy) AS row
    FROM experiment_sums WHERE organization_id = ${organizationId} AND n <> 0`
  return rows.map(({ row }) => row).sort()
})
const begin = Effect.fnUntraced(function* (organizationId: string) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`INSERT INTO experiments (organization_id, id, collection, definition, status, run, created_at, updated_at) VALUES (${organizationId}, 'exp_1', 'c', '{}', 'running', 2, 0, 0)`
  for (const run of [1, 2])
    yield* sql`INSERT INTO experiment_runs (organization_id, experiment_id, run, definition, started_at, revenue_cap, least_p, split_p, looked_at)
      VALUES (${organizationId}, 'exp_1', ${run}::int4, '{}', 0, ${run === 2 ? String(CAP) : null}::text::numeric, '{}', 1, 0)`
})

const teamsOfOne = (share: number) => {
  const [d1, other] = [documentPrint("d1"), documentPrint("d2")]
  return share < 0.4 ? { a: [d1], b: [other] } : share < 0.9 ? { a: [], b: [other, d1] } : { a: [other], b: [] }
}
/** Shoppers of several seeds, most of whom are in one of two runs; some units are answered by two variants. */
const shoppers = (organizationId: string) => {
  const served: Array<ServedSearch> = [],
    events: Array<BehaviouralEvent> = []
  for (let seed = 1; seed <= 12; seed++) {
    const random = seeded(seed)
    const input = generate(seed, 120, START)
    const own = <A extends { session_id?: string; user_id?: string; query_id?: string; event_id?: string }>(
      one: A
    ): A => ({
      ...one,
      ...(one.session_id === undefined ? {} : { session_id: `${seed}${one.session_id}` }),
      ...(one.user_id === undefined ? {} : { user_id: `${seed}${one.user_id}` }),
      ...(one.query_id === undefined ? {} : { query_id: `${seed}${one.query_id}` }),
      ...(one.event_id === undefined ? {} : { event_id: `${seed}${one.event_id}` })
    })
    for (const one of input.served) {
      const search = { ...own(one), organization_id: organizationId }
      const unit: ServedExposure["unit"] | undefined =
        search.session_id !== undefined ? "session" : search.user_id !== undefined ? "user" : undefined
      const variant = random() < 0.05 ? 5 : (search.session_id ?? search.user_id ?? "").length + (seed % 3)
      served.push(
        unit === undefined || seed % 4 === 0
          ? search
          : {
              ...search,
              device: ["", "mobile", "desktop"][Math.floor(random() * 3)]!,
              surface: `page ${Math.floor(random() * 3)}`,
              experiment: {
                id: seed === 7 ? "exp_gone" : "exp_1",
                run: 1 + (seed % 2),
                variant,
                unit,
                took_us: Math.floor(10 ** (random() * 8)),
                // The single document of these shoppers is proposed only by the first ranking, only by the second, or
                // by both or neither.
                ...(seed % 3 === 0 ? { teams: teamsOfOne(random()) } : {})
              }
            }
      )
    }
    events.push(...input.events.map(own))
  }
  return { served, events }
}

describe("the properties of units", () => {
  it("have fifty names in a run; later ones are counted together as others", () => {
    const change = new RunChange("org_1", { id: "exp_1", run: 1 })
    for (let i = 0; i < 60; i++) Object.assign(change.of(i).split, { surface: `s${i}`, device: "mobile" })
    labelUnits(change, new Map([["surface", new Set(["s59", "", "(others)"])]]))
    const names = (dimension: "surface" | "device") => [...change.units.values()].map(({ split }) => split[dimension])
    // One was known already; 49 more are added.
    assert.deepStrictEqual(names("surface").slice(47, 51), ["s47", "s48", "(others)", "(others)"])
    assert.deepStrictEqual([names("surface")[59], new Set(names("surface")).size], ["s59", 51])
    assert.deepStrictEqual(new Set(names("device")), new Set(["mobile"]))
  })
})

layer(layerTestSql, { timeout: 60_000, excludeTestServices: true })("units of experiments", (own) => {
  const environment = Layer.provideMerge(
    Replays.layer({ visitorPartitions: 1 }),
    Layer.mergeAll(Layer.fresh(EventLog.layerMemory), Identifiers.layer)
  )
  const start = (units: Map<string, Unit>) =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder("experiments")
      return yield* startStreams({
        openStore: (group, partition) => openStateStore(join(folder, `${group}-${partition}`)),
        openShadowStore: (partition) => openStateStore(join(folder, `shadow-${partition}`)),
        processors: [...FACT_PROCESSORS, recounting(units)]
      })
    })

  own.effect(
    "are summed like a recount of everything, whatever the cuts and the order; an erased one is removed completely",
    () =>
      Effect.gen(function* () {
        const log = yield* EventLog
        const units = new Map<string, Unit>()
        const [whole, cut] = ["org_exp_whole", "org_exp_cut"] as const
        for (const id of [whole, cut]) {
          yield* makeOrganization(id)
          yield* begin(id)
        }
        const streams = yield* start(units)
        const of = shoppers(whole)
        yield* log.append([servedRecord(of.served), eventsRecord(whole, of.events)])
        yield* streams.caughtUp
        // The other organization's records, events first, in pieces, each of which is counted before the next one
        // comes.
        const others = shoppers(cut)
        for (let piece = 0; piece < 8; piece++) {
          const part = <A>(list: ReadonlyArray<A>) => list.filter((_, i) => (i * 31) % 8 === piece)
          yield* log.append([eventsRecord(cut, part(others.events)), servedRecord(part(others.served).toReversed())])
          yield* streams.caughtUp
        }
        for (const id of [whole, cut]) {
          const stored = yield* storedSums(id)
          assert.deepStrictEqual(stored, expectedSums(units, id).filter(isKept))
          assert.isAbove(stored.length, 20)
          assert.isTrue(stored.some((row) => row.includes(" -1 ")))
          for (const vote of ["vote_ctr: ", "vote_conversion_rate: "])
            assert.isTrue(stored.some((row) => row.includes(vote) && !row.includes(`${vote}1 0`)))
          const parts = yield* storedParts(id)
          assert.deepStrictEqual(parts, expectedParts(units, id).filter(isKept))
          for (const part of [" device mobile:", " surface page 2:", " country :", " took "])
            assert.isTrue(parts.some((row) => row.includes(part)))
        }
        const bare = yield* storedSums(whole)
        assert.deepStrictEqual(yield* storedSums(cut), bare)

        // A session of seed 5 was seen with this user: that unit is removed, and no other. Rebuilding other figures
        // emits facts again, so the units are compared with a copy from before.
        const known = structuredClone(units)
        yield* log.append([
          eventsRecord(whole, [
            {
              type: "view",
              collection: "products",
              document_id: "d",
              timestamp: START,
              session_id: "5s1",
              user_id: "gone"
            }
          ])
        ])
        yield* streams.caughtUp
        const replays = yield* Replays
        const erased = yield* jobEnd((yield* replays.erase(whole, "gone")).id)
        assert.deepStrictEqual([erased.status, erased.error], ["ready", null])
        assert.deepInclude(erased.result!["tables"], { name: "experiment_units", rows: 1 })
        yield* streams.stop
        const left = yield* storedSums(whole)
        const theirs = [...known.keys()].filter((key) => {
          const others = new Map(known)
          others.delete(key)
          return key.startsWith(`${whole} exp_1`) && expectedSums(others, whole).filter(isKept).join() === left.join()
        })
        assert.strictEqual(theirs.length, 1)
        // The time that answers took belongs to no person and is kept.
        known.set(theirs[0]!, { ...known.get(theirs[0]!)!, variants: 0 })
        const [parts, took] = [yield* storedParts(whole), (row: string) => row.includes(" took ")]
        assert.deepStrictEqual(
          parts.filter((row) => !took(row)),
          expectedParts(known, whole).filter((row) => isKept(row) && !took(row))
        )
        assert.deepStrictEqual(parts.filter(took), (yield* storedParts(cut)).filter(took))
        assert.deepStrictEqual(yield* storedSums(cut), bare)
      }).pipe(Effect.provide(environment), Effect.scoped)
  )
})
