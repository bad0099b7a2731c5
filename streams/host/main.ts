/**
 * Runs the processors as a program over a port: its own Postgres client, the log for reading, state snapshots in a
 * folder. `worker.ts` runs it in a thread; a child process would run the same program over its own port.
 */
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { join } from "node:path"
import { readFingerprintKey } from "@dowser/log/fingerprint-key"
import type { StreamsPort, WorkerSettings } from "./messages.ts"
import { makeReplayRequests } from "../shadow/replay-requests.ts"
import { makeReplays } from "../replays/coordinator.ts"
import { makeProcessors, partitionsOfRunnable, REPLAYED } from "../processors/runnable.ts"
import { openStateStore } from "../state/lmdb.ts"
import { layerOffsetStore } from "../offsets/postgres.ts"
import { weightIn } from "../runner/weights.ts"
import { layerWorkerLog } from "./worker-log.ts"

/** The partitions take turns on one connection; the others serve replays and reports. */
const CONNECTIONS_MAX = 4

/** Runs every processor over every partition until interrupted. */
export const runStreams = (settings: WorkerSettings, port: StreamsPort) => {
  const { database, host, password, port: sqlPort, username } = settings.sql
  const sql = PgClient.layer({
    host,
    port: sqlPort,
    username,
    password: Redacted.make(password),
    database,
    maxConnections: CONNECTIONS_MAX,
    applicationName: "dowser-streams"
  })
  return Effect.gen(function* () {
    const fingerprintKey = yield* readFingerprintKey
    const requests = yield* makeReplayRequests()
    const client = yield* SqlClient.SqlClient
    const { visitorPartitions } = settings
    port.send({ kind: "ready" })
    yield* Effect.all(
      [...makeProcessors(fingerprintKey), makeReplays({ fingerprintKey, visitorPartitions, ...REPLAYED })].flatMap(
        (runnable) =>
          Array.from({ length: partitionsOfRunnable(runnable, visitorPartitions) }, (_, partition) =>
            runnable.run({
              partition,
              weightOf: weightIn(settings.weights),
              openStore: () => openStateStore(join(settings.statePath, `${runnable.name}-${partition}`)),
              replays: {
                requests,
                sql: client,
                openShadowStore: () => openStateStore(join(settings.statePath, `shadow-${runnable.name}-${partition}`))
              },
              report: (progress) => port.send({ kind: "progress", progress })
            })
          )
      ),
      { concurrency: "unbounded", discard: true }
    )
  }).pipe(
    Effect.scoped,
    Effect.provide(
      Layer.mergeAll(
        Layer.provideMerge(layerOffsetStore, sql),
        layerWorkerLog({ path: settings.logPath, port, ends: settings.ends })
      )
    )
  )
}
