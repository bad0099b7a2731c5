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

/** What the operator chooses at start, in any mode. */
export interface RuntimeOptions {
  /** Header in which a proxy names the visitor's country, lower case. */ readonly countryHeader?: string | undefined
  /** Whether requests may be sent to private and loopback addresses; false if absent. */
  readonly allowPrivateAddresses?: boolean
  /** Weights of organizations, by which they share limits per second. */ readonly weights?: Weights
  /** The operator's prices of AI operations. */ readonly aiPrices?: AiPricesTable
  /** The service's own domain: free organizations may use subdomains as origins of keys. */ readonly serviceDomain?:
    | string
    | undefined
  /** Limits of the embedded event log. */ readonly logSpace?: LogSpaceOptions
  /** Search threads of the in-process engine; 0 if absent. */ readonly searchWorkers?: number
  /** Folder of the models; by default in the program's folder, or the data folder. */ readonly modelsFolder?:
    | string
    | undefined
  /** The operator's list of embedding models. */ readonly embeddingModels?: ReadonlyArray<OperatorModel>
  /** Replaces the models of this program as the embedder. */ readonly textEmbedder?: Layer.Layer<
    TextEmbedder,
    never,
    Models
  >
  /** Replaces the installed transcriber. */ readonly transcriber?: Layer.Layer<Transcriber, never, Models>
  /** Replaces the in-process engine, which would keep its files under the path. */ readonly engine?: (
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
  /** Folder of the dedupe window's runs, exclusive to this process. */ readonly dedupePath: string
  /** The data folder, which may contain models. */ readonly dataPath: string
  /** Folder of the data of recommendations, exclusive to this process. */ readonly recommendationsPath: string
  /** Whether no other process uses this database. */ readonly isAlone: boolean
  readonly visitorPartitions: number
  readonly operatorKey: Uint8Array
  readonly operatorToken: string
}

/** The services that rooms depend on, then the rooms (`src/rooms.ts`), then what maintains all of them. */
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
