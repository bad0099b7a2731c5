/**
 * The figures behind suggestions, over a real log and a real Postgres: recent use and visitors, through crashes, and
 * never a visitor too many.
 */
import { assert, layer } from "@effect/vitest"
import { Data, Effect, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import {
  type BehaviouralEvent,
  EVENTS_SCHEMA_VERSION,
  SERVED_SCHEMA_VERSION,
  type ServedSearch
} from "../../log/event-schema.ts"
import { EventLog } from "../../log/event-log/event-log.ts"
import { weightOf } from "../../streams/figures/recency.ts"
import { makeCounting } from "../../streams/processors/counting.ts"
import type { OffsetStore } from "../../streams/offsets/offset-store.ts"
import { encodeRecord } from "../../log/record.ts"
import { type Progress, runPartition, type RunnerOptions } from "../../streams/runner/runner.ts"
import { memoryStore, type StateStore } from "../../streams/state/state.ts"
import { BEHAVIOUR_EVENTS, SEARCH_SERVED } from "../../log/topics.ts"
import { generate, oracleRows, type OracleInput, seeded } from "../support/attribution-oracle.ts"
import { layerTestSql } from "../support/postgres.ts"

const START = Date.UTC(2026, 4, 4, 12)
const keptStore = () => {
  const store = memoryStore()
  return (): StateStore => ({ ...store, close: async () => {} })
}
const told = (organizationId: string, events: ReadonlyArray<BehaviouralEvent>, partition = 0) => ({
  topic: BEHAVIOUR_EVENTS.name,
  partition,
  value: encodeRecord({
    schema_version: EVENTS_SCHEMA_VERSION,
    organization_id: organizationId,
    occurred_at: START,
    payload: { events }
  })
})
const answered = (served: ReadonlyArray<ServedSearch>, partition = 0) => ({
  topic: SEARCH_SERVED.name,
  partition,
  value: encodeRecord({
    schema_version: SERVED_SCHEMA_VERSION,
    organization_id: "",
    occurred_at: START,
    payload: { served }
  })
})
let answers = 0
/** Answered searches, each from a network of its own unless one is given. */
const asked = (
  organization_id: string,
  searches: ReadonlyArray<readonly [q: string, at: number, who: Partial<ServedSearch>]>,
  partition = 0
) =>
  answered(
    searches.map(([q, at, who]): ServedSearch => {
      const n = ++answers
      return {
        organization_id,
        query_id: `qry_0${String(n).padStart(26, "0")}`,
        collection: "c",
        q,
        found: 3,
        at: START + at,
        isCounted: true,
        network: n,
        ...who
      }
    }),
    partition
  )
const search = (q: string, at: number, who: Partial<BehaviouralEvent>): BehaviouralEvent => ({
  type: "search",
  collection: "c",
  q,
  timestamp: START + at,
  results_found: 3,
  ...who
})

class Crash extends Data.TaggedError("Crash")<Record<never, never>> {}

layer(layerTestSql, { timeout: 60_000, excludeTestServices: true })("the popularity of queries", (it) => {
  const withLog = <A, E>(body: Effect.Effect<A, E, EventLog | OffsetStore | SqlClient.SqlClient>) =>
    Effect.provide(body, Layer.fresh(EventLog.layerMemory))
  const runUntilCaughtUp = Effect.fnUntraced(function* (
    name: string,
    openStore: () => StateStore,
    options: Partial<RunnerOptions> = {}
  ) {
    const seen: { progress: Progress | undefined } = { progress: undefined }
    const partition = options.partition ?? 0
    const log = yield* EventLog
    const ends = yield* Effect.all(
      [SEARCH_SERVED, BEHAVIOUR_EVENTS].map((topic) =>
        Effect.map(log.bounds(topic.name, partition), ({ endOffset }) => [topic.name, endOffset] as const)
      )
    )
    const fiber = yield* Effect.forkChild(
      runPartition(
        { ...makeCounting({ fingerprintKey: [1, 2, 3, 4] }), name },
        {
          ...options,
          partition,
          openStore,
          restartAfter_ms: 1,
          report: (progress) => {
            seen.progress = progress
          }
        }
      )
    )
    while (
      seen.progress === undefined ||
      seen.progress.isReplaying ||
      ends.some(([topic, end]) => (seen.progress!.committed[topic] ?? 0) < end)
    )
      yield* Effect.sleep(2)
    yield* Fiber.interrupt(fiber)
  })
  const rowsOf = Effect.fnUntraced(function* (organizationId: string) {
    const sql = yield* SqlClient.SqlClient
    const rows = yield* sql<{
      collection: string
      q: string
      searches: number
      visitors: number
      weight: number
      zero: number
      clicks: number
      is_known: boolean
    }>`
      SELECT collection, q, searches::float8 AS searches, visitors, weight, zero_weight AS zero, click_weight AS clicks, is_known FROM query_popularity WHERE organization_id = ${organizationId} ORDER BY collection, q`
    return rows.map((row) => ({ ...row }))
  })
  const visitorsOf = (organizationId: string) =>
    Effect.map(rowsOf(organizationId), (rows) =>
      Object.fromEntries(rows.filter(({ searches }) => searches !== 0).map(({ q, visitors }) => [q, visitors]))
    )
  const expected = (input: OracleInput) => {
    const makers = new Map<string, Set<string>>()
    const rows = oracleRows(input, (key, visitor, isAnswered) => {
      if (visitor !== "" && isAnswered) makers.set(key, (makers.get(key) ?? new Set()).add(visitor))
    })
    const unit = weightOf(START)
    return [...rows]
      .map(([key, row]) => {
        const [collection, q] = key.split("|")
        return {
          collection,
          q,
          searches: row.searches,
          visitors: makers.get(key)?.size ?? 0,
          weight: (row.searches - row.zero_results) * unit,
          zero: row.zero_results * unit,
          clicks: (row.searches_with_click + row.searches_with_purchase) * unit
        }
      })
      .sort((a, b) => (`${a.collection}\n${a.q}` < `${b.collection}\n${b.q}` ? -1 : 1))
  }

  it.effect(
    "matches the log, through crashes before the commit, after it and around snapshots, for two tenants side by side",
    () =>
      withLog(
        Effect.gen(function* () {
          for (let seed = 1; seed <= 4; seed++) {
            const inputs = ["a", "b"].map((side, i): OracleInput => {
              const input = generate(seed * 10 + i, 150, START)
              const organizationId = `org_${side}_${seed}`
              return {
                ...input,
                organizationId,
                served: input.served.map((one) => ({ ...one, organization_id: organizationId }))
              }
            })
            const log = yield* EventLog
            for (const { events, organizationId, served } of inputs) {
              for (let at = 0; at < served.length; at += 3) yield* log.append([answered(served.slice(at, at + 3))])
              for (let at = 0; at < events.length; at += 3)
                yield* log.append([told(organizationId, events.slice(at, at + 3))])
            }
            const random = seeded(seed)
            let crashes = 0
            const openStore = keptStore()
            const name = `crashing-${seed}`
            yield* runUntilCaughtUp(name, openStore, {
              entriesMax: 20,
              recordsPerFetch: 5,
              emittedMax: 10,
              snapshotEvery_ms: 0,
              probe: () =>
                Effect.suspend(() =>
                  crashes < 6 && random() < 0.3 ? (crashes++, Effect.die(new Crash())) : Effect.void
                )
            })
            // Nothing is counted again, neither with the snapshot nor without it.
            yield* runUntilCaughtUp(name, openStore)
            yield* runUntilCaughtUp(name, keptStore())
            assert.isAtLeast(crashes, 3)
            for (const input of inputs) {
              const rows = (yield* rowsOf(input.organizationId)).filter(({ searches }) => searches !== 0)
              assert.deepStrictEqual(
                rows.map(({ is_known: _known, ...row }) => row),
                expected(input) as typeof rows,
                `seed ${seed}`
              )
              assert.isTrue(rows.every(({ is_known, visitors }) => is_known || visitors < 3))
            }
          }
        })
      )
  )

  it.effect("takes visitors back together with their keystrokes, also when they had been stored", () =>
    withLog(
      Effect.gen(function* () {
        const log = yield* EventLog
        const openStore = keptStore()
        const sessions = ["s1", "s2", "s3"]
        yield* log.append(sessions.map((session_id, i) => asked("org_keys", [["ip", i * 10_000, { session_id }]])))
        yield* runUntilCaughtUp("keys", openStore)
        assert.deepStrictEqual(yield* visitorsOf("org_keys"), { ip: 3 })
        yield* log.append(
          sessions.map((session_id, i) => asked("org_keys", [["ipad", i * 10_000 + 900, { session_id }]]))
        )
        yield* runUntilCaughtUp("keys", openStore)
        assert.deepStrictEqual(yield* visitorsOf("org_keys"), { ipad: 3 })
        // Readers of changes find the row that had been shown, so that they stop showing it.
        const ip = (yield* rowsOf("org_keys")).find(({ q }) => q === "ip")
        assert.deepInclude(ip, { searches: 0, visitors: 0, weight: 0, is_known: true })
      })
    )
  )

  it.effect("keeps no more than eight visitors of a query, and adds up those of several partitions", () =>
    withLog(
      Effect.gen(function* () {
        const log = yield* EventLog
        for (const partition of [0, 1])
          yield* log.append([asked("org_parts", [["both", 0, { user_id: `u${partition}` }]], partition)])
        yield* log.append([
          asked(
            "org_parts",
            [
              ["both", 0, { user_id: "u2" }],
              ...Array.from({ length: 40 }, (_, i) => ["many", i, { user_id: `m${i}` }] as const)
            ],
            1
          )
        ])
        for (const partition of [0, 1]) yield* runUntilCaughtUp("parts", keptStore(), { partition })
        yield* log.append([
          asked(
            "org_parts",
            Array.from({ length: 40 }, (_, i) => ["many", i, { user_id: `n${i}` }] as const),
            1
          )
        ])
        yield* runUntilCaughtUp("parts", keptStore(), { partition: 1 })
        assert.deepStrictEqual(yield* visitorsOf("org_parts"), { both: 3, many: 8 })
        const sql = yield* SqlClient.SqlClient
        const kept = yield* sql<{
          n: number
        }>`SELECT count(*)::int4 AS n FROM query_makers WHERE organization_id = 'org_parts' AND q = 'many'`
        assert.strictEqual(kept[0]!.n, 8)
      })
    )
  )

  it.effect(
    "counts no invented visitors: none named only by events, none that share a network, and none that displace others",
    () =>
      withLog(
        Effect.gen(function* () {
          const log = yield* EventLog
          const three = ["i1", "i2", "i3"]
          yield* log.append([
            told(
              "org_planted",
              three.map((user_id) => search("told", 0, { user_id }))
            ),
            asked(
              "org_planted",
              three.map((user_id) => ["one network", 0, { user_id, network: 77 }] as const)
            ),
            asked(
              "org_planted",
              three.map((user_id, network) => ["three networks", 0, { user_id, network: network + 1 }] as const)
            ),
            // A search that was answered once, and that three users claim.
            asked("org_planted", [["claimed", 0, { query_id: "qry_0claimed", network: 5 }]]),
            told(
              "org_planted",
              three.map((user_id) => search("claimed", 0, { user_id, query_id: "qry_0claimed" }))
            ),
            // Answers from before networks were recorded: each visitor counts.
            asked(
              "org_planted",
              three.map((user_id) => ["of before", 0, { user_id, network: undefined as unknown as number }] as const)
            ),
            asked(
              "org_planted",
              Array.from({ length: 50 }, (_, i) => ["crowded", 0, { user_id: `c${i}`, network: 9 }] as const)
            )
          ])
          yield* runUntilCaughtUp("planted", keptStore())
          const planted = { told: 0, "one network": 1, "three networks": 3, claimed: 1, "of before": 3 }
          assert.deepStrictEqual(yield* visitorsOf("org_planted"), { ...planted, crowded: 1 })
          yield* log.append([
            asked("org_planted", [
              ["crowded", 1, { user_id: "x", network: 10 }],
              ["crowded", 1, { user_id: "y", network: 11 }]
            ])
          ])
          yield* runUntilCaughtUp("planted", keptStore())
          assert.deepStrictEqual(yield* visitorsOf("org_planted"), { ...planted, crowded: 3 })
        })
      )
  )
})
