/**
 * Question: what does counting cost when visits are long, compared with usual ones? Workload: events of generated
 * visitors in order of time, dealt in turn to `visitors` sessions. 5,000 sessions for 600,000 events are long
 * interleaved visits, one session is a bot, and one session per event is a visitor who did one thing. For comparison,
 * visits get the same events six in a row. Events are logged before the clock starts, 500 per record; the real runner
 * counts them, over LMDB and an embedded Postgres. Processor time is that of this process and of Postgres, until the
 * last event is in rows of rollups. Excluded: HTTP and the front door. Read `own_mb` first, then the ratio.
 */
import { Effect, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { generateCatalog } from "../../fixtures/catalog/generate.ts"
import { generateVisitors } from "../../fixtures/events/generate.ts"
import { EventLog } from "../../log/event-log/event-log.ts"
import { layerEmbedded } from "../../log/event-log/lmdb.ts"
import type { BehaviouralEvent } from "../../log/event-schema.ts"
import { BEHAVIOUR_EVENTS } from "../../log/topics.ts"
import { packEvents, RECORD_EVENTS_MAX } from "../../src/events/intake/pack-events.ts"
import { layer as layerMigrations } from "../../src/migrations/index.ts"
import { layerSql } from "../../src/runtime/embedded.ts"
import { startEmbeddedPostgres } from "../../src/runtime/embedded-postgres.ts"
import { layerOffsetStore } from "../../streams/offsets/postgres.ts"
import { makeCounting } from "../../streams/processors/counting.ts"
import { type Progress, runPartition } from "../../streams/runner/runner.ts"
import { openStateStore } from "../../streams/state/lmdb.ts"
import { machine, ownMb, processorSeconds, report, round, treeSeconds } from "../harness/harness.ts"

export interface CountingOptions {
  readonly events: number
  /** Number of sessions that the events are dealt to. */ readonly visitors: number
  readonly seed: number
  readonly out: string | undefined
}

const HOUR_MS = 3_600_000
const EVENTS_A_VISIT = 6
const WARM_UP = 60_000

/** Maps an event's number to its visitor. Its time, words and document do not depend on the visitor. */
type Dealt = (event: number) => number

function* eventsOf(options: CountingOptions, dealt: Dealt): Generator<BehaviouralEvent> {
  const now = Date.now()
  const products = [...generateCatalog({ seed: options.seed, products: 2_000 })]
  let made = 0
  for (let round = 0; made < options.events; round++) {
    const span = { from: now - HOUR_MS, to: now, run: `counting-${round}`, collection: "products" }
    const sessions = Math.ceil(options.events / EVENTS_A_VISIT)
    for (const event of generateVisitors(products, { ...span, sessions, seed: options.seed + round })) {
      if (made === options.events) return
      const visitor = dealt(made)
      yield {
        ...event,
        session_id: `ses-${visitor}`,
        anonymous_id: `vis-${visitor}`,
        timestamp: now - HOUR_MS + Math.floor((made++ / options.events) * HOUR_MS)
      } as BehaviouralEvent
    }
  }
}

const append = Effect.fnUntraced(function* (organizationId: string, events: Iterable<BehaviouralEvent>) {
  const log = yield* EventLog
  let some: Array<BehaviouralEvent> = []
  const flush = Effect.suspend(() => log.append(packEvents([{ organizationId, events: some }], 1, Date.now())))
  for (const event of events) {
    if (some.push(event) < RECORD_EVENTS_MAX) continue
    yield* flush
    some = []
  }
  if (some.length > 0) yield* flush
})

/** Counts a separate log, as a separate group. */
const count = (name: string, folder: string, events: Iterable<BehaviouralEvent>) =>
  Effect.gen(function* () {
    yield* append(`org_${name}`, events)
    const { endOffset } = yield* (yield* EventLog).bounds(BEHAVIOUR_EVENTS.name, 0)
    let progress: Progress | undefined
    const before = treeSeconds(process.pid),
      ownBefore = processorSeconds(process.pid).process,
      began = performance.now()
    const fiber = yield* Effect.forkChild(
      runPartition(
        { ...makeCounting({ fingerprintKey: [1, 2, 3, 4] }), name },
        {
          partition: 0,
          openStore: () => openStateStore(join(folder, "state")),
          report: (reported) => void (progress = reported)
        }
      )
    )
    while ((progress?.committed[BEHAVIOUR_EVENTS.name] ?? 0) < endOffset) yield* Effect.sleep(20)
    const sql = yield* SqlClient.SqlClient
    // Waits for events that the next run would otherwise fold.
    const unfolded = sql<{ n: number }>`SELECT count(*)::int4 AS n FROM analytics_unfolded`
    while ((yield* unfolded)[0]!.n > 0) yield* Effect.sleep(100)
    const figures = {
      processor_s: round(treeSeconds(process.pid) - before, 2),
      // Excludes Postgres.
      own_processor_s: round(processorSeconds(process.pid).process - ownBefore, 2),
      wall_s: round((performance.now() - began) / 1_000, 2),
      own_mb: ownMb(process.pid)
    }
    yield* Fiber.interrupt(fiber)
    const [row] = yield* sql<{ n: number }>`SELECT count(*)::int4 AS n FROM stream_skipped`
    if (row!.n > 0) throw new Error(`${row!.n} events were not counted.`)
    return figures
  }).pipe(Effect.scoped, Effect.provide(layerEmbedded({ path: join(folder, "log") })))

export const benchCounting = async (options: CountingOptions): Promise<void> => {
  const folder = mkdtempSync(join(tmpdir(), "dowser-counting-"))
  const server = await startEmbeddedPostgres(join(folder, "postgres"))
  const stores = Layer.provideMerge(layerOffsetStore, Layer.provideMerge(layerMigrations, layerSql(server)))
  try {
    const usually: Dealt = (event) => Math.floor(event / EVENTS_A_VISIT)
    const lanes = Effect.gen(function* () {
      yield* count("warm", join(folder, "warm"), eventsOf({ ...options, events: WARM_UP }, usually))
      const usual = yield* count("usual", join(folder, "usual"), eventsOf(options, usually))
      const dealt = yield* count(
        "dealt",
        join(folder, "dealt"),
        eventsOf(options, (event) => event % options.visitors)
      )
      return { usual, dealt }
    })
    const { dealt, usual } = await Effect.runPromise(Effect.provide(lanes, stores))
    const paceOf = ({ processor_s }: typeof usual) => Math.round(options.events / Math.max(0.01, processor_s))
    report(
      "counting",
      {
        machine: machine(),
        events: options.events,
        visitors: options.visitors,
        usual,
        dealt,
        usual_events_per_processor_s: paceOf(usual),
        events_per_processor_s: paceOf(dealt),
        ratio: round(paceOf(dealt) / paceOf(usual))
      },
      options.out
    )
  } finally {
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}
