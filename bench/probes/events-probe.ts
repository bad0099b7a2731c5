/**
 * Question: what does accepting an event cost without HTTP, and how fast do the processors follow? Workload: batches of
 * generated visitors with fresh ids, made before the clock starts; a closed loop of several callers, then a fixed
 * arrival rate. Includes JSON.parse, judging, dedupe, packing and the durable append; excludes sockets. The processors
 * run in their worker thread against an embedded Postgres. Read `events_per_processor_s_first_thread` before wall-clock
 * rates. Run: deno run -A bench/probes/events-probe.ts [--events 300000] [--batch 100] [--callers 16] [--rate 500]
 */
import { Effect, Layer, Scope } from "effect"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { generateCatalog } from "../../fixtures/catalog/generate.ts"
import { generateVisitors } from "../../fixtures/events/generate.ts"
import { Events } from "../../src/events/intake/service.ts"
import { layer as layerMigrations } from "../../src/migrations/index.ts"
import { DedupeWindow } from "../../src/ports/dedupe/dedupe-window.ts"
import { EventLog } from "../../log/event-log/event-log.ts"
import { layerEmbedded } from "../../log/event-log/lmdb.ts"
import { layerSql } from "../../src/runtime/embedded.ts"
import { startEmbeddedPostgres } from "../../src/runtime/embedded-postgres.ts"
import { readFingerprintKey } from "../../log/fingerprint-key.ts"
import { StreamWorker } from "../../streams/host/host.ts"
import { BEHAVIOUR_EVENTS, EVENT_FINGERPRINTS } from "../../log/topics.ts"
import { machine, percentiles, processorSeconds, report, rssMb } from "../harness/harness.ts"

const { values } = parseArgs({
  options: {
    events: { type: "string", default: "300000" },
    batch: { type: "string", default: "100" },
    callers: { type: "string", default: "16" },
    rate: { type: "string", default: "400" },
    out: { type: "string" }
  }
})
const batchSize = Number(values.batch)

const makeBodies = (count: number, run: string): ReadonlyArray<Buffer> => {
  const products = [...generateCatalog({ seed: 1, products: 2_000 })]
  const now = Date.now()
  const events = generateVisitors(products, {
    seed: 1,
    sessions: count,
    collection: "products",
    from: now - 3_600_000,
    to: now,
    run
  })
  return Array.from({ length: Math.ceil(count / batchSize) }, () => {
    const batch: Array<unknown> = []
    while (batch.length < batchSize) {
      const next = events.next()
      if (next.done === true) break
      batch.push({ ...next.value, event_id: crypto.randomUUID(), timestamp: now + 10 * batch.length })
    }
    return Buffer.from(JSON.stringify({ events: batch }))
  })
}

const send = (events: Events["Service"], body: Buffer) =>
  Effect.suspend(() =>
    events.ingestEvents(
      "org_probe",
      (JSON.parse(body.toString("utf8")) as { readonly events: ReadonlyArray<unknown> }).events
    )
  )

const timed = Effect.fnUntraced(function* (
  events: Events["Service"],
  body: Buffer,
  dueAt: number,
  latencies: Array<number>
) {
  const answer = yield* send(events, body)
  latencies.push(performance.now() - dueAt)
  return answer.accepted
})

const untilCounted = Effect.gen(function* () {
  const log = yield* EventLog
  const worker = yield* StreamWorker
  for (;;) {
    const { endOffset } = yield* log.bounds(BEHAVIOUR_EVENTS.name, 0)
    const progress = (yield* worker.progress).find(({ group }) => group === "attribution")
    if (progress !== undefined && (progress.committed[BEHAVIOUR_EVENTS.name] ?? 0) >= endOffset) return
    yield* Effect.sleep(10)
  }
})

const probe = Effect.gen(function* () {
  const events = yield* Events
  yield* Effect.forEach(makeBodies(20_000, "warm"), (body) => send(events, body), { concurrency: 16 })
  yield* untilCounted

  const bodies = makeBodies(Number(values.events), "peak")
  const latencies: Array<number> = []
  let accepted = 0
  let next = 0
  const before = processorSeconds(process.pid)
  const startedAt = performance.now()
  yield* Effect.all(
    Array.from({ length: Number(values.callers) }, () =>
      Effect.gen(function* () {
        while (next < bodies.length) {
          const taken = yield* timed(events, bodies[next++]!, performance.now(), latencies)
          accepted += taken
        }
      })
    ),
    { concurrency: "unbounded" }
  )
  const acceptedAt = performance.now()
  const between = processorSeconds(process.pid)
  yield* untilCounted
  const countedAt = performance.now()
  const after = processorSeconds(process.pid)

  const rate = Number(values.rate)
  const paced = makeBodies(rate * 5 * batchSize, "paced")
  const pacedLatencies: Array<number> = []
  const pacedAt = performance.now()
  yield* Effect.all(
    paced.map((body, i) =>
      Effect.gen(function* () {
        const dueAt = pacedAt + (i / rate) * 1_000
        yield* Effect.sleep(Math.max(0, dueAt - performance.now()))
        yield* timed(events, body, dueAt, pacedLatencies)
      })
    ),
    { concurrency: "unbounded" }
  )
  const pacedEnd = performance.now()
  yield* untilCounted
  const lag_ms = performance.now() - pacedEnd
  report(
    "events-probe",
    {
      machine: machine(),
      rss_mb: rssMb(process.pid),
      batch: batchSize,
      accepted,
      accepted_events_per_s: Math.round(accepted / ((acceptedAt - startedAt) / 1_000)),
      events_per_processor_s_first_thread: Math.round(
        accepted / Math.max(0.01, between.firstThread - before.firstThread)
      ),
      events_per_processor_s_all: Math.round(accepted / Math.max(0.01, after.process - before.process)),
      counted_events_per_s: Math.round(accepted / ((countedAt - startedAt) / 1_000)),
      closed_loop: percentiles(latencies),
      paced_events_per_s: rate * batchSize,
      paced: percentiles(pacedLatencies),
      counted_after_last_answer_ms: Math.round(lag_ms)
    },
    values.out
  )
})

const folder = mkdtempSync(join(tmpdir(), "dowser-probe-"))
const server = await startEmbeddedPostgres(join(folder, "postgres"))
const logPath = join(folder, "log")
const stores = Layer.provideMerge(layerMigrations, layerSql(server))
const window = Layer.unwrap(
  Effect.map(readFingerprintKey, (key) =>
    DedupeWindow.layerSealed({ key, topic: EVENT_FINGERPRINTS.name, folder: join(folder, "dedupe") })
  )
)
const { database, host, password, port, username } = server
const stack = Layer.mergeAll(
  Events.layer({ visitorPartitions: 1 }).pipe(Layer.provide(window)),
  StreamWorker.layer({
    logPath,
    statePath: join(folder, "streams"),
    visitorPartitions: 1,
    sql: { host, port, username, password, database }
  })
).pipe(Layer.provideMerge(layerEmbedded({ path: logPath })), Layer.provideMerge(stores))
try {
  await Effect.runPromise(Effect.scoped(Effect.provide(probe, stack) as Effect.Effect<void, unknown, Scope.Scope>))
} finally {
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
}
