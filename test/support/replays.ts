/**
 * A partition of attribution with the replay task over a real Postgres, and the content of its tables in a comparable
 * form.
 */
import { Effect, Fiber, type Scope } from "effect"
import { SqlClient } from "effect/sql"
import { INSTANT_TABLES, MinuteReader } from "../../streams/figures/instants.ts"
import {
  type BehaviouralEvent,
  EVENTS_SCHEMA_VERSION,
  SERVED_SCHEMA_VERSION,
  type ServedSearch
} from "../../log/event-schema.ts"
import { type AppendRecord, EventLog } from "../../log/event-log/event-log.ts"
import { readFingerprintKey } from "../../log/fingerprint-key.ts"
import { ATTRIBUTION, FACT_PROCESSORS, makeCounting } from "../../streams/processors/counting.ts"
import { INSTANTS_TABLE, ROLLUP_TABLES } from "../../streams/processors/rollups/tables.ts"
import type { FactProcessor } from "../../streams/facts/fact-processor.ts"
import { REPLAYED } from "../../streams/processors/runnable.ts"
import { rejections } from "../../streams/processors/rejections/processor.ts"
import { encodeRecord } from "../../log/record.ts"
import type { OffsetStore } from "../../streams/offsets/offset-store.ts"
import { layerOffsetStore } from "../../streams/offsets/postgres.ts"
import { makeReplayRequests } from "../../streams/shadow/replay-requests.ts"
import { coordinate } from "../../streams/replays/coordinator.ts"
import { type Progress, runPartition, type RunnerOptions } from "../../streams/runner/runner.ts"
import type { StateStore } from "../../streams/state/state.ts"
import { BEHAVIOUR_EVENTS, BEHAVIOUR_REJECTED, SEARCH_SERVED } from "../../log/topics.ts"
import { folded } from "./folded.ts"

type Env = EventLog | SqlClient.SqlClient | Scope.Scope

export const servedRecord = (served: ReadonlyArray<ServedSearch>, partition = 0): AppendRecord => ({
  topic: SEARCH_SERVED.name,
  partition,
  value: encodeRecord({
    schema_version: SERVED_SCHEMA_VERSION,
    organization_id: "",
    occurred_at: Date.now(),
    payload: { served }
  })
})
export const eventsRecord = (
  organizationId: string,
  events: ReadonlyArray<BehaviouralEvent>,
  partition = 0
): AppendRecord => ({
  topic: BEHAVIOUR_EVENTS.name,
  partition,
  key: organizationId,
  value: encodeRecord({
    schema_version: EVENTS_SCHEMA_VERSION,
    organization_id: organizationId,
    occurred_at: Date.now(),
    payload: { events }
  })
})

interface Streams {
  readonly progress: (partition?: number) => Progress | undefined
  readonly caughtUp: Effect.Effect<void, never, EventLog>
  readonly stop: Effect.Effect<void>
}

/** Every processor of an installation, in this process. */
export const startStreams = (options: {
  readonly openStore: (group: string, partition: number) => StateStore
  readonly openShadowStore: (partition: number) => StateStore
  readonly visitorPartitions?: number
  /** The processors that count facts; those of the installation if absent. */
  readonly processors?: ReadonlyArray<FactProcessor>
  readonly probe?: RunnerOptions["probe"]
  readonly coordinatorProbe?: (phase: string) => Effect.Effect<void>
}): Effect.Effect<Streams, never, Env> =>
  Effect.gen(function* () {
    const { openShadowStore, openStore, processors = FACT_PROCESSORS, visitorPartitions = 1 } = options
    const fingerprintKey = yield* Effect.orDie(readFingerprintKey)
    const requests = yield* makeReplayRequests(10)
    const sql = yield* SqlClient.SqlClient
    const reports = new Map<string, Progress>()
    const run = (effect: Effect.Effect<void, never, EventLog | OffsetStore | SqlClient.SqlClient>) =>
      Effect.forkChild(Effect.provide(effect, layerOffsetStore))
    const common = (group: string, partition: number): RunnerOptions => ({
      partition,
      restartAfter_ms: 1,
      openStore: () => openStore(group, partition),
      replays: { requests, sql, openShadowStore: () => openShadowStore(partition) },
      report: (progress) => void reports.set(`${group}/${partition}`, progress),
      ...(options.probe === undefined ? {} : { probe: options.probe })
    })
    const fibers: Array<Fiber.Fiber<void>> = []
    for (let partition = 0; partition < visitorPartitions; partition++)
      fibers.push(
        yield* run(runPartition(makeCounting({ fingerprintKey }, processors), common("attribution", partition)))
      )
    fibers.push(yield* run(runPartition(rejections, common("rejections", 0))))
    fibers.push(
      yield* run(
        coordinate(
          {
            fingerprintKey,
            visitorPartitions,
            rebuilt: { ...ATTRIBUTION, figures: processors },
            keepers: [rejections, ...processors],
            liveStates: REPLAYED.liveStates
          },
          { ...(options.coordinatorProbe === undefined ? {} : { probe: options.coordinatorProbe }) }
        )
      )
    )
    return {
      progress: (partition = 0) => reports.get(`attribution/${partition}`),
      caughtUp: Effect.gen(function* () {
        const log = yield* EventLog
        const units = [
          ...Array.from({ length: visitorPartitions }, (_, partition) => ({
            group: "attribution",
            topics: [SEARCH_SERVED, BEHAVIOUR_EVENTS],
            partition
          })),
          { group: "rejections", topics: [BEHAVIOUR_REJECTED], partition: 0 }
        ]
        // Reports may predate the newest append: only committed ones count.
        for (const { group, partition, topics } of units) {
          for (const { name } of topics) {
            const { endOffset } = yield* Effect.orDie(log.bounds(name, partition))
            while ((reports.get(`${group}/${partition}`)?.committed[name] ?? 0) < endOffset) yield* Effect.sleep(5)
          }
        }
      }),
      stop: Effect.asVoid(Fiber.interruptAll(fibers))
    }
  })

export const makeOrganization = Effect.fnUntraced(function* (id: string) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`INSERT INTO organizations (id, name, plan, created_at) VALUES (${id}, ${id}, 'unlimited', 0) ON CONFLICT DO NOTHING`
})

const plain = (rows: ReadonlyArray<object>) =>
  rows.map((row) =>
    Object.fromEntries(
      Object.entries(row).map(([key, value]) => [
        key,
        typeof value === "bigint"
          ? Number(value)
          : typeof value === "string" && /^-?\d+(\.\d+)?$/.test(value) && key.endsWith("_micros")
            ? Number(value)
            : (value as unknown)
      ])
    )
  )

/** Everything that an organization's figures are answered from; rows and instants that cancel out are left out. */
export const figuresOf = Effect.fnUntraced(function* (organizationId: string) {
  const sql = yield* SqlClient.SqlClient
  const figures: Record<string, unknown> = {}
  yield* folded
  for (const { keys, measures, table } of ROLLUP_TABLES) {
    const columns = ["grain", "bucket_at", ...keys]
    figures[table] = plain(
      yield* sql.unsafe(
        `SELECT ${[...columns, ...measures].join(", ")} FROM ${table} WHERE organization_id = $1 AND (${measures.map((measure) => `${measure} <> 0`).join(" OR ")}) ORDER BY ${columns.map((column) => (keys.includes(column as never) ? `${column} COLLATE "C"` : column)).join(", ")}`,
        [organizationId]
      )
    )
  }
  const packed = yield* sql<{
    minute_at: number
    packed: Uint8Array
  }>`SELECT minute_at::float8 AS minute_at, packed FROM ${sql.literal(INSTANTS_TABLE)} WHERE organization_id = ${organizationId}`
  const instants = new Map<string, Array<number>>()
  for (const { minute_at, packed: bytes } of packed) {
    const reader = new MinuteReader(bytes)
    for (const kind of INSTANT_TABLES) {
      reader.each(kind, (key, after_ms, sums) => {
        const id = JSON.stringify([kind, minute_at + after_ms, ...key])
        const known = instants.get(id)
        if (known === undefined) instants.set(id, [...sums])
        else
          sums.forEach((sum, i) => {
            known[i] = known[i]! + sum
          })
      })
    }
  }
  figures.instants = [...instants]
    .filter(([, sums]) => sums.some((sum) => sum !== 0))
    .sort(([a], [b]) => (a < b ? -1 : 1))
  figures.popularity = plain(
    yield* sql`SELECT collection, q, searches, weight, zero_weight, click_weight FROM query_popularity WHERE organization_id = ${organizationId} AND searches <> 0 ORDER BY collection COLLATE "C", q COLLATE "C"`
  )
  return figures
})

/** Waits for the end of a job; fails with its report if it did not become ready. */
export const jobEnd = Effect.fnUntraced(function* (id: string) {
  const sql = yield* SqlClient.SqlClient
  for (;;) {
    const [row] = yield* sql<{
      status: string
      error: string | null
      result: Record<string, any> | null
      config: Record<string, unknown>
    }>`SELECT status, error, result, config FROM jobs WHERE id = ${id}`
    if (row !== undefined && ["ready", "failed", "cancelled"].includes(row.status)) return row
    yield* Effect.sleep(10)
  }
})
