/** Everything in one process on one machine: embedded Postgres, the embedded log, the in-process engine, all processors. */
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer, Redacted } from "effect"
import { join } from "node:path"
import { openEngine } from "../../engine-sdk/src/memory/open-engine.ts"
import { StreamWorker } from "../../streams/host.ts"
import { isDeadLetters, VISITOR_PARTITIONS_EMBEDDED } from "../../streams/topics.ts"
import { Configuration } from "../configuration/configuration.ts"
import { Engine } from "../ports/engine.ts"
import { layerEmbedded as layerEmbeddedLog } from "../ports/event-log-lmdb.ts"
import { assemble, type RuntimeOptions } from "./assemble.ts"
import type { DataFolder } from "./data-folder.ts"
import { type PostgresServer, startEmbeddedPostgres } from "./embedded-postgres.ts"
import { superviseEngine } from "./supervised-engine.ts"

export const layerSql = (server: Omit<PostgresServer, "stop" | "died">) =>
  PgClient.layer({
    host: server.host, port: server.port, username: server.username, password: Redacted.make(server.password), database: server.database,
    maxConnections: 8, applicationName: "dowser"
  })

/** Collections open on first use within this budget and close again, least recently used first. */
const engineMemoryBytes = 2 * 1024 ** 3

/** Writes, merges and snapshots in a thread of their own; searches read shared segments on this one. */
export const layerEngine = (path: string) => Layer.effect(Engine, Effect.gen(function*() {
  const services = yield* Effect.context<never>()
  return yield* Effect.acquireRelease(
    Effect.promise(() => superviseEngine({
      open: () => openEngine({ path, worker: true, memoryBudgetBytes: engineMemoryBytes }),
      onLost: (message) => Effect.runSyncWith(services)(Effect.logError(`The engine's writer was lost and is opened again: ${message}`))
    })),
    (engine) => Effect.promise(() => engine.close())
  )
}))

export const layerEmbedded = (folder: DataFolder, options: RuntimeOptions = {}) => Layer.unwrap(Effect.gen(function*() {
  // The server lives as long as the layer's scope; it is stopped after everything that talks to it.
  const server = yield* Effect.acquireRelease(Effect.promise(() => startEmbeddedPostgres(join(folder.path, "postgres"))), (running) => Effect.promise(running.stop))
  const visitorPartitions = VISITOR_PARTITIONS_EMBEDDED
  const logPath = join(folder.path, "log")
  const { database, host, password, port, username } = server

  const ports = Layer.mergeAll(layerEngine(join(folder.path, "engine")), layerEmbeddedLog({ path: logPath, space: { ...options.logSpace, isAlwaysTaken: isDeadLetters } }))
  const streams = StreamWorker.layer({ logPath, statePath: join(folder.path, "streams"), sql: { host, port, username, password, database }, visitorPartitions, ...(options.weights === undefined ? {} : { weights: options.weights }) })
  return assemble({ sql: layerSql(server), ports, streams, configuration: Configuration.layerEmbedded, options, dedupePath: join(folder.path, "dedupe"), isAlone: true, visitorPartitions, operatorKey: folder.operatorKey, operatorToken: folder.operatorToken })
}))
