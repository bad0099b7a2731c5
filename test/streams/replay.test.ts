/**
 * A state folder is lost, over a long log: it is rebuilt in bounded steps, by the log's time, through crashes, to the
 * exact state.
 */
import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { rm } from "node:fs/promises"
import { join } from "node:path"
import {
  type BehaviouralEvent,
  EVENTS_SCHEMA_VERSION,
  SERVED_SCHEMA_VERSION,
  type ServedSearch
} from "../../log/event-schema.ts"
import { EventLog } from "../../log/event-log/event-log.ts"
import { makeCounting } from "../../streams/processors/counting.ts"
import { encodeRecord } from "../../log/record.ts"
import { type Progress, runPartition, type RunnerOptions } from "../../streams/runner/runner.ts"
import type { Positions, StateStore } from "../../streams/state/state.ts"
import { openStateStore } from "../../streams/state/lmdb.ts"
import { BEHAVIOUR_EVENTS, SEARCH_SERVED } from "../../log/topics.ts"
import { folded } from "../support/folded.ts"
import { atTime } from "../support/clock.ts"
import { layerTestSql, temporaryFolder } from "../support/postgres.ts"

const DAY = 86_400_000
const START = Date.UTC(2026, 0, 1)
const at = (day: number) => START + day * DAY

/** Appends with the log's clock at that day. */
const appendAt = (day: number, records: Parameters<EventLog["Service"]["append"]>[0]) =>
  Effect.asVoid(atTime(at(day))(Effect.flatMap(EventLog, (log) => log.append(records))))
const served = (
  organization_id: string,
  day: number,
  searches: ReadonlyArray<{ readonly id: string; readonly q: string; readonly session?: string }>
) =>
  appendAt(day, [
    {
      topic: SEARCH_SERVED.name,
      partition: 0,
      value: encodeRecord({
        schema_version: SERVED_SCHEMA_VERSION,
        organization_id: "",
        occurred_at: at(day),
        payload: {
          served: searches.map(({ id, q, session }): ServedSearch => ({
            organization_id,
            query_id: id,
            collection: "c",
            q,
            found: 1,
            at: at(day),
            isCounted: true,
            ...(session === undefined ? {} : { session_id: session })
          }))
        }
      })
    }
  ])
const events = (
  organization_id: string,
  day: number,
  told: ReadonlyArray<Partial<BehaviouralEvent> & { readonly event_id: string }>
) =>
  appendAt(day, [
    {
      topic: BEHAVIOUR_EVENTS.name,
      partition: 0,
      value: encodeRecord({
        schema_version: EVENTS_SCHEMA_VERSION,
        organization_id,
        occurred_at: at(day),
        payload: {
          events: told.map((event) => ({
            type: "click",
            collection: "c",
            document_id: "d",
            timestamp: at(day),
            ...event
          }))
        }
      })
    }
  ])

/**
 * Searches that are named repeatedly: within thirty days after their last mention they are found, later they are not.
 * There are many more records of events than of searches, so the topics have uneven densities.
 */
const story = (
  organizationId: string
): ReadonlyArray<readonly [day: number, append: Effect.Effect<void, unknown, EventLog>]> => {
  const told = (day: number, event: Parameters<typeof events>[2][number]) =>
    [day, events(organizationId, day, [event])] as const
  const steps: Array<readonly [number, Effect.Effect<void, unknown, EventLog>]> = [
    [
      0,
      served(organizationId, 0, [
        { id: "kept", q: "kept" },
        { id: "lapsed", q: "lapsed" }
      ])
    ],
    // The event has fewer facts than the answer that it names, but keeps it alive: day 45 is 25 days after day 20, day
    // 74 is not.
    told(20, { event_id: "k20", type: "search", q: "told", query_id: "kept" }),
    told(45, { event_id: "k45", query_id: "kept" }),
    told(45, { event_id: "l45", query_id: "lapsed" }),
    told(74, { event_id: "k74", query_id: "kept" }),
    [30, served(organizationId, 30, [{ id: "middle", q: "middle" }])],
    told(50, { event_id: "m50", type: "search", q: "told", query_id: "middle" }),
    [60, served(organizationId, 60, [{ id: "late", q: "la", session: "s" }])],
    // One duplicate within the window of ids, and one outside it, which counts again.
    told(74.5, { event_id: "k74", query_id: "kept" }),
    told(74.5, { event_id: "k20", type: "view" }),
    [74.9, served(organizationId, 74.9, [{ id: "newest", q: "newest" }])]
  ]
  for (let day = 0; day < 75; day++) {
    for (let part = 0; part < 12; part++) {
      const when = day + 0.1 + part / 20
      steps.push([
        when,
        events(
          organizationId,
          when,
          Array.from({ length: 4 }, (_, i) => ({
            type: "view" as const,
            event_id: `v${day}-${part}-${i}`,
            document_id: `p${i}`
          }))
        )
      ])
    }
  }
  return steps.sort(([a], [b]) => a - b)
}

const row = (q: string, clicks: number) => ({ q, searches: 1, clicks, with_click: clicks === 0 ? 0 : 1 })
const rowsOf = Effect.fnUntraced(function* (organizationId: string) {
  const sql = yield* SqlClient.SqlClient
  yield* folded
  const queries = yield* sql<Record<string, unknown>>`
    SELECT q, sum(searches)::int4 AS searches, sum(clicks)::int4 AS clicks, sum(searches_with_click)::int4 AS with_click FROM analytics_query_rollup
    WHERE organization_id = ${organizationId} AND grain = 3 GROUP BY q HAVING sum(searches) <> 0 OR sum(clicks) <> 0 ORDER BY q`
  const [counted] = yield* sql<{
    n: number
  }>`SELECT sum(events)::int4 AS n FROM analytics_event_rollup WHERE organization_id = ${organizationId} AND grain = 3`
  return { queries: queries.map((row) => ({ ...row })), events: counted?.n }
})

layer(layerTestSql, { timeout: 60_000, excludeTestServices: true })("a lost state folder", (it) => {
  // Nothing stays in memory after a snapshot, so that data removed from the store too early would be missed.
  const run = Effect.fnUntraced(function* (
    name: string,
    options: Omit<RunnerOptions, "partition" | "report">,
    until: (progress: Progress) => boolean
  ) {
    const seen: { progress: Progress | undefined } = { progress: undefined }
    const fiber = yield* Effect.forkChild(
      runPartition(
        { ...makeCounting({ fingerprintKey: [1, 2, 3, 4], hotVisitsMax: 0, hotQueriesMax: 0 }), name },
        {
          partition: 0,
          restartAfter_ms: 1,
          ...options,
          report: (progress) => {
            seen.progress = progress
          }
        }
      )
    )
    while (seen.progress === undefined || !until(seen.progress)) yield* Effect.sleep(5)
    yield* Fiber.interrupt(fiber)
    return seen.progress
  })
  const isCaughtUp = ({ isReplaying, lag }: Progress) => !isReplaying && lag === 0
  /**
   * A store in a folder of its own that records its positions when it is opened, and the positions and number of writes
   * of each snapshot.
   */
  const watched = (path: string) => {
    const opened: Array<Positions> = []
    const snapshots: Array<{ readonly positions: Positions; readonly writes: number }> = []
    const openStore = (): StateStore => {
      const store = openStateStore(path)
      opened.push(store.positions() ?? {})
      return {
        ...store,
        commit: async (writes, positions) => {
          await store.commit(writes, positions)
          snapshots.push({ positions, writes: writes.length })
        }
      }
    }
    return { opened, snapshots, openStore }
  }

  it.effect("is rebuilt with snapshots on the way, through a kill, and then counts exactly", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder("replay")
      const organizationId = "org_replay"
      const steps = story(organizationId)
      const first = watched(join(folder, "first"))
      // First as it normally happens: the worker keeps up with the log, day by day.
      for (const [i, [day, append]] of steps.entries()) {
        yield* append
        if (i + 1 === steps.length || Math.floor(steps[i + 1]![0] / 8) > Math.floor(day / 8))
          yield* run("replayed", { openStore: first.openStore, snapshotEvery_ms: 0 }, isCaughtUp)
      }
      const before = yield* rowsOf(organizationId)
      assert.deepStrictEqual(before, {
        queries: [row("kept", 1), row("la", 0), row("lapsed", 0), row("middle", 0), row("newest", 0)],
        events: 75 * 12 * 4 + 6
      })

      yield* Effect.promise(() => rm(join(folder, "first"), { recursive: true }))
      const second = watched(join(folder, "second"))
      let crashes = 0
      const bounds = { recordsPerFetch: 5, snapshotEntriesMax: 200, openStore: second.openStore }
      // A kill between two snapshots of the replay, then one of the whole runner, then the rest.
      yield* run(
        "replayed",
        {
          ...bounds,
          probe: (point) =>
            Effect.suspend(() =>
              point === "snapshot" && second.snapshots.length === 4 && crashes++ === 0
                ? Effect.die(new Error("killed"))
                : Effect.void
            )
        },
        ({ isReplaying }) => isReplaying && second.snapshots.length >= 7
      )
      const reachedBefore = second.snapshots.at(-1)!.positions
      yield* run("replayed", bounds, isCaughtUp)

      const events = BEHAVIOUR_EVENTS.name
      assert.strictEqual(crashes, 1)
      // Each run began at the last snapshot; only the first one began at the start of the log.
      const replayed = second.snapshots.map(({ positions }) => positions[events]!)
      const opened = second.opened.map((positions) => positions[events] ?? 0)
      assert.deepStrictEqual(opened.slice(0, 2), [0, replayed[3]!])
      // The kill may have interrupted a snapshot on its way to disk.
      assert.isTrue(
        opened.length === 3 && opened[2]! >= reachedBefore[events]! && replayed.includes(opened[2]!),
        String(opened)
      )
      // Each snapshot advanced the store by a bounded part of the log.
      assert.isTrue(
        replayed.length >= 15 &&
          replayed.every((position, i) => position > (replayed[i - 1] ?? 0) && position - (replayed[i - 1] ?? 0) <= 60),
        String(replayed)
      )
      assert.isTrue(second.snapshots.every(({ writes }) => writes <= 300))
      assert.deepStrictEqual(yield* rowsOf(organizationId), before)

      // New events retract and move what the rebuilt state knows as counted.
      yield* served(organizationId, 75, [{ id: "next", q: "lamp", session: "s" }])
      yield* afterwards(organizationId)
      yield* run("replayed", bounds, isCaughtUp)
      assert.deepStrictEqual(yield* rowsOf(organizationId), {
        queries: [row("kept", 1), row("la", 1), row("lamp", 0), row("lapsed", 0), row("middle", 1), row("newest", 0)],
        events: before.events! + 2
      })
    }).pipe(Effect.provide(Layer.fresh(EventLog.layerMemory)), Effect.scoped)
  )
})

/**
 * Clicks for a search of fifteen days ago and for one that an event of 25 days ago kept alive, and a duplicate of a
 * counted event.
 */
const afterwards = (organizationId: string) =>
  events(organizationId, 75, [
    { event_id: "n1", query_id: "late" },
    { event_id: "n2", query_id: "middle" },
    { event_id: "v74-3-1", type: "view" }
  ])
