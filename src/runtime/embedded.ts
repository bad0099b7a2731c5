/** Everything in one process on one machine: embedded Postgres, the embedded log, the in-process engine, all processors. */
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer, Redacted } from "effect"
import { join } from "node:path"
import { openEngine } from "../../engine-sdk/src/memory/open-engine.ts"
import { readFingerprintKey } from "../../streams/fingerprint-key.ts"
import { StreamWorker } from "../../streams/host.ts"
import { EVENT_FINGERPRINTS, VISITOR_PARTITIONS_EMBEDDED } from "../../streams/topics.ts"
import { Access } from "../access/access.ts"
import { OperatorAuth } from "../access/operator.ts"
import { Seal } from "../access/seal.ts"
import { PopularDocuments } from "../analytics/popular-documents.ts"
import { Analytics } from "../analytics/service.ts"
import { layerDictionaries } from "../catalog/dictionaries.ts"
import { CatalogNames } from "../catalog/names.ts"
import { CatalogResources } from "../catalog/resources.ts"
import { Demo } from "../demo/demo.ts"
import { SearchServed } from "../events/serve-log.ts"
import { Events } from "../events/service.ts"
import { Health } from "../health/health.ts"
import { Ingest } from "../ingest/ingest.ts"
import { layer as layerMigrations } from "../migrations/index.ts"
import { Outbox } from "../outbox/outbox.ts"
import { DedupeWindow } from "../ports/dedupe-window.ts"
import { Engine } from "../ports/engine.ts"
import { layerEmbedded as layerEmbeddedLog } from "../ports/event-log-lmdb.ts"
import { Identifiers } from "../ports/identifiers.ts"
import { SearchRules } from "../rules/search-rules.ts"
import { Search, type SearchLayerOptions } from "../search/search.ts"
import type { DataFolder } from "./data-folder.ts"
import { type PostgresServer, startEmbeddedPostgres } from "./embedded-postgres.ts"
import { layerHousekeeping } from "./housekeeping.ts"
import { superviseEngine } from "./supervised-engine.ts"

export const layerSql = (server: PostgresServer) =>
  PgClient.layer({
    host: server.host, port: server.port, username: server.username, password: Redacted.make(server.password), database: server.database,
    maxConnections: 8, applicationName: "dowser"
  })

/** Collections open on first use within this budget and close again, least recently used first. */
const engineMemoryBytes = 2 * 1024 ** 3

/** Writes, merges and snapshots in a thread of their own; searches read shared segments on this one. */
const layerEngine = (path: string) => Layer.effect(Engine, Effect.gen(function*() {
  const services = yield* Effect.context<never>()
  return yield* Effect.acquireRelease(
    Effect.promise(() => superviseEngine({
      open: () => openEngine({ path, worker: true, memoryBudgetBytes: engineMemoryBytes }),
      onLost: (message) => Effect.runSyncWith(services)(Effect.logError(`The engine's writer was lost and is opened again: ${message}`))
    })),
    (engine) => Effect.promise(() => engine.close())
  )
}))

export const layerEmbedded = (folder: DataFolder, options: SearchLayerOptions = {}) => Layer.unwrap(Effect.gen(function*() {
  // The server lives as long as the layer's scope; it is stopped after everything that talks to it.
  const server = yield* Effect.acquireRelease(Effect.promise(() => startEmbeddedPostgres(join(folder.path, "postgres"))), (running) => Effect.promise(running.stop))
  const visitorPartitions = VISITOR_PARTITIONS_EMBEDDED
  const logPath = join(folder.path, "log")
  const { database, host, password, port, username } = server

  const stores = Layer.provideMerge(layerMigrations, layerSql(server))
  const ports = Layer.mergeAll(Identifiers.layer, Seal.layer(folder.operatorKey), OperatorAuth.layer(folder.operatorToken), layerEngine(join(folder.path, "engine")), layerEmbeddedLog({ path: logPath }))
  const dedupe = Layer.unwrap(Effect.map(Effect.orDie(readFingerprintKey), (key) => DedupeWindow.layerEmbedded({ key, topic: EVENT_FINGERPRINTS.name })))
  const streams = Layer.mergeAll(
    StreamWorker.layer({ logPath, statePath: join(folder.path, "streams"), sql: { host, port, username, password, database }, visitorPartitions }),
    Events.layer({ visitorPartitions }),
    SearchServed.layer({ visitorPartitions }),
    Analytics.layer
  )
  return Layer.mergeAll(Search.layer(options), Ingest.layer, Demo.layer, Health.layer(), layerHousekeeping()).pipe(
    Layer.provideMerge(Layer.mergeAll(CatalogNames.layer, layerDictionaries, SearchRules.layer)),
    Layer.provideMerge(PopularDocuments.layer),
    Layer.provideMerge(Layer.mergeAll(streams, CatalogResources.layer, Access.layer)),
    Layer.provideMerge(Layer.mergeAll(dedupe, Outbox.layer)),
    Layer.provideMerge(ports),
    Layer.provideMerge(stores)
  )
}))
