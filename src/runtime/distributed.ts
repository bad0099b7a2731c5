/**
 * One of several processes: Postgres and Kafka are servers found by their addresses. API processes accept and answer;
 * processors run in `dowser streams`, so that no search shares a thread with them. One process owns the embedded engine
 * and the others use it, or all of them use a search cluster or another server.
 */
import { PgClient } from "@effect/sql-pg"
import { createHmac } from "node:crypto"
import { readFileSync } from "node:fs"
import { Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { join } from "node:path"
import { readFingerprintKey } from "@dowser/log/fingerprint-key"
import { layerObserved } from "@dowser/streams/host/observer"
import { LeaseStore } from "@dowser/streams/ownership/lease-store"
import { layerOffsetStore } from "@dowser/streams/offsets/postgres"
import { type OwnershipOptions, runOwned } from "@dowser/streams/ownership/ownership"
import { makeReplayRequests } from "@dowser/streams/shadow/replay-requests"
import { makeReplays } from "@dowser/streams/replays/coordinator"
import { makeProcessors, REPLAYED } from "@dowser/streams/processors/runnable"
import { openStateStore } from "@dowser/streams/state/lmdb"
import { topicSpecs } from "@dowser/log/topics"
import type { Progress } from "@dowser/streams/runner/runner"
import { weightIn, type Weights } from "@dowser/streams/runner/weights"
import type { DistributedConfig, ServerConfig } from "../config.ts"
import { layerPostgres } from "../configuration/configuration-postgres.ts"
import { layer as layerMigrations } from "../migrations/index.ts"
import { logMeasures } from "../metrics/log-measures.ts"
import { type AdminPort, layerMetrics } from "../metrics/server.ts"
import { streamMeasures } from "../metrics/stream-measures.ts"
import { Engine, EngineAbsence, OwnsEngine } from "../ports/engine/engine.ts"
import type { EventLog } from "@dowser/log/event-log/event-log"
import { layerPostgresFeeds } from "../ports/feed-store/postgres.ts"
import { layerKafka } from "@dowser/log/event-log/kafka"
import { layerMeasured, MeasuredLog } from "@dowser/log/event-log/measured"
import { kafkaSecurityOf } from "@dowser/log/event-log/kafka/security"
import { assemble, type RuntimeOptions } from "./assemble.ts"
import { layerBlobs } from "./blob-store.ts"
import { type DataFolder, StartRefused } from "./data-folder.ts"
import { layerEngine } from "./embedded.ts"
import { engineAbsence, noEngine } from "./no-engine.ts"
import { layerOpensearch } from "./opensearch.ts"
import { addressIn, layerRemote, layerShared } from "./remote-engine.ts"
import { layerTypesense } from "./typesense.ts"

/** Two of them listen: for webhooks, and for units that are recalled. */
const API_CONNECTIONS_MAX = 8
/** Connections of each process that caches configuration: one to listen, one to renew its lease, one to read. */
const CONFIGURATION_CONNECTIONS = 3
/**
 * In addition to one per partition, all of which may be blocked while a replay exchanges a day: for leases, replays
 * and pollers.
 */
const STREAM_CONNECTIONS_SPARE = 4

/** An unusable server is reported to the operator as one sentence, not as a defect. */
const refusing =
  (sentence: (error: { readonly message: string }) => string) =>
  <A, E extends { readonly message: string }, R>(layer: Layer.Layer<A, E, R>): Layer.Layer<A, StartRefused, R> =>
    Layer.catch(layer, (error) => Layer.unwrap(Effect.fail(new StartRefused(sentence(error)))))

const layerDatabase = (
  databaseUrl: string,
  applicationName: string,
  maxConnections: number
): Layer.Layer<SqlClient.SqlClient | PgClient.PgClient, StartRefused> =>
  /^postgres(ql)?:\/\//.test(databaseUrl)
    ? PgClient.layer({ url: Redacted.make(databaseUrl), applicationName, maxConnections }).pipe(
        refusing(({ message }) => `The database at DATABASE_URL cannot be used: ${message}.`)
      )
    : Layer.unwrap(
        Effect.fail(
          new StartRefused("DATABASE_URL must name a Postgres database: postgres://user:password@host:port/database.")
        )
      )

const layerBrokers = (
  { brokers, compression, replication, topicPrefix, visitorPartitions }: DistributedConfig,
  clientId: string
): Layer.Layer<EventLog, StartRefused> => {
  const addresses = brokers
    .split(",")
    .map((address) => address.trim())
    .filter((address) => address !== "")
  const security = kafkaSecurityOf(process.env, (path) => readFileSync(path, "utf8"))
  if (typeof security === "string") return Layer.unwrap(Effect.fail(new StartRefused(security)))
  return addresses.length === 0
    ? Layer.unwrap(Effect.fail(new StartRefused("KAFKA_BROKERS must name brokers: host:port, separated by commas.")))
    : layerKafka({
        security,
        brokers: addresses,
        clientId,
        prefix: topicPrefix,
        compression,
        replication,
        topics: topicSpecs(visitorPartitions)
      }).pipe(refusing(({ message }) => `The brokers at KAFKA_BROKERS (${brokers}) cannot be used: ${message}`))
}

/**
 * Every process must seal with the same key, or one could not open what another stored. The first leaves a mark of its
 * key in the database, from which the key does not follow.
 */
const checkOperatorKey = (operatorKey: Uint8Array) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const mark = createHmac("sha256", operatorKey).update("dowser operator key").digest()
    yield* Effect.orDie(
      sql`INSERT INTO stream_settings (name, value) VALUES ('operator_key_mark', decode(${mark.toString("hex")}, 'hex')) ON CONFLICT DO NOTHING`
    )
    const [row] = yield* Effect.orDie(
      sql<{ value: string }>`SELECT encode(value, 'hex') AS value FROM stream_settings WHERE name = 'operator_key_mark'`
    )
    if (row?.value !== mark.toString("hex"))
      return yield* Effect.fail(
        new StartRefused(
          "This installation is sealed with another operator's key; give its content as DOWSER_OPERATOR_KEY (it is in the first process's data folder, operator.key)."
        )
      )
  })

/**
 * True for one process of an installation, once: that one creates the first organization. If it dies before that, the
 * operator creates one (`dowser org create`).
 */
export const claimFirstOrganization = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  return (
    (yield* sql`INSERT INTO stream_settings (name, value) VALUES ('first_organization', '') ON CONFLICT DO NOTHING RETURNING name`)
      .length > 0
  )
}).pipe(Effect.orDie)

/**
 * For processes that keep configuration in memory. Stream processes keep none: a lease of theirs would only delay
 * writes.
 */
const layerConfiguration = (config: DistributedConfig) =>
  layerPostgres(layerDatabase(config.databaseUrl, "dowser-configuration", CONFIGURATION_CONNECTIONS))

type EnginePlace = Pick<ServerConfig, "engine" | "engineAddress" | "engineHost" | "enginePort">
const layerChosen = (
  { operatorKey, path }: DataFolder,
  { engine, engineAddress, engineHost, enginePort }: EnginePlace,
  options: RuntimeOptions
): Layer.Layer<Engine, StartRefused> => {
  switch (engine) {
    case "none":
      return Layer.mergeAll(
        Layer.succeed(Engine, noEngine),
        Layer.succeed(EngineAbsence, () => engineAbsence),
        Layer.succeed(OwnsEngine, false)
      )
    case "remote":
      return layerRemote(addressIn(engineAddress)!, operatorKey)
    case "opensearch":
      return layerOpensearch(process.env)
    case "http":
      return layerTypesense(process.env)
    case "embedded": {
      const own = (options.engine ?? layerEngine)(join(path, "engine"), options.searchWorkers ?? 0)
      return enginePort === 0
        ? own
        : Layer.provideMerge(layerShared({ host: engineHost, port: enginePort }, operatorKey), own)
    }
  }
}

export const layerDistributed = (
  folder: DataFolder,
  config: DistributedConfig,
  place: EnginePlace,
  options: RuntimeOptions = {}
) => {
  const { visitorPartitions } = config
  const chosen = layerChosen(folder, place, options)
  const sql = layerDatabase(config.databaseUrl, "dowser", API_CONNECTIONS_MAX)
  const ports = Layer.mergeAll(
    chosen,
    layerBrokers(config, "dowser-api"),
    layerPostgresFeeds,
    layerBlobs(process.env, join(folder.path, "media")),
    Layer.effectDiscard(checkOperatorKey(folder.operatorKey))
  )
  return assemble({
    sql,
    ports,
    streams: layerObserved({ visitorPartitions }),
    configuration: layerConfiguration(config),
    options,
    dataPath: folder.path,
    dedupePath: join(folder.path, "dedupe"),
    recommendationsPath: join(folder.path, "recommendations"),
    isAlone: false,
    visitorPartitions,
    operatorKey: folder.operatorKey,
    operatorToken: folder.operatorToken
  })
}

/** What `/metrics` of a stream process shows beside the process itself; partitions that left are not in it. */
const makeStreamProgress = () => {
  const progress = new Map<string, Progress>()
  return {
    measures: Effect.map(MeasuredLog, (figures) => [
      ...streamMeasures(Effect.sync(() => [...progress.values()])),
      ...logMeasures(figures)
    ]),
    report: (reported: Progress): void => {
      progress.set(`${reported.group}/${reported.partition}`, reported)
    },
    left: ({ group, partition }: Pick<Progress, "group" | "partition">): void => {
      progress.delete(`${group}/${partition}`)
    }
  }
}

interface StreamsProcess extends Pick<OwnershipOptions, "member" | "lease_ms"> {
  readonly weights?: Weights
  readonly config: DistributedConfig
  /** Names of processors to run; all when empty. */
  readonly names: ReadonlyArray<string>
  /** Folder for the snapshots of keyed state, this process's own. */
  readonly statePath: string
  /** Runs once all servers have answered, just before this process takes partitions. */
  readonly ready: Effect.Effect<void>
  /** Where `/metrics` listens; not served if absent. */ readonly admin?: AdminPort | undefined
}

/**
 * Processors alone, until interrupted. Fails with `StartRefused` when a server does not answer or a name is unknown.
 */
export const runStreamsProcess = ({ admin, config, names, ready, statePath, weights, ...options }: StreamsProcess) =>
  Effect.gen(function* () {
    const { visitorPartitions } = config
    const fingerprintKey = yield* Effect.orDie(readFingerprintKey)
    const all = [...makeProcessors(fingerprintKey), makeReplays({ fingerprintKey, visitorPartitions, ...REPLAYED })]
    const unknown = names.find((name) => !all.some((processor) => processor.name === name))
    if (unknown !== undefined)
      return yield* Effect.fail(
        new StartRefused(`There is no processor ${unknown}; there are: ${all.map(({ name }) => name).join(", ")}.`)
      )
    const { left, measures, report } = makeStreamProgress()
    if (admin !== undefined) yield* Layer.build(layerMetrics(admin, measures))
    yield* ready
    return yield* runOwned({
      ...options,
      left,
      report,
      visitorPartitions,
      runner: { weightOf: weightIn(weights) },
      processors: names.length === 0 ? all : all.filter(({ name }) => names.includes(name)),
      openStore: ({ group, partition }) => openStateStore(join(statePath, `${group}-${partition}`)),
      replays: {
        requests: yield* makeReplayRequests(),
        sql: yield* SqlClient.SqlClient,
        openShadowStore: ({ group, partition }) => openStateStore(join(statePath, `shadow-${group}-${partition}`))
      }
    })
  }).pipe(
    Effect.scoped,
    Effect.provide(
      Layer.provideMerge(
        Layer.provideMerge(layerMeasured, layerBrokers(config, "dowser-streams")),
        Layer.provideMerge(
          Layer.mergeAll(layerMigrations, layerOffsetStore, LeaseStore.layerPostgres),
          layerDatabase(config.databaseUrl, "dowser-streams", config.visitorPartitions + STREAM_CONNECTIONS_SPARE)
        )
      )
    )
  )
