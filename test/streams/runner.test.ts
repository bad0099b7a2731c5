/**
 * The runner with a real log and a real Postgres: exactly once through crashes, unreadable entries, other consumers and
 * two tenants.
 */
import { assert, describe, layer } from "@effect/vitest"
import { Data, Effect, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { join } from "node:path"
import { spansOf } from "../../streams/figures/grain.ts"
import { Rollups } from "../../src/analytics/rollups-repository.ts"
import { type BehaviouralEvent, EVENTS_SCHEMA_VERSION, SERVED_SCHEMA_VERSION } from "../../log/event-schema.ts"
import { EventLog } from "../../log/event-log/event-log.ts"
import { makeCounting } from "../../streams/processors/counting.ts"
import type { OffsetStore } from "../../streams/offsets/offset-store.ts"
import { decodeRecord, encodeRecord } from "../../log/record.ts"
import { type Progress, runPartition, type RunnerOptions } from "../../streams/runner/runner.ts"
import { memoryStore, type StateStore } from "../../streams/state/state.ts"
import { openStateStore } from "../../streams/state/lmdb.ts"
import { BEHAVIOUR_EVENTS, deadLettersOf, SEARCH_SERVED } from "../../log/topics.ts"
import { folded } from "../support/folded.ts"
import { generate, oracleRows, type OracleInput, seeded } from "../support/attribution-oracle.ts"
import { layerTestSql, temporaryFolder } from "../support/postgres.ts"

const START = Date.UTC(2026, 4, 4, 12)
const DAY = 86_400_000

/** A store whose content survives the runner, as a folder's would: `close` keeps it. */
const keptStore = () => {
  const store = memoryStore()
  return (): StateStore => ({ ...store, close: async () => {} })
}
const eventsRecord = (organizationId: string, events: ReadonlyArray<BehaviouralEvent>, partition = 0) => ({
  topic: BEHAVIOUR_EVENTS.name,
  partition,
  value: encodeRecord({
    schema_version: EVENTS_SCHEMA_VERSION,
    organization_id: organizationId,
    occurred_at: START,
    payload: { events }
  })
})
const servedRecord = (served: OracleInput["served"], partition = 0) => ({
  topic: SEARCH_SERVED.name,
  partition,
  value: encodeRecord({
    schema_version: SERVED_SCHEMA_VERSION,
    organization_id: "",
    occurred_at: START,
    payload: { served }
  })
})
const chunks = <A>(all: ReadonlyArray<A>, size: number) =>
  Array.from({ length: Math.ceil(all.length / size) }, (_, i) => all.slice(i * size, i * size + size))

const countedRows = Effect.fnUntraced(function* (organizationId: string) {
  const sql = yield* SqlClient.SqlClient
  yield* folded
  const rows = yield* sql<Record<string, number | string>>`
    SELECT collection, q, sum(searches)::float8 AS searches, sum(zero_results)::float8 AS zero_results, sum(searches_with_click)::float8 AS searches_with_click,
      sum(searches_with_purchase)::float8 AS searches_with_purchase, sum(clicks)::float8 AS clicks, sum(add_to_carts)::float8 AS add_to_carts,
      sum(purchases)::float8 AS purchases, sum(revenue_micros)::float8 / 1000000 AS revenue
    FROM analytics_query_rollup WHERE organization_id = ${organizationId} AND grain = 3 GROUP BY collection, q`
  return rows
    .map(({ collection, q, ...row }): [string, unknown] => [`${String(collection)}|${String(q)}`, row])
    .filter(([, row]) => Object.values(row as object).some((value) => value !== 0))
    .sort(([x], [y]) => (x < y ? -1 : 1))
})
const expectedRows = (input: OracleInput): Array<[string, unknown]> =>
  [...oracleRows(input)].sort(([a], [b]) => (a < b ? -1 : 1))
const countedEvents = Effect.fnUntraced(function* (organizationId: string) {
  const sql = yield* SqlClient.SqlClient
  yield* folded
  const [row] = yield* sql<{
    n: number
  }>`SELECT coalesce(sum(events), 0)::float8 AS n FROM analytics_event_rollup WHERE organization_id = ${organizationId} AND grain = 3`
  return row!.n
})
const distinctEvents = ({ events }: OracleInput) => new Set(events.map((event) => event.event_id ?? event)).size

const processor = (name: string) => ({ ...makeCounting({ fingerprintKey: [1, 2, 3, 4] }), name })
/**
 * Forks the runner, which flushes as often as possible, so that there are many points to crash at; returns once it has
 * committed everything that is in the log now.
 */
const runUntilCaughtUp = Effect.fnUntraced(function* (
  name: string,
  options: Omit<RunnerOptions, "partition" | "report"> & { readonly partition?: number }
) {
  const seen: { progress: Progress | undefined } = { progress: undefined }
  const partition = options.partition ?? 0
  const fiber = yield* Effect.forkChild(
    runPartition(processor(name), {
      flushPauseMax_ms: 0,
      ...options,
      partition,
      report: (progress) => {
        seen.progress = progress
      }
    })
  )
  const log = yield* EventLog
  for (let waited = 0; waited < 60_000; waited += 10) {
    yield* Effect.sleep(10)
    const ends = yield* Effect.all(
      [SEARCH_SERVED, BEHAVIOUR_EVENTS].map((topic) =>
        Effect.map(log.bounds(topic.name, partition), ({ endOffset }) => [topic.name, endOffset] as const)
      )
    )
    if (
      seen.progress !== undefined &&
      !seen.progress.isReplaying &&
      ends.every(([topic, end]) => (seen.progress!.committed[topic] ?? 0) >= end)
    )
      break
  }
  yield* Fiber.interrupt(fiber)
  return seen.progress!
})
class Crash extends Data.TaggedError("Crash")<Record<never, never>> {}

layer(layerTestSql, { timeout: 60_000, excludeTestServices: true })(
  "a partition of the attribution processor",
  (it) => {
    const withLog = <A, E>(body: Effect.Effect<A, E, EventLog | OffsetStore | SqlClient.SqlClient>) =>
      Effect.provide(body, Layer.fresh(EventLog.layerMemory))
    let organizations = 0
    const rename = (input: OracleInput): OracleInput => {
      const organizationId = `org_${++organizations}`
      return { ...input, organizationId, served: input.served.map((s) => ({ ...s, organization_id: organizationId })) }
    }
    const fill = Effect.fnUntraced(function* (input: OracleInput, size: number, pause_ms = 0) {
      const log = yield* EventLog
      for (const served of chunks(input.served, size))
        yield* log.append([servedRecord(served)]).pipe(Effect.tap(Effect.sleep(pause_ms)))
      for (const events of chunks(input.events, size))
        yield* log.append([eventsRecord(input.organizationId, events)]).pipe(Effect.tap(Effect.sleep(pause_ms)))
    })

    it.effect("counts what the log contains, and nothing again on a second run", () =>
      withLog(
        Effect.gen(function* () {
          const input = rename(generate(1, 400, START))
          yield* fill(input, 7)
          const openStore = keptStore()
          yield* runUntilCaughtUp("once", { openStore })
          assert.deepStrictEqual(yield* countedRows(input.organizationId), expectedRows(input))
          yield* runUntilCaughtUp("once", { openStore })
          yield* runUntilCaughtUp("once", { openStore: keptStore() })
          assert.deepStrictEqual(yield* countedRows(input.organizationId), expectedRows(input))
          assert.strictEqual(yield* countedEvents(input.organizationId), distinctEvents(input))
        })
      )
    )

    it.effect("counts exactly once through crashes before the commit, after it, and around snapshots", () =>
      withLog(
        Effect.gen(function* () {
          for (let seed = 1; seed <= 4; seed++) {
            const input = rename(generate(seed, 300, START))
            const random = seeded(seed)
            const openStore = keptStore()
            let crashes = 0
            // Records arrive slowly while runs end at random points; the runner must survive each by itself.
            const writer = yield* Effect.forkChild(fill(input, 3, 1))
            const progress = yield* runUntilCaughtUp(`crashing-${seed}`, {
              openStore,
              entriesMax: 20,
              recordsPerFetch: 5,
              emittedMax: 10,
              snapshotEvery_ms: 0,
              restartAfter_ms: 1,
              probe: () =>
                Effect.suspend(() =>
                  crashes < 6 && random() < 0.35 ? (crashes++, Effect.die(new Crash())) : Effect.void
                )
            })
            yield* Fiber.join(writer)
            yield* runUntilCaughtUp(`crashing-${seed}`, { openStore })
            // If the writer is delayed by other work, the first run may end early, with fewer crashes.
            assert.isTrue(
              crashes >= 1 && progress.restarts >= crashes,
              `${crashes} crashes, ${progress.restarts} restarts`
            )
            assert.deepStrictEqual(yield* countedRows(input.organizationId), expectedRows(input), `seed ${seed}`)
            assert.strictEqual(yield* countedEvents(input.organizationId), distinctEvents(input), `seed ${seed}`)
          }
        })
      )
    )

    it.effect("dead-letters a record it cannot read and an entry that breaks the step, and counts the rest", () =>
      withLog(
        Effect.gen(function* () {
          const log = yield* EventLog
          const organizationId = `org_${++organizations}`
          const good = (id: string): BehaviouralEvent => ({
            type: "view",
            collection: "c",
            document_id: "d",
            event_id: id,
            timestamp: START
          })
          const poison = {
            ...good("poison"),
            get collection(): string {
              return "c"
            }
          }
          yield* log.append([
            eventsRecord(organizationId, [good("a")]),
            { topic: BEHAVIOUR_EVENTS.name, partition: 0, value: new Uint8Array([0xc1, 7, 7]) },
            eventsRecord(organizationId, [good("b"), { ...poison, collection: "breaks" }, good("c")])
          ])
          const real = processor("poisoned")
          const breaking = {
            ...real,
            step: (...args: Parameters<typeof real.step>) => {
              const [, body] = args
              if (body.kind === "event" && body.event.collection === "breaks") throw new Error("a bug")
              return real.step(...args)
            },
            ahead: () => {
              throw new Error("a bug on the way to the entry")
            }
          }
          const seen: { progress: Progress | undefined } = { progress: undefined }
          const fiber = yield* Effect.forkChild(
            runPartition(breaking, {
              partition: 0,
              openStore: keptStore(),
              report: (progress) => {
                seen.progress = progress
              }
            })
          )
          while ((seen.progress?.committed[BEHAVIOUR_EVENTS.name] ?? 0) < 3) yield* Effect.sleep(10)
          yield* Fiber.interrupt(fiber)
          assert.strictEqual(yield* countedEvents(organizationId), 3)
          const letters = yield* log.read({
            topic: deadLettersOf(BEHAVIOUR_EVENTS).name,
            partition: 0,
            from: 0,
            recordsMax: 9,
            bytesMax: 1e6
          })
          assert.deepStrictEqual(
            letters.records.map(({ key }) => key),
            ["behaviour.events.v1/1/-1", "behaviour.events.v1/2/1"]
          )
          const reasons = letters.records.map(({ value }) => (decodeRecord(value).payload as { reason: string }).reason)
          assert.match(reasons[0]!, /unreadable/)
          assert.match(reasons[1]!, /keeps failing/)
        })
      )
    )

    it.effect("restarts when another consumer moved its offsets, without counting twice", () =>
      withLog(
        Effect.gen(function* () {
          const input = rename(generate(9, 200, START))
          yield* fill(input, 5)
          // Two consumers of one group over one partition: this must never happen, and must do no harm if it does.
          yield* Effect.all(
            [
              runUntilCaughtUp("contended", {
                openStore: keptStore(),
                entriesMax: 30,
                recordsPerFetch: 3,
                emittedMax: 10,
                restartAfter_ms: 1
              }),
              runUntilCaughtUp("contended", {
                openStore: keptStore(),
                entriesMax: 30,
                recordsPerFetch: 3,
                emittedMax: 10,
                restartAfter_ms: 1
              })
            ],
            { concurrency: 2 }
          )
          assert.deepStrictEqual(yield* countedRows(input.organizationId), expectedRows(input))
        })
      )
    )

    it.effect("discards a snapshot that is ahead of Postgres", () =>
      withLog(
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const input = rename(generate(12, 120, START))
          yield* fill(input, 4)
          const openStore = keptStore()
          yield* runUntilCaughtUp("restored", { openStore, snapshotEvery_ms: 0 })
          yield* sql`DELETE FROM stream_offsets WHERE consumer_group = 'restored'`
          for (const table of [
            "analytics_query_rollup",
            "analytics_product_rollup",
            "analytics_event_rollup",
            "analytics_instants"
          ])
            yield* sql`DELETE FROM ${sql(table)} WHERE organization_id = ${input.organizationId}`
          yield* runUntilCaughtUp("restored", { openStore, snapshotEvery_ms: 0 })
          assert.deepStrictEqual(yield* countedRows(input.organizationId), expectedRows(input))
        })
      )
    )

    it.effect("restarts from the last good snapshot when one cannot be stored, or a store does not close", () =>
      withLog(
        Effect.scoped(
          Effect.gen(function* () {
            const path = join(yield* temporaryFolder("stuck"), "state")
            const input = rename(generate(14, 240, START))
            let commits = 0,
              failedCommits = 0,
              closes = 0,
              failedCloses = 0
            const openStore = (): StateStore => {
              const store = openStateStore(path)
              return {
                ...store,
                commit: (writes, positions) => {
                  if (++commits % 2 === 1 || failedCommits >= 3) return store.commit(writes, positions)
                  failedCommits++
                  return Promise.reject(new Error("no space left on device"))
                },
                close: async () => {
                  await store.close()
                  if (++closes % 2 === 0) return
                  failedCloses++
                  throw new Error("input/output error")
                }
              }
            }
            const writer = yield* Effect.forkChild(fill(input, 3, 1))
            const progress = yield* runUntilCaughtUp("stuck", {
              openStore,
              recordsPerFetch: 5,
              snapshotEvery_ms: 0,
              restartAfter_ms: 1
            })
            yield* Fiber.join(writer)
            yield* runUntilCaughtUp("stuck", { openStore, snapshotEvery_ms: 0 })
            assert.isTrue(
              failedCommits >= 1 && failedCloses >= 1 && progress.restarts >= 1,
              `${failedCommits} commits and ${failedCloses} closes failed, ${progress.restarts} restarts`
            )
            assert.deepStrictEqual(yield* countedRows(input.organizationId), expectedRows(input))
            assert.strictEqual(yield* countedEvents(input.organizationId), distinctEvents(input))
          })
        )
      )
    )

    it.effect("separates two tenants that use the same ids and queries", () =>
      withLog(
        Effect.gen(function* () {
          const log = yield* EventLog
          const one = rename(generate(21, 150, START))
          const two = rename(generate(21, 150, START))
          yield* log.append([servedRecord([...one.served, ...two.served])])
          for (const [i, events] of chunks(one.events, 6).entries())
            yield* log.append([
              eventsRecord(one.organizationId, events),
              eventsRecord(two.organizationId, chunks(two.events, 6)[i]!)
            ])
          yield* runUntilCaughtUp("tenants", { openStore: keptStore() })
          assert.deepStrictEqual(yield* countedRows(one.organizationId), expectedRows(one))
          assert.deepStrictEqual(yield* countedRows(two.organizationId), expectedRows(two))
        })
      )
    )

    it.effect("writes consistent grains: any span, to the millisecond, has the sum of its instants", () =>
      withLog(
        Effect.gen(function* () {
          const input = rename(generate(31, 300, START - DAY))
          yield* fill(input, 9)
          yield* runUntilCaughtUp("grains", { openStore: keptStore() })
          const rollups = yield* Effect.provide(Rollups, Rollups.layerSql)
          const times = input.events.map(({ timestamp }) => timestamp)
          const random = seeded(5)
          for (let round = 0; round < 40; round++) {
            // Half of the bounds coincide exactly with an event.
            const pick = () =>
              round % 2 === 0
                ? times[Math.floor(random() * times.length)]!
                : START - DAY - 600_000 + Math.floor(random() * 2 * 3_600_000)
            const [from, to] = [pick(), pick()].sort((a, b) => a - b) as [number, number]
            const seen = new Set<string>()
            const inside = input.events.filter(
              ({ event_id, timestamp }) =>
                timestamp >= from &&
                timestamp <= to &&
                (event_id === undefined || (!seen.has(event_id) && seen.add(event_id) !== undefined))
            )
            const filter = {
              organizationId: input.organizationId,
              range: { from, before: to + 1 },
              collection: undefined,
              segment: undefined
            }
            assert.strictEqual(yield* rollups.events(filter), inside.length)
            const page = yield* rollups.queryPage(filter, { limit: 1_000, offset: 0, order: "popular" })
            const { all: totals } = yield* rollups.totals(filter)
            assert.strictEqual(
              page.rows.reduce((sum, { purchases }) => sum + purchases, 0),
              totals.purchases
            )
            assert.isTrue(totals.clicks <= inside.filter(({ type }) => type === "click").length)
          }
        })
      )
    )
  }
)

describe("the plan of a span", () => {
  layer(Layer.empty)((it) =>
    it.effect("covers every instant once, with at most seven parts, instants within one minute", () =>
      Effect.sync(() => {
        const random = seeded(3)
        for (let round = 0; round < 2_000; round++) {
          const from = Math.floor(random() * 40 * DAY)
          const before = from + Math.floor(random() ** 3 * 40 * DAY)
          const spans = [...spansOf(from, before)].sort((a, b) => a.from - b.from)
          assert.isTrue(
            spans.length <= 7 &&
              spans.every(
                (span) => span.grain > 0 || Math.floor(span.from / 60_000) === Math.floor((span.before - 1) / 60_000)
              )
          )
          let at = from
          for (const span of spans) {
            assert.strictEqual(span.from, at)
            at = span.before
          }
          assert.strictEqual(at, Math.max(from, before))
        }
      })
    )
  )
})
