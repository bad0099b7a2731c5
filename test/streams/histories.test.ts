/**
 * Histories of visitors, over a real log and a real Postgres: they equal what all events together give, however the log
 * was cut into flushes, through crashes, in whatever order events came, and again after a replay.
 */
import { assert, layer } from "@effect/vitest"
import { Data, Effect, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { join } from "node:path"
import { describe, expect, it as plainIt } from "vitest"
import { EventLog } from "../../log/event-log/event-log.ts"
import type { BehaviouralEvent } from "../../log/event-schema.ts"
import { narrowKey, shortPrint } from "../../log/fingerprint.ts"
import { readFingerprintKey } from "../../log/fingerprint-key.ts"
import { Identifiers } from "../../log/identifiers.ts"
import { BEHAVIOUR_EVENTS } from "../../log/topics.ts"
import { Replays } from "../../src/events/replays/replays.ts"
import { DAY_MS } from "../../streams/figures/grain.ts"
import { joined, packSeenAs, packTake, remembered, TAKE_KINDS, trimmed } from "../../streams/figures/history.ts"
import { unpackSeenAs, unpackTakes } from "../../streams/figures/history.ts"
import { layerOffsetStore } from "../../streams/offsets/postgres.ts"
import { Takes } from "../../streams/processors/affinities/emitted.ts"
import { swapHistoryDay } from "../../streams/processors/affinities/rebuild.ts"
import { writeShadowHistories } from "../../streams/processors/affinities/write.ts"
import { makeCounting } from "../../streams/processors/counting.ts"
import { type Progress, runPartition, type RunnerOptions } from "../../streams/runner/runner.ts"
import { openStateStore } from "../../streams/state/lmdb.ts"
import { seeded } from "../support/attribution-oracle.ts"
import { layerTestSql, temporaryFolder } from "../support/postgres.ts"
import { eventsRecord, jobEnd, makeOrganization, startStreams } from "../support/replays.ts"

/** The documents kept, one more of the longest ids, and three ids of the user. */
const ROW_BYTES_MAX = 240 + 134 + 3 * 14
const START = Math.floor(Date.now() / DAY_MS) * DAY_MS - 3 * DAY_MS
const START_S = START / 1_000
/** Flushes and takes snapshots every few events. */
const OFTEN = { entriesMax: 20, recordsPerFetch: 5, emittedMax: 10, snapshotEvery_ms: 0 }
class Crash extends Data.TaggedError("Crash")<Record<never, never>> {}
const shuffled = <A>(random: () => number, all: ReadonlyArray<A>): ReadonlyArray<A> =>
  all
    .map((one) => ({ one, at: random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ one }) => one)

describe("what is remembered", () => {
  const entries = (random: () => number) =>
    Array.from({ length: 60 }, () => {
      const at_s = START_S + Math.floor(random() * 40)
      return random() < 0.25
        ? packSeenAs({ visitor: 1 + Math.floor(random() * 6), at_s })
        : packTake({
            kind: TAKE_KINDS[Math.floor(random() * 4)]!,
            at_s,
            document: "p".repeat(1 + Math.floor(random() * 100))
          })
    })
  plainIt("is the same in whatever order and portions it came, and however often it was cut", () => {
    for (let seed = 1; seed <= 200; seed++) {
      const random = seeded(seed),
        all = entries(random)
      const whole = remembered(Buffer.concat(all))
      let row: Uint8Array = new Uint8Array(0)
      for (let rest = shuffled(random, all); rest.length > 0;) {
        const portion = 1 + Math.floor(random() * 9)
        row = trimmed(Buffer.concat([row, trimmed(Buffer.concat(rest.slice(0, portion)))]))
        assert.isAtMost(row.length, ROW_BYTES_MAX)
        rest = rest.slice(portion)
      }
      assert.deepStrictEqual(Buffer.from(remembered(row)), Buffer.from(whole), `seed ${seed}`)
      assert.isAtMost(whole.length, 240 + 3 * 14)
      expect(unpackSeenAs(whole)).toHaveLength(3)
    }
  })
  plainIt("is of a user also what was done under another id until both were seen together, and no longer", () => {
    const take = (document: string, at_s: number) => packTake({ kind: "view", at_s, document })
    const own = [Buffer.concat([take("own", START_S + 9), packSeenAs({ visitor: 5, at_s: START_S + 9 })])]
    const other = Buffer.concat([take("before", START_S + 1), take("at", START_S + 9), take("after", START_S + 10)])
    const both = joined(own, [{ row: other, at_s: START_S + 9 }])
    assert.deepStrictEqual(
      unpackTakes(both).map(({ document }) => document),
      ["before", "at", "own"]
    )
    assert.deepStrictEqual(unpackSeenAs(both), [{ visitor: 5, at_s: START_S + 9 }])
  })
})

/** Few visitors with many events on three days, out of order and sometimes repeated; some log in meanwhile. */
const shoppers = (seed: number): ReadonlyArray<BehaviouralEvent> => {
  const random = seeded(seed)
  const events = Array.from({ length: 500 }, (_, n): BehaviouralEvent => {
    const who = Math.floor(random() * 4)
    return {
      type: [...TAKE_KINDS, "search" as const][Math.floor(random() * 5)]!,
      collection: random() < 0.8 ? "products" : "articles",
      event_id: `e${n}`,
      timestamp: START + Math.floor(random() * 2.5 * DAY_MS),
      document_id: `d${Math.floor(random() * 40)}`,
      q: "lamp",
      results_found: 1,
      price: 1,
      revenue: 1,
      ...(random() < 0.9 ? { session_id: `s${who}-${Math.floor(random() * 5)}` } : {}),
      ...(random() < 0.5 ? { anonymous_id: `a${who}` } : {}),
      ...(random() < 0.3 ? { user_id: `u${who}` } : {})
    } as BehaviouralEvent
  })
  return [...events, ...events.slice(0, 30)]
}

layer(layerTestSql, { timeout: 120_000, excludeTestServices: true })("histories of visitors", (it) => {
  const environment = Layer.provideMerge(
    Replays.layer({ visitorPartitions: 1 }),
    Layer.mergeAll(Layer.fresh(EventLog.layerMemory), Identifiers.layer)
  )
  const expectedOf = Effect.fnUntraced(function* (organizationId: string, events: ReadonlyArray<BehaviouralEvent>) {
    const key = narrowKey(yield* readFingerprintKey, organizationId)
    const rows = new Map<string, Array<Uint8Array>>()
    const seen = new Set<string>()
    for (const { anonymous_id, collection, document_id, event_id, session_id, timestamp, type, user_id } of events) {
      if (seen.has(event_id!)) continue
      seen.add(event_id!)
      const id = user_id ?? anonymous_id ?? session_id
      if (id === undefined) continue
      const kind = user_id !== undefined ? "user" : anonymous_id !== undefined ? "anonymous" : "session"
      const row = `${shortPrint(key, `${kind} `, id)} ${collection}`
      const at_s = timestamp / 1_000
      const add = (packed: Uint8Array) => rows.set(row, [...(rows.get(row) ?? []), packed])
      if (user_id !== undefined && anonymous_id !== undefined)
        add(packSeenAs({ visitor: shortPrint(key, "anonymous ", anonymous_id), at_s }))
      if (user_id !== undefined && session_id !== undefined)
        add(packSeenAs({ visitor: shortPrint(key, "session ", session_id), at_s }))
      if (type !== "search") add(packTake({ kind: type as "view", at_s, document: document_id! }))
    }
    return [...rows].map(([row, all]) => `${row} ${Buffer.from(remembered(Buffer.concat(all))).toString("hex")}`).sort()
  })
  const storedOf = Effect.fnUntraced(function* (organizationId: string) {
    const sql = yield* SqlClient.SqlClient
    const rows = yield* sql<{
      row: string
      recent: Uint8Array
    }>`SELECT concat(visitor, ' ', collection) AS row, recent FROM visitor_histories WHERE organization_id = ${organizationId}`
    for (const { recent } of rows) assert.isAtMost(recent.length, ROW_BYTES_MAX)
    return rows.map(({ recent, row }) => `${row} ${Buffer.from(remembered(recent)).toString("hex")}`).sort()
  })

  it.effect("equal what all events give, through crashes at random points and after a replay, for two tenants", () =>
    Effect.gen(function* () {
      const log = yield* EventLog
      const sql = yield* SqlClient.SqlClient
      const [a, b] = ["org_hist_a", "org_hist_b"] as const
      const events = new Map([
        [a, shoppers(1)],
        [b, shoppers(2)]
      ])
      for (const [id, all] of events) {
        yield* makeOrganization(id)
        for (let at = 0; at < all.length; at += 7) yield* log.append([eventsRecord(id, all.slice(at, at + 7))])
      }
      const folder = yield* temporaryFolder("histories")
      const stores = {
        openStore: (group: string, partition: number) => openStateStore(join(folder, `${group}-${partition}`)),
        openShadowStore: (partition: number) => openStateStore(join(folder, `shadow-${partition}`))
      }
      const random = seeded(7)
      let crashes = 0
      const { endOffset } = yield* log.bounds(BEHAVIOUR_EVENTS.name, 0)
      const seen: { progress: Progress | undefined } = { progress: undefined }
      const options: RunnerOptions = {
        partition: 0,
        openStore: () => stores.openStore("attribution", 0),
        restartAfter_ms: 1,
        ...OFTEN,
        report: (progress) => void (seen.progress = progress),
        probe: () =>
          Effect.suspend(() => (crashes < 12 && random() < 0.2 ? (crashes++, Effect.die(new Crash())) : Effect.void))
      }
      const counting = makeCounting({ fingerprintKey: yield* readFingerprintKey })
      const fiber = yield* Effect.forkChild(Effect.provide(runPartition(counting, options), layerOffsetStore))
      while ((seen.progress?.committed[BEHAVIOUR_EVENTS.name] ?? 0) < endOffset) yield* Effect.sleep(5)
      yield* Fiber.interrupt(fiber)
      assert.isAtLeast(crashes, 8)
      const expected = yield* expectedOf(a, events.get(a)!)
      assert.isAtLeast(expected.length, 12)
      assert.deepStrictEqual(yield* storedOf(a), expected)
      assert.deepStrictEqual(yield* storedOf(b), yield* expectedOf(b, events.get(b)!))

      // One organization's histories are lost and rebuilt from the log; the other's are not touched.
      yield* sql`DELETE FROM visitor_histories WHERE organization_id = ${a}`
      yield* sql`UPDATE visitor_histories SET recent = ''::bytea WHERE organization_id = ${b}`
      const streams = yield* startStreams(stores)
      const replays = yield* Replays
      const span = { from: START - DAY_MS, before: Date.now() + DAY_MS }
      const replayed = yield* jobEnd((yield* replays.replay(a, span)).id)
      assert.deepStrictEqual([replayed.status, replayed.error], ["ready", null])
      assert.deepStrictEqual(yield* storedOf(a), expected)
      assert.isTrue((yield* storedOf(b)).every((row) => row.endsWith(" ")))
      // A second replay changes nothing.
      assert.strictEqual((yield* jobEnd((yield* replays.replay(a, span)).id)).status, "ready")
      assert.deepStrictEqual(yield* storedOf(a), expected)
      yield* streams.stop
    }).pipe(Effect.provide(environment), Effect.scoped)
  )

  it.effect("are rebuilt from a shadow that was written in portions", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const [id, shadow] = ["org_hist_shadow", "shadow_1"]
      const events = [...new Map(shoppers(3).map((event) => [event.event_id, event])).values()]
      for (let at = 0; at < events.length; at += 9) {
        const takes = new Takes()
        for (const event of events.slice(at, at + 9)) {
          takes.event(id, event.collection, event)
          takes.event("org_hist_other", event.collection, event)
        }
        yield* writeShadowHistories(takes, id, shadow)
      }
      const [longest] = yield* sql<{
        n: number
      }>`SELECT max(octet_length(recent))::int4 AS n FROM shadow_visitor_histories`
      assert.isAtMost(longest!.n, ROW_BYTES_MAX)
      for (let day = START; day < START + 3 * DAY_MS; day += DAY_MS) yield* swapHistoryDay(id, [shadow], day)
      assert.deepStrictEqual(yield* storedOf(id), yield* expectedOf(id, events))
      assert.deepStrictEqual(yield* storedOf("org_hist_other"), [])
    })
  )
})
