/**
 * Replays of one organization: the resulting figures are those of an organization without any incident, live counting
 * continues, and other organizations are not touched.
 */
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { join } from "node:path"
import type { BehaviouralEvent } from "../../log/event-schema.ts"
import { Replays } from "../../src/events/replays/replays.ts"
import { EventLog } from "../../log/event-log/event-log.ts"
import { Identifiers } from "../../log/identifiers.ts"
import { ROLLUP_TABLES } from "../../streams/processors/rollups/tables.ts"
import { partitionOfEvent } from "../../log/routing.ts"
import { openStateStore } from "../../streams/state/lmdb.ts"
import { BEHAVIOUR_EVENTS, SEARCH_SERVED } from "../../log/topics.ts"
import { startRun } from "../../streams/replays/jobs.ts"
import { adoptShadow, beginShadow, cancelRun } from "../../streams/shadow/runs.ts"
import { generate, type OracleInput, oracleRows, seeded } from "../support/attribution-oracle.ts"
import { atTime } from "../support/clock.ts"
import { folded } from "../support/folded.ts"
import { layerTestSql, temporaryFolder } from "../support/postgres.ts"
import { eventsRecord, figuresOf, jobEnd, makeOrganization, servedRecord, startStreams } from "../support/replays.ts"

const DAY = 86_400_000
const START = Date.now() - 3 * DAY

const as = (organizationId: string, { events, served }: OracleInput): OracleInput => ({
  organizationId,
  events,
  served: served.map((one) => ({ ...one, organization_id: organizationId }))
})
/** The input in pieces, each with one record for either topic. */
const pieces = (input: OracleInput, size: number) => {
  const records = []
  for (let i = 0; i < Math.max(input.served.length, input.events.length); i += size) {
    const served = input.served.slice(i, i + size),
      events = input.events.slice(i, i + size)
    if (served.length > 0) records.push(servedRecord(served))
    if (events.length > 0) records.push(eventsRecord(input.organizationId, events))
  }
  return records
}
const append = (records: ReturnType<typeof pieces>) => Effect.flatMap(EventLog, (log) => log.append(records))
const replay = (organizationId: string) =>
  Effect.flatMap(Replays, (replays) =>
    replays.replay(organizationId, { from: START - 40 * DAY, before: Date.now() + DAY })
  )

const corrupt = Effect.fnUntraced(function* (organizationId: string) {
  const sql = yield* SqlClient.SqlClient
  yield* folded
  yield* sql`UPDATE analytics_query_rollup SET searches = searches + 7, revenue_micros = revenue_micros - 1 WHERE organization_id = ${organizationId}`
  yield* sql`DELETE FROM analytics_product_rollup WHERE organization_id = ${organizationId} AND grain = 2`
  yield* sql`UPDATE analytics_event_rollup SET collection = collection || ' elsewhere' WHERE organization_id = ${organizationId} AND type = 'click'`
  yield* sql`DELETE FROM analytics_instants WHERE organization_id = ${organizationId} AND minute_at IN (SELECT min(minute_at) FROM analytics_instants WHERE organization_id = ${organizationId})`
  yield* sql`UPDATE query_popularity SET searches = 99, weight = 1 WHERE organization_id = ${organizationId}`
})
const dayRows = (figures: Record<string, any>) => {
  const rows = new Map<
    string,
    {
      searches: number
      clicks: number
      purchases: number
      revenue: number
      with_click: number
      with_purchase: number
      zero: number
      carts: number
    }
  >()
  for (const row of figures.analytics_query_rollup.filter(({ grain }: { readonly grain: number }) => grain === 3)) {
    const key = `${row.collection}|${row.q}`
    const sum = rows.get(key) ?? {
      searches: 0,
      clicks: 0,
      purchases: 0,
      revenue: 0,
      with_click: 0,
      with_purchase: 0,
      zero: 0,
      carts: 0
    }
    rows.set(key, {
      searches: sum.searches + row.searches,
      clicks: sum.clicks + row.clicks,
      purchases: sum.purchases + row.purchases,
      revenue: Math.round((sum.revenue + row.revenue_micros / 1e6) * 1e6) / 1e6,
      with_click: sum.with_click + row.searches_with_click,
      with_purchase: sum.with_purchase + row.searches_with_purchase,
      zero: sum.zero + row.zero_results,
      carts: sum.carts + row.add_to_carts
    })
  }
  return [...rows].sort(([a], [b]) => (a < b ? -1 : 1))
}
const oracle = (input: OracleInput) =>
  [...oracleRows(input)]
    .map(
      ([key, row]) =>
        [
          key,
          {
            searches: row.searches,
            clicks: row.clicks,
            purchases: row.purchases,
            revenue: row.revenue,
            with_click: row.searches_with_click,
            with_purchase: row.searches_with_purchase,
            zero: row.zero_results,
            carts: row.add_to_carts
          }
        ] as const
    )
    .sort(([a], [b]) => (a < b ? -1 : 1))

layer(layerTestSql, { timeout: 60_000, excludeTestServices: true })("replays", (it) => {
  const environment = () =>
    Layer.provideMerge(
      Replays.layer({ visitorPartitions: 1 }),
      Layer.mergeAll(Layer.fresh(EventLog.layerMemory), Identifiers.layer)
    )
  const stores = (folder: string) => ({
    openStore: (group: string, partition: number) => openStateStore(join(folder, `${group}-${partition}`)),
    openShadowStore: (partition: number) => openStateStore(join(folder, `shadow-${partition}`))
  })
  /** Offsets and generations belong to the installation, so each test starts with an empty log. */
  const clean = Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql`TRUNCATE stream_offsets, stream_generations, stream_replays, stream_replay_partitions, event_tombstones, jobs CASCADE`
  })

  it.effect(
    "end in the figures that live counting alone has, and in those of the oracle, while both organizations continue",
    () =>
      Effect.gen(function* () {
        for (let seed = 1; seed <= 6; seed++) {
          yield* Effect.gen(function* () {
            yield* clean
            const folder = yield* temporaryFolder("rebuilding")
            const [a, b] = [`org_a${seed}`, `org_b${seed}`]
            yield* makeOrganization(a)
            yield* makeOrganization(b)
            const input = generate(seed, 400, START)
            const random = seeded(seed)
            const [ofA, ofB] = [pieces(as(a, input), 7), pieces(as(b, input), 7)]
            const cut = Math.floor(ofA.length * (0.3 + 0.4 * random()))
            const streams = yield* startStreams(stores(folder))
            yield* append([...ofA.slice(0, cut), ...ofB.slice(0, cut)])
            yield* streams.caughtUp
            yield* corrupt(a)
            const job = yield* replay(a)
            // The rest arrives while the shadow learns, takes over and is swapped in.
            for (let i = cut; i < ofA.length; i++) {
              yield* append([ofA[i]!, ofB[i]!])
              yield* Effect.sleep(Math.floor(random() * 12))
            }
            const end = yield* jobEnd(job.id)
            assert.deepStrictEqual([end.status, end.error], ["ready", null])
            yield* streams.caughtUp
            const [figuresA, figuresB] = [yield* figuresOf(a), yield* figuresOf(b)]
            assert.deepStrictEqual(figuresA, figuresB, `seed ${seed}`)
            assert.deepStrictEqual(dayRows(figuresA) as unknown, oracle(input) as unknown, `seed ${seed}`)
            yield* streams.stop
          }).pipe(Effect.provide(environment()), Effect.scoped)
        }
      })
  )

  it.effect("change nothing in another organization's rows, and nothing outside their days", () =>
    Effect.gen(function* () {
      yield* clean
      const folder = yield* temporaryFolder("rebuilding")
      const [a, b] = ["org_days_a", "org_days_b"]
      yield* makeOrganization(a)
      yield* makeOrganization(b)
      const sql = yield* SqlClient.SqlClient
      const view = (timestamp: number): BehaviouralEvent => ({
        type: "view",
        collection: "c",
        document_id: "d",
        timestamp
      })
      const at = (day: number) => Math.floor(START / DAY) * DAY + day * DAY + 1_000
      const streams = yield* startStreams(stores(folder))
      yield* append(
        [0, 1, 2].flatMap((day) => [eventsRecord(a, [view(at(day)), view(at(day))]), eventsRecord(b, [view(at(day))])])
      )
      yield* streams.caughtUp
      yield* folded
      yield* sql`UPDATE analytics_event_rollup SET events = 1000 WHERE organization_id IN (${a}, ${b})`
      const replays = yield* Replays
      const job = yield* replays.replay(a, { from: at(1), before: at(1) + 1 })
      const { result } = yield* jobEnd(job.id)
      assert.deepStrictEqual(
        [result?.from, result?.to, result?.events],
        [new Date(at(1) - 1_000).toISOString(), new Date(at(1) - 1_000 + DAY - 1).toISOString(), 6]
      )
      const rows =
        yield* sql`SELECT organization_id, bucket_at::float8 AS bucket_at, events::int4 AS events FROM analytics_event_rollup WHERE organization_id IN (${a}, ${b}) AND grain = 3 ORDER BY 1, 2`
      assert.deepStrictEqual(
        rows.map(({ events }) => events),
        [1000, 2, 1000, 1000, 1000, 1000]
      )
      yield* streams.stop
    }).pipe(Effect.provide(environment()), Effect.scoped)
  )

  for (const point of ["shadowed", "adopted", "exchanging", "flushed", "committed"] as const) {
    it.effect(`survive a kill of the partition at "${point}", and another kill of everything`, () =>
      Effect.gen(function* () {
        yield* clean
        const folder = yield* temporaryFolder("rebuilding")
        const [a, b] = [`org_kill_a_${point}`, `org_kill_b_${point}`]
        yield* makeOrganization(a)
        yield* makeOrganization(b)
        const input = generate(77, 400, START)
        const [ofA, ofB] = [pieces(as(a, input), 9), pieces(as(b, input), 9)]
        const cut = Math.floor(ofA.length / 2)
        let isArmed = false
        let kills = 0
        const probe = (at: string) =>
          Effect.suspend(() => (isArmed && at === point && kills++ < 2 ? Effect.die(new Error("killed")) : Effect.void))
        let streams = yield* startStreams({ ...stores(folder), probe })
        yield* append([...ofA.slice(0, cut), ...ofB.slice(0, cut)])
        yield* streams.caughtUp
        yield* corrupt(a)
        isArmed = true
        const job = yield* replay(a)
        for (let i = cut; i < ofA.length; i++) {
          yield* append([ofA[i]!, ofB[i]!])
          if (i === cut + 8) {
            yield* streams.stop
            streams = yield* startStreams({ ...stores(folder), probe })
          }
          yield* Effect.sleep(10)
        }
        const end = yield* jobEnd(job.id)
        assert.deepStrictEqual([end.status, end.error], ["ready", null])
        assert.isAtLeast(kills, 1)
        yield* streams.caughtUp
        assert.deepStrictEqual(yield* figuresOf(a), yield* figuresOf(b))
        yield* streams.stop
      }).pipe(Effect.provide(environment()), Effect.scoped)
    )
  }

  it.effect("merge the partitions of an organization, and change nothing when nothing was wrong", () =>
    Effect.gen(function* () {
      const partitions = 3
      yield* clean
      const folder = yield* temporaryFolder("rebuilding")
      const organizationId = "org_partitions"
      yield* makeOrganization(organizationId)
      const log = yield* EventLog
      const replays = yield* Replays
      const input = as(organizationId, generate(9, 500, START))
      const routed = ({ events, served }: Pick<OracleInput, "events" | "served">) =>
        Array.from({ length: partitions }, (_, partition) => [
          servedRecord(
            served.filter((one) => partitionOfEvent(organizationId, one, partitions) === partition),
            partition
          ),
          eventsRecord(
            organizationId,
            events.filter((event) => partitionOfEvent(organizationId, event, partitions) === partition),
            partition
          )
        ]).flat()
      const streams = yield* startStreams({ ...stores(folder), visitorPartitions: partitions })
      for (let i = 0; i < 500; i += 50)
        yield* log.append(routed({ served: input.served.slice(i, i + 50), events: input.events.slice(i, i + 50) }))
      yield* streams.caughtUp
      const before = yield* figuresOf(organizationId)
      const again = Effect.gen(function* () {
        const job = yield* replays.replay(organizationId, { from: START - 40 * DAY, before: Date.now() + DAY })
        assert.strictEqual((yield* jobEnd(job.id)).status, "ready")
        return yield* figuresOf(organizationId)
      })
      assert.deepStrictEqual(yield* again, before)
      yield* corrupt(organizationId)
      assert.notDeepEqual(yield* figuresOf(organizationId), before)
      assert.deepStrictEqual(yield* again, before)
      // Nothing is left of the shadows.
      const sql = yield* SqlClient.SqlClient
      assert.deepStrictEqual(
        (yield* sql`SELECT 1 FROM stream_replays UNION ALL SELECT 1 FROM stream_replay_partitions`).length,
        0
      )
      const later = generate(10, 100, START + 3_600_000)
      yield* log.append(
        routed({
          served: [],
          events: later.events
            .filter(({ query_id }) => query_id === undefined)
            .map((event) => ({ ...event, event_id: undefined }))
        })
      )
      yield* streams.caughtUp
      const after = yield* figuresOf(organizationId)
      assert.notDeepEqual(after, before)
      assert.deepStrictEqual(yield* again, after)
      yield* streams.stop
    }).pipe(
      Effect.provide(
        Layer.provideMerge(
          Replays.layer({ visitorPartitions: 3 }),
          Layer.mergeAll(Layer.fresh(EventLog.layerMemory), Identifiers.layer)
        )
      ),
      Effect.scoped
    )
  )

  it.effect("refuse days that the log no longer has, and leave them unchanged", () =>
    Effect.gen(function* () {
      yield* clean
      const folder = yield* temporaryFolder("rebuilding")
      const organizationId = "org_forgotten"
      yield* makeOrganization(organizationId)
      const sql = yield* SqlClient.SqlClient
      const log = yield* EventLog
      const replays = yield* Replays
      const midnight = Math.floor(Date.now() / DAY) * DAY
      const view = (timestamp: number): BehaviouralEvent => ({
        type: "view",
        collection: "c",
        document_id: "d",
        timestamp
      })
      // Each record is appended on its own day.
      for (const day of [-6, -5, -4, -3])
        yield* atTime(midnight + day * DAY + 7_200_000)(
          log.append([servedRecord([]), eventsRecord(organizationId, [view(midnight + day * DAY + 7_200_000)])])
        )
      const streams = yield* startStreams(stores(folder))
      yield* streams.caughtUp
      for (const topic of [BEHAVIOUR_EVENTS, SEARCH_SERVED]) yield* log.trim(topic.name, 0, 1)
      yield* folded
      yield* sql`UPDATE analytics_event_rollup SET events = 1000 WHERE organization_id = ${organizationId}`
      const refused = yield* Effect.flip(
        replays.replay(organizationId, { from: midnight - 5 * DAY, before: Date.now() })
      )
      assert.strictEqual(refused._tag, "InputInvalid")
      assert.deepStrictEqual("issues" in refused ? refused.issues.map(({ path }) => path) : undefined, ["from"])
      // Half of the oldest record's day may be missing, so the first complete day is the next one.
      const job = yield* replays.replay(organizationId, { from: midnight - 4 * DAY, before: Date.now() })
      assert.strictEqual((yield* jobEnd(job.id)).status, "ready")
      const rows = yield* sql<{
        events: number
      }>`SELECT events::int4 AS events FROM analytics_event_rollup WHERE organization_id = ${organizationId} AND grain = 3 ORDER BY bucket_at`
      assert.deepStrictEqual(
        rows.map(({ events }) => events),
        [1000, 1000, 1, 1]
      )
      yield* streams.stop
    }).pipe(Effect.provide(environment()), Effect.scoped)
  )

  it.effect("fail with the place of an entry that cannot be counted, and change nothing", () =>
    Effect.gen(function* () {
      yield* clean
      const folder = yield* temporaryFolder("rebuilding")
      const organizationId = "org_poison"
      yield* makeOrganization(organizationId)
      yield* makeOrganization("org_later")
      const log = yield* EventLog
      const input = as(organizationId, generate(12, 60, START))
      let streams = yield* startStreams(stores(folder))
      yield* log.append([...pieces(input, 20), ...pieces(as("org_later", input), 20)])
      yield* streams.caughtUp
      const before = yield* figuresOf(organizationId)
      yield* streams.stop
      // An entry that was counted long ago, and that the current step cannot read.
      yield* log.rewrite(BEHAVIOUR_EVENTS.name, 0, [
        {
          offset: 1,
          value: eventsRecord(organizationId, [
            { type: "view", collection: "c", document_id: 7n as unknown as string, items: 5 as never, timestamp: START }
          ]).value
        }
      ])
      streams = yield* startStreams(stores(folder))
      const job = yield* replay(organizationId)
      const end = yield* jobEnd(job.id)
      assert.strictEqual(end.status, "failed")
      assert.include(end.error, `${BEHAVIOUR_EVENTS.name}/1/0`)
      assert.deepStrictEqual(yield* figuresOf(organizationId), before)
      // An erasure must still end, without that entry.
      const erasure = yield* Effect.flatMap(Replays, (replays) => replays.erase(organizationId, "nobody"))
      assert.strictEqual((yield* jobEnd(erasure.id)).status, "ready")
      // A later replay of another organization is not delayed.
      const next = yield* replay("org_later")
      assert.strictEqual((yield* jobEnd(next.id)).status, "ready")
      yield* streams.stop
    }).pipe(Effect.provide(environment()), Effect.scoped)
  )

  it.effect("refuse a second one of the organization, and can be cancelled until a partition has taken over", () =>
    Effect.gen(function* () {
      yield* clean
      const sql = yield* SqlClient.SqlClient
      yield* makeOrganization("org_two")
      const first = yield* replay("org_two")
      const refused = yield* Effect.flip(replay("org_two"))
      assert.strictEqual(refused._tag, "Conflict")
      assert.include(refused.message, first.id)
      // The two states of the partition: learning, and taken over.
      const begin = (jobId: string, isAdopted: boolean) =>
        Effect.gen(function* () {
          yield* startRun(
            { group: "attribution", jobId, organizationId: "org_two", phase: "building", fromAt: 0, beforeAt: 0 },
            1
          )
          yield* beginShadow({ group: "attribution", jobId }, 0, "shadow", 1)
          if (isAdopted) yield* adoptShadow({ group: "attribution", jobId }, 0, "shadow", 0, Effect.void)
        })
      yield* begin(first.id, false)
      assert.isTrue(yield* cancelRun(first.id))
      yield* sql`UPDATE jobs SET status = 'cancelled', finished_at = 1 WHERE id = ${first.id}`
      assert.isFalse(
        yield* startRun(
          {
            group: "attribution",
            jobId: first.id,
            organizationId: "org_two",
            phase: "building",
            fromAt: 0,
            beforeAt: 0
          },
          1
        )
      )
      const second = yield* replay("org_two")
      assert.notStrictEqual(second.id, first.id)
      yield* begin(second.id, true)
      assert.isFalse(yield* cancelRun(second.id))
      assert.strictEqual((yield* sql`SELECT 1 FROM stream_replays WHERE job_id = ${second.id}`).length, 1)
    }).pipe(Effect.provide(environment()), Effect.scoped)
  )

  it.effect("have a table for every kind of instants, with their keys and measures", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const columnsOf = (table: string) =>
        sql`SELECT column_name, data_type, is_nullable FROM information_schema.columns WHERE table_name = ${table} ORDER BY ordinal_position`
      for (const { keys, measures, table } of ROLLUP_TABLES) {
        const columns = yield* columnsOf(table)
        assert.deepStrictEqual(
          columns.map(({ column_name }) => column_name as string).sort(),
          ["organization_id", "grain", "bucket_at", ...keys, ...measures].sort()
        )
      }
      const named = yield* sql<{
        table_name: string
      }>`SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' AND table_name LIKE 'analytics_%_rollup' ORDER BY 1`
      assert.deepStrictEqual(
        named.map(({ table_name }) => table_name),
        ROLLUP_TABLES.map(({ table }): string => table).sort()
      )
    })
  )
})
