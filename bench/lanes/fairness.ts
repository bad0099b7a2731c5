/**
 * Question: how long does a steady organization wait for its figures while another one bursts, with shares and
 * without? Workload: `large` stores its burst in batches of 1,000 as fast as it is allowed, and retries when the
 * service says so; `small` stores 10 events every 100 ms. The wait is from the response until the figure is in
 * Postgres, polled every 25 ms. Includes everything but HTTP. Compare `small_wait` of the two runs, and read
 * `large_done_s` for what the shares cost. Run: deno run -A bench/lanes/fairness.ts [--events 500000]
 */
import { Effect, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { layerAdmission } from "../../src/events/intake/admission.ts"
import { Events } from "../../src/events/intake/service.ts"
import { layer as layerMigrations } from "../../src/migrations/index.ts"
import { DedupeWindow } from "../../src/ports/dedupe/dedupe-window.ts"
import { layerEmbedded } from "../../log/event-log/lmdb.ts"
import { layerSql } from "../../src/runtime/embedded.ts"
import { startEmbeddedPostgres } from "../../src/runtime/embedded-postgres.ts"
import { readFingerprintKey } from "../../log/fingerprint-key.ts"
import { StreamWorker } from "../../streams/host/host.ts"
import { EVENT_FINGERPRINTS } from "../../log/topics.ts"
import { machine, percentiles, report, round } from "../harness/harness.ts"

const { values } = parseArgs({ options: { events: { type: "string", default: "500000" }, out: { type: "string" } } })
const BATCH = 1_000
const CALLERS = 4

const run = async (isShared: boolean) => {
  const folder = mkdtempSync(join(tmpdir(), "dowser-fairness-"))
  const server = await startEmbeddedPostgres(join(folder, "postgres"))
  const { database, host, password, port, username } = server
  const logPath = join(folder, "log")
  const window = Layer.unwrap(
    Effect.map(readFingerprintKey, (key) =>
      DedupeWindow.layerSealed({ key, topic: EVENT_FINGERPRINTS.name, folder: join(folder, "dedupe") })
    )
  )
  const streams = StreamWorker.layer({
    logPath,
    statePath: join(folder, "streams"),
    visitorPartitions: 1,
    sql: { host, port, username, password, database }
  })
  const events = Events.layer({ visitorPartitions: 1 }).pipe(Layer.provide(window))
  const stack = Layer.provideMerge(isShared ? Layer.provide(events, layerAdmission({})) : events, streams).pipe(
    Layer.provideMerge(layerEmbedded({ path: logPath })),
    Layer.provideMerge(Layer.provideMerge(layerMigrations, layerSql(server)))
  )
  const program = Effect.gen(function* () {
    const events = yield* Events
    const sql = yield* SqlClient.SqlClient
    const countedOf = (organizationId: string) =>
      Effect.map(
        sql<{
          n: number
        }>`SELECT coalesce(sum(events), 0)::float8 AS n FROM analytics_event_rollup WHERE organization_id = ${organizationId} AND grain = 3`,
        ([row]) => row!.n
      )
    const views = (organizationId: string, from: number, count: number) =>
      Array.from({ length: count }, (_, i) => ({
        type: i % 3 === 0 ? "click" : "view",
        collection: "shop",
        document_id: `d${(from + i) % 2_000}`,
        event_id: `${organizationId}-${from + i}`,
        session_id: `s${Math.floor((from + i) / 12)}`,
        timestamp: Date.now()
      }))
    const total = Number(values.events)
    const stored: Array<{ readonly until: number; readonly at: number }> = []
    const waits: Array<number> = []
    const refused = { large: 0, small: 0 }
    let isOver = false
    let sent = 0
    const small = yield* Effect.forkChild(
      Effect.gen(function* () {
        for (let dueAt = performance.now(); !isOver; dueAt += 100) {
          yield* Effect.sleep(Math.max(0, dueAt - performance.now()))
          const answer = yield* Effect.result(events.ingestEvents("small", views("small", sent, 10)))
          if (answer._tag === "Failure") refused.small++
          else stored.push({ until: (sent += 10), at: performance.now() })
        }
      })
    )
    const looking = yield* Effect.forkChild(
      Effect.gen(function* () {
        for (let next = 0; ;) {
          const counted = yield* countedOf("small")
          while (next < stored.length && stored[next]!.until <= counted)
            waits.push(performance.now() - stored[next++]!.at)
          if (isOver && next === stored.length) return
          yield* Effect.sleep(25)
        }
      })
    )
    yield* Effect.sleep(5_000)
    const startedAt = performance.now()
    let from = 0
    yield* Effect.forEach(
      Array.from({ length: CALLERS }),
      () =>
        Effect.gen(function* () {
          while (from < total) {
            const at = from
            from += BATCH
            for (;;) {
              const answer = yield* Effect.result(events.ingestEvents("large", views("large", at, BATCH)))
              if (answer._tag === "Success") break
              refused.large++
              yield* Effect.sleep("retry_after_s" in answer.failure ? answer.failure.retry_after_s * 1_000 : 1_000)
            }
          }
        }),
      { concurrency: CALLERS, discard: true }
    )
    const stored_s = (performance.now() - startedAt) / 1_000
    while ((yield* countedOf("large")) < total) yield* Effect.sleep(100)
    const done_s = (performance.now() - startedAt) / 1_000
    isOver = true
    yield* Fiber.join(small)
    yield* Fiber.join(looking)
    return {
      small_wait: percentiles(waits),
      small_refused: refused.small,
      large_refused: refused.large,
      large_stored_s: round(stored_s, 1),
      large_done_s: round(done_s, 1)
    }
  })
  try {
    return await Effect.runPromise(Effect.scoped(Effect.provide(program, stack)))
  } finally {
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

report(
  "fairness",
  { machine: machine(), events: Number(values.events), without_shares: await run(false), with_shares: await run(true) },
  values.out
)
