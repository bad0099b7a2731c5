/** Everything in one process on one machine: embedded Postgres, the embedded log, the in-process engine, all processors. */
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer, Redacted } from "effect"
import { join } from "node:path"
import { Access } from "../access/access.ts"
import { OperatorAuth } from "../access/operator.ts"
import { Seal } from "../access/seal.ts"
import { layer as layerMigrations } from "../migrations/index.ts"
import { Outbox } from "../outbox/outbox.ts"
import { Identifiers } from "../ports/identifiers.ts"
import type { DataFolder } from "./data-folder.ts"
import { type PostgresServer, startEmbeddedPostgres } from "./embedded-postgres.ts"
import { layerEmbeddedStreams } from "./embedded-streams.ts"

/** The server runs as long as the layer's scope. */
export const acquirePostgres = (folder: DataFolder) =>
  Effect.acquireRelease(Effect.promise(() => startEmbeddedPostgres(join(folder.path, "postgres"))), (server) => Effect.promise(server.stop))

export const layerSql = (server: PostgresServer) =>
  PgClient.layer({
    host: server.host, port: server.port, username: server.username, password: Redacted.make(server.password), database: server.database,
    maxConnections: 8, applicationName: "dowser"
  })

export const layerEmbedded = (folder: DataFolder) =>
  Layer.unwrap(Effect.map(acquirePostgres(folder), (server) => {
    const stores = Layer.provideMerge(layerMigrations, layerSql(server))
    const ports = Layer.mergeAll(Identifiers.layer, Seal.layer(folder.operatorKey), OperatorAuth.layer(folder.operatorToken))
    return Access.layer.pipe(
      Layer.provideMerge(Outbox.layer),
      Layer.provideMerge(layerEmbeddedStreams(folder.path, server)),
      Layer.provideMerge(ports),
      Layer.provideMerge(stores)
    )
  }))
