/**
 * Everything in one process on one machine: embedded Postgres, the embedded log, the in-process engine, all processors.
 */
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer, Redacted } from "effect"
import { join } from "node:path"
import { openEngine } from "@dowser/engine-sdk/memory"
import type { SearchEngine } from "@dowser/engine-sdk"
import { StreamWorker } from "@dowser/streams/host/host"
import { isDeadLetters, VISITOR_PARTITIONS_EMBEDDED } from "@dowser/log/topics"
import { Configuration } from "../configuration/configuration.ts"
import {
  CurrentCalls,
  CurrentChanges,
  CurrentCircuits,
  CurrentRemovals,
  CurrentSearchThreads,
  Engine
} from "../ports/engine/engine.ts"
import { type GuardOptions, guardEngine } from "../ports/engine/guarded-engine.ts"
import { layerFiles } from "../ports/feed-store/files.ts"
import { layerEmbedded as layerEmbeddedLog } from "@dowser/log/event-log/lmdb"
import { assemble, type RuntimeOptions } from "./assemble.ts"
import { layerBlobs } from "./blob-store.ts"
import type { DataFolder } from "./data-folder.ts"
import type { PostgresServer } from "./embedded-postgres.ts"
import { startPostgres } from "./kept-postgres.ts"
import { superviseEngine } from "./supervised-engine.ts"
import { warmSoon } from "./warm-start.ts"

export const layerSql = (server: Omit<PostgresServer, "stop" | "died">) =>
  PgClient.layer({
    host: server.host,
    port: server.port,
    username: server.username,
    password: Redacted.make(server.password),
    database: server.database,
    maxConnections: 8,
    applicationName: "dowser"
  })

/** Collections are opened on first use within this budget and closed by least recent use. */
const ENGINE_MEMORY_BYTES = 2 * 1024 ** 3

/** Writes, merges and snapshots run in their own thread; searches read shared segments on this one and on workers. */
export const layerEngine = (path: string, searchWorkers: number) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const services = yield* Effect.context<never>()
      const log = (line: Effect.Effect<void>) => Effect.runSyncWith(services)(line)
      let opened: Awaited<ReturnType<typeof openEngine>> | undefined
      const open = async () => {
        opened = await openEngine({ path, worker: true, searchWorkers, memoryBudgetBytes: ENGINE_MEMORY_BYTES })
        warmSoon(opened, ENGINE_MEMORY_BYTES, (error) =>
          log(Effect.logWarning(`Collections were not opened ahead of searches: ${String(error)}`))
        )
        return opened
      }
      const supervised = yield* Effect.acquireRelease(
        Effect.promise(() =>
          superviseEngine({
            open,
            onLost: (message) => log(Effect.logError(`The engine's writer was lost and is opened again: ${message}`))
          })
        ),
        (engine) => Effect.promise(() => engine.close())
      )
      const guarded = layerGuarded(supervised, {
        onChange: (circuit, state) => log(Effect.logWarning(`The engine's circuit for ${circuit} is ${state}`))
      })
      return Layer.merge(
        guarded,
        Layer.succeed(CurrentSearchThreads, () => opened?.searchWorkers())
      )
    })
  )
/** An engine with its circuit breakers, and their states for the status page. */
export const layerGuarded = (engine: SearchEngine, options: GuardOptions = {}): Layer.Layer<Engine> => {
  const guarded = guardEngine(engine, options)
  return Layer.mergeAll(
    Layer.succeed(Engine, guarded),
    Layer.succeed(CurrentCalls, guarded.calls),
    Layer.succeed(CurrentCircuits, guarded.circuits),
    Layer.succeed(CurrentChanges, guarded.changes),
    Layer.succeed(CurrentRemovals, guarded.removals)
  )
}

export const layerEmbedded = (folder: DataFolder, options: RuntimeOptions = {}) =>
  Layer.unwrap(
    Effect.gen(function* () {
      // The server lives as long as the layer's scope; it is stopped after everything that uses it.
      const server = yield* Effect.acquireRelease(
        Effect.promise(() => startPostgres(join(folder.path, "postgres"))),
        (running) => Effect.promise(running.stop)
      )
      const visitorPartitions = VISITOR_PARTITIONS_EMBEDDED
      const logPath = join(folder.path, "log")
      const { database, host, password, port, username } = server

      const ports = Layer.mergeAll(
        (options.engine ?? layerEngine)(join(folder.path, "engine"), options.searchWorkers ?? 0),
        layerFiles(join(folder.path, "feeds")),
        layerBlobs(process.env, join(folder.path, "media")),
        layerEmbeddedLog({ path: logPath, space: { ...options.logSpace, isAlwaysTaken: isDeadLetters } })
      )
      const streams = StreamWorker.layer({
        logPath,
        statePath: join(folder.path, "streams"),
        sql: { host, port, username, password, database },
        visitorPartitions,
        ...(options.weights === undefined ? {} : { weights: options.weights })
      })
      return assemble({
        sql: layerSql(server),
        ports,
        streams,
        configuration: Configuration.layerEmbedded,
        options,
        dataPath: folder.path,
        dedupePath: join(folder.path, "dedupe"),
        recommendationsPath: join(folder.path, "recommendations"),
        isAlone: true,
        visitorPartitions,
        operatorKey: folder.operatorKey,
        operatorToken: folder.operatorToken
      })
    })
  )
