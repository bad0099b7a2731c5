/** What every mode is built from, once the database, the log, the engine and the owner of the processors are chosen. */
import type { PgClient } from "@effect/sql-pg"
import { Effect, Layer } from "effect"
import type { SqlClient } from "effect/sql"
import { readFingerprintKey } from "@dowser/log/fingerprint-key"
import type { StreamWorker } from "@dowser/streams/host/host"
import { AiPrices, type AiPricesTable } from "../metering/ai-prices.ts"
import { layerEmbedding } from "./embedding.ts"
import type { Weights } from "@dowser/streams/runner/weights"
import { EVENT_FINGERPRINTS } from "@dowser/log/topics"
import { OperatorAuth } from "../identity/operator.ts"
import { Seal } from "../access/seal.ts"
import type { RowReaders } from "../identity/row-readers.ts"
import type { Configuration } from "../configuration/configuration.ts"
import { Installation } from "../installation.ts"
import { RoomFeatures } from "../metering/plans.ts"
import { layer as layerMigrations } from "../migrations/index.ts"
import { Outbox } from "@dowser/log/outbox"
import { layerLeased } from "../ports/counter/leased-sql.ts"
import { DedupeWindow } from "../ports/dedupe/dedupe-window.ts"
import { RequestFigures } from "../http/request-figures.ts"
import type { BlobStore } from "../ports/blob-store/blob-store.ts"
import type { Engine } from "../ports/engine/engine.ts"
import type { OperatorModel } from "../ports/text-embedder/operator/models-file.ts"
import type { TextEmbedder } from "../ports/text-embedder/text-embedder.ts"
import type { FeedStore } from "../ports/feed-store/feed-store.ts"
import type { Transcriber } from "../ports/transcriber/transcriber.ts"
import type { EventLog } from "@dowser/log/event-log/event-log"
import { layerMeasured } from "@dowser/log/event-log/measured"
import type { LogSpaceOptions } from "@dowser/log/event-log/log-space"
import { Identifiers } from "@dowser/log/identifiers"
import { layerLookAlike } from "../ports/image-embedder/look-alike.ts"
import { layerChildren } from "../ports/image-process/children.ts"
import { layer as layerGenerator } from "../ports/generator/remote/remote-generator.ts"
import { layer as layerOutboundHttp } from "../ports/outbound-http/node.ts"
import { Models } from "../models/models.ts"
import { placesOf } from "../models/install/places.ts"
import { rooms } from "../rooms.ts"
import { layerHousekeeping } from "./housekeeping.ts"
import { layerDecoder, layerTranscriber } from "./speech.ts"
import { layerTextEmbedder } from "./text-embedder.ts"

/** What the person who starts the program chooses, whatever the mode. */
export interface RuntimeOptions {
  /** Header in which a proxy in front names the visitor's country, lower case. */ readonly countryHeader?:
    | string
    | undefined
  /** Whether requests may go to private and loopback addresses; false when absent. */
  readonly allowPrivateAddresses?: boolean
  /** Of organizations, where they share what is counted a second. */ readonly weights?: Weights
  /** What the operator made of the prices of AI operations. */ readonly aiPrices?: AiPricesTable
  /** The service's own: free organizations may list its subdomains as origins of keys. */ readonly serviceDomain?:
    | string
    | undefined
  /** Of the embedded event log. */ readonly logSpace?: LogSpaceOptions
  /** Threads of the in-process engine that search; 0 when absent. */ readonly searchWorkers?: number
  /** Where models are; by itself in the program's folder, or the data folder. */ readonly modelsFolder?:
    | string
    | undefined
  /** The operator's list of embedding models. */ readonly embeddingModels?: ReadonlyArray<OperatorModel>
  /** Another embedder than the models of this program. */ readonly textEmbedder?: Layer.Layer<
    TextEmbedder,
    never,
    Models
  >
  /** Another transcriber than the one that is installed. */ readonly transcriber?: Layer.Layer<
    Transcriber,
    never,
    Models
  >
  /** Another engine than the in-process one, which would keep its files under the path. */ readonly engine?: (
    path: string,
    searchWorkers: number
  ) => Layer.Layer<Engine>
}

interface Parts<PortsE, SqlE, StreamsE, ConfigurationE> {
  readonly sql: Layer.Layer<SqlClient.SqlClient | PgClient.PgClient, SqlE>
  readonly ports: Layer.Layer<BlobStore | Engine | EventLog | FeedStore, PortsE, SqlClient.SqlClient>
  readonly streams: Layer.Layer<StreamWorker, StreamsE, EventLog | SqlClient.SqlClient>
  readonly configuration: Layer.Layer<Configuration, ConfigurationE, Identifiers | RowReaders | SqlClient.SqlClient>
  readonly options: RuntimeOptions
  /** Folder of the dedupe window's runs, this process's own. */ readonly dedupePath: string
  /** The data folder, where models may be. */ readonly dataPath: string
  /** Folder of what recommendations keep, this process's own. */ readonly recommendationsPath: string
  /** No other process uses this database. */ readonly isAlone: boolean
  readonly visitorPartitions: number
  readonly operatorKey: Uint8Array
  readonly operatorToken: string
}

/** The ground that rooms stand on, then the rooms (`src/rooms.ts`), then what looks after all of them. */
export const assemble = <PortsE, SqlE, StreamsE, ConfigurationE>({
  configuration,
  dataPath,
  dedupePath,
  isAlone,
  operatorKey,
  operatorToken,
  recommendationsPath,
  options: {
    aiPrices,
    allowPrivateAddresses = false,
    countryHeader,
    modelsFolder,
    serviceDomain,
    embeddingModels = [],
    textEmbedder = layerTextEmbedder(embeddingModels),
    transcriber = layerTranscriber,
    weights
  },
  sql,
  streams,
  visitorPartitions,
  ...parts
}: Parts<PortsE, SqlE, StreamsE, ConfigurationE>) => {
  const installation = Layer.succeed(Installation, {
    countryHeader,
    serviceDomain,
    weights,
    visitorPartitions,
    recommendationsPath,
    isAlone
  })
  const models = Layer.provideMerge(
    Layer.mergeAll(textEmbedder, transcriber),
    Models.layer(placesOf(dataPath, modelsFolder))
  )
  const ports = Layer.provideMerge(
    layerEmbedding,
    Layer.mergeAll(
      models,
      layerDecoder,
      Identifiers.layer,
      Seal.layer(operatorKey),
      OperatorAuth.layer(operatorToken),
      Layer.provideMerge(layerGenerator, layerOutboundHttp({ allowPrivateAddresses })),
      RequestFigures.layer,
      Layer.provideMerge(layerLookAlike, layerChildren()),
      Layer.provideMerge(layerMeasured, parts.ports)
    )
  )
  const dedupe = Layer.unwrap(
    Effect.map(Effect.orDie(readFingerprintKey), (key) =>
      DedupeWindow.layerSealed({ key, topic: EVENT_FINGERPRINTS.name, folder: dedupePath })
    )
  )
  return Layer.provideMerge(layerHousekeeping(), rooms.layer).pipe(
    Layer.provideMerge(Layer.mergeAll(streams, dedupe, Outbox.layer, configuration, layerLeased({ isAlone }))),
    Layer.provideMerge(
      Layer.mergeAll(
        ports,
        installation,
        aiPrices === undefined ? Layer.empty : Layer.succeed(AiPrices, aiPrices),
        Layer.sync(RoomFeatures, () => rooms.table("features"))
      )
    ),
    Layer.provideMerge(Layer.provideMerge(layerMigrations, sql))
  )
}
