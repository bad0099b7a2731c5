/**
 * `kafkajs` as we use it: its client with our time-outs, codecs and log, and the internals that its public interface
 * does not expose. The rules built on it are explained in `producer.ts` (writing) and `reader.ts` (reading).
 */
import { createRequire } from "node:module"
// Through the default export: Node does not find the names in this CommonJS module, Deno does.
import kafkajs, { type ISocketFactory, type Kafka, type LogEntry } from "kafkajs"
import { registerCodecs } from "./codecs.ts"
import type { KafkaSecurity } from "./security.ts"

export interface KafkaSettings {
  /** `host:port` of brokers to begin with. */
  readonly brokers: ReadonlyArray<string>
  readonly clientId: string
  /** How long a broker may take to answer one request before it is sent again. */
  readonly requestTimeout_ms?: number
  /** Receives what `kafkajs` logs. Most of it is one line per retry, which the callers report once and better. */
  readonly onLog?: (line: string) => void
  /** TLS and credentials; plain connections when absent. */
  readonly security?: KafkaSecurity
  /** How a connection is made; tests insert a wire that drops answers. */
  readonly socketFactory?: ISocketFactory
}

const REQUEST_TIMEOUT_MS = 5_000
const CONNECT_TIMEOUT_MS = 3_000

/** The callers retry themselves and know until when; here, only brief network glitches are retried. */
const retry = { initialRetryTime: 100, maxRetryTime: 1_000, retries: 3 }

interface RequestQueue {
  throttleCheckTimeoutId: ReturnType<typeof setTimeout> | null
  readonly pending: ReadonlyArray<unknown>
  readonly throttledUntil: number
  checkPendingRequests(): void
}

/**
 * In the released client, every answer arms a timer of negative length for an empty queue; newer runtimes warn about
 * that, and it costs a tenth of the processor time. Here it is armed only while something is pending.
 */
const calmRequestQueue = (): void => {
  const { prototype } = createRequire(import.meta.url)("kafkajs/src/network/requestQueue/index.js") as {
    readonly prototype: RequestQueue & { scheduleCheckPendingRequests(): void }
  }
  prototype.scheduleCheckPendingRequests = function (this: RequestQueue): void {
    if (this.throttleCheckTimeoutId !== null || this.pending.length === 0) return
    this.throttleCheckTimeoutId = setTimeout(
      () => {
        this.throttleCheckTimeoutId = null
        this.checkPendingRequests()
      },
      Math.max(10, this.throttledUntil - Date.now())
    )
  }
}

let isPrepared = false

export const makeKafka = (settings: KafkaSettings): Kafka => {
  if (!isPrepared) {
    registerCodecs()
    calmRequestQueue()
    isPrepared = true
  }
  const { brokers, clientId, onLog, requestTimeout_ms, security, socketFactory } = settings
  return new kafkajs.Kafka({
    brokers: [...brokers],
    clientId,
    connectionTimeout: CONNECT_TIMEOUT_MS,
    requestTimeout: requestTimeout_ms ?? REQUEST_TIMEOUT_MS,
    retry,
    logCreator:
      () =>
      ({ label, log, namespace }: LogEntry) =>
        onLog?.(
          `kafkajs ${label} ${namespace}: ${log.message}${typeof log.error === "string" ? ` (${log.error})` : ""}`
        ),
    ...(security?.ssl === undefined ? {} : { ssl: security.ssl }),
    ...(security?.sasl === undefined ? {} : { sasl: security.sasl }),
    ...(socketFactory === undefined ? {} : { socketFactory })
  })
}

/** One record of a fetch answer. Offsets and times are decimal text. */
interface FetchedMessage {
  readonly offset: string
  readonly timestamp: string
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly isControlRecord: boolean
  readonly batchContext?: { readonly firstOffset: string; readonly lastOffsetDelta: number }
}
export interface FetchedPartition {
  readonly partition: number
  readonly highWatermark: string
  /** The log's start; so spelled in there. */
  readonly lastStartOffset?: string
  readonly messages: ReadonlyArray<FetchedMessage>
}
interface TopicRequest<Partition> {
  readonly topic: string
  readonly partitions: ReadonlyArray<Partition>
}

/**
 * A request as the client's connections take it: `encode` answers its own encoder, or what has the same two properties.
 */
interface ProtocolRequest<Answer> {
  readonly request: {
    readonly apiKey: number
    readonly apiVersion: number
    readonly apiName: string
    readonly expectResponse: () => boolean
    readonly encode: () => Promise<{ readonly buf: Buffer; readonly buffer: Buffer }>
  }
  readonly response: {
    readonly decode: (answer: Buffer) => Promise<Answer & { readonly clientSideThrottleTime: number }>
    readonly parse: (decoded: Answer & { readonly clientSideThrottleTime: number }) => Promise<Answer>
  }
}

/**
 * The part of a broker connection that reading by offset and writing need: the public consumer only reads as a member
 * of a group, and the public producer gives numbers of a failed batch to the next (`producer.ts`).
 */
export interface BrokerConnection {
  readonly connectionPool: { send<Answer>(request: ProtocolRequest<Answer>): Promise<Answer> }
  initProducerId(request: {
    readonly transactionalId: null
    readonly transactionTimeout: number
  }): Promise<{ readonly producerId: string; readonly producerEpoch: number }>
  fetch(request: {
    readonly replicaId: -1
    readonly isolationLevel: 0
    readonly maxWaitTime: number
    readonly minBytes: number
    readonly maxBytes: number
    readonly topics: ReadonlyArray<
      TopicRequest<{ readonly partition: number; readonly fetchOffset: string; readonly maxBytes: number }>
    >
  }): Promise<{
    readonly responses: ReadonlyArray<{
      readonly topicName: string
      readonly partitions: ReadonlyArray<FetchedPartition>
    }>
  }>
  listOffsets(request: {
    readonly replicaId: -1
    readonly isolationLevel: 0
    readonly topics: ReadonlyArray<TopicRequest<{ readonly partition: number; readonly timestamp: number | string }>>
  }): Promise<{
    readonly responses: ReadonlyArray<{
      readonly topic: string
      readonly partitions: ReadonlyArray<{ readonly partition: number; readonly offset: string }>
    }>
  }>
  deleteRecords(request: {
    readonly topics: ReadonlyArray<TopicRequest<{ readonly partition: number; readonly offset: string }>>
  }): Promise<unknown>
}
/** Connections to all brokers, with what is known of topics and leaders. */
export interface Cluster {
  connect(): Promise<void>
  disconnect(): Promise<void>
  addMultipleTargetTopics(topics: ReadonlyArray<string>): Promise<void>
  refreshMetadata(): Promise<void>
  refreshMetadataIfNecessary(): Promise<void>
  findLeaderForPartitions(
    topic: string,
    partitions: ReadonlyArray<number>
  ): Readonly<Record<string, ReadonlyArray<number>>>
  findBroker(broker: { readonly nodeId: string }): Promise<BrokerConnection>
  /** Any broker of a cluster without ZooKeeper. */ findControllerBroker(): Promise<BrokerConnection>
}

/** How often leaders are looked up again without any failure. */
const METADATA_AGE_MAX_MS = 300_000

/** The client keeps the maker of its clusters behind a symbol; the version is pinned, and the suite would notice. */
export const makeCluster = (kafka: Kafka): Cluster => {
  const symbol = Object.getOwnPropertySymbols(kafka).find(
    ({ description }) => description === "private:Kafka:createCluster"
  )
  if (symbol === undefined) throw new Error("kafkajs is not the version that this program was written for: 2.2.4.")
  const make = (
    kafka as unknown as Record<
      symbol,
      (options: { readonly metadataMaxAge: number; readonly allowAutoTopicCreation: boolean }) => Cluster
    >
  )[symbol]!
  return make({ metadataMaxAge: METADATA_AGE_MAX_MS, allowAutoTopicCreation: false })
}
