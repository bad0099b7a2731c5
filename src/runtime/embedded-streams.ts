/**
 * Events and analytics in one process: the log in a folder, the dedupe window rebuilt from it, the processors in a worker
 * thread with their own Postgres client. Needs Postgres migrated; built in an order that starts counting last.
 */
import { Effect, Layer } from "effect"
import { join } from "node:path"
import { readFingerprintKey } from "../../streams/fingerprint-key.ts"
import { StreamWorker } from "../../streams/host.ts"
import { EVENT_FINGERPRINTS, VISITOR_PARTITIONS_EMBEDDED } from "../../streams/topics.ts"
import { Analytics } from "../analytics/service.ts"
import { SearchServed } from "../events/serve-log.ts"
import { Events } from "../events/service.ts"
import { DedupeWindow } from "../ports/dedupe-window.ts"
import { layerEmbedded as layerEventLog } from "../ports/event-log-lmdb.ts"
import type { PostgresServer } from "./embedded-postgres.ts"

export const layerEmbeddedStreams = (
  dataPath: string,
  { database, host, password, port, username }: Pick<PostgresServer, "host" | "port" | "username" | "password" | "database">,
  visitorPartitions = VISITOR_PARTITIONS_EMBEDDED
) => {
  const logPath = join(dataPath, "log")
  const window = Layer.unwrap(Effect.map(Effect.orDie(readFingerprintKey), (key) => DedupeWindow.layerEmbedded({ key, topic: EVENT_FINGERPRINTS.name })))
  return Layer.mergeAll(
    Events.layer({ visitorPartitions }).pipe(Layer.provide(Layer.orDie(window))),
    SearchServed.layer({ visitorPartitions }),
    Analytics.layer,
    Layer.orDie(StreamWorker.layer({ logPath, statePath: join(dataPath, "streams"), visitorPartitions, sql: { host, port, username, password, database } }))
  ).pipe(Layer.provideMerge(layerEventLog({ path: logPath })))
}
