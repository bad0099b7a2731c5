/**
 * All internals of `kafkajs` that this program uses: its public interface has no reading by offset, no choice of
 * sequence numbers and no quiet queue. The version is pinned; `test/ports/kafkajs-internals.test.ts` fails if one of
 * these internals has changed.
 */
import { createRequire } from "node:module"
import type { Kafka } from "kafkajs"

const require = createRequire(import.meta.url)

interface RequestQueue {
  throttleCheckTimeoutId: ReturnType<typeof setTimeout> | null
  readonly pending: ReadonlyArray<unknown>
  readonly throttledUntil: number
  checkPendingRequests(): void
}

/**
 * In the released client, every answer arms a timer with a negative delay for an empty queue; newer runtimes warn about
 * that, and it costs a tenth of the CPU time. Here it is armed only while something is pending.
 */
export const calmRequestQueue = (): void => {
  const { prototype } = require("kafkajs/src/network/requestQueue/index.js") as {
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

const { createErrorFromCode } = require("kafkajs/src/protocol/error.js") as {
  readonly createErrorFromCode: (code: number) => Error & { readonly type: string }
}
/** The client's error for a code. */
export const brokerError = (code: number): Error & { readonly type: string } => createErrorFromCode(code)

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
  /** The log's start; the name is spelled like this in the client. */
  readonly lastStartOffset?: string
  readonly messages: ReadonlyArray<FetchedMessage>
}
interface TopicRequest<Partition> {
  readonly topic: string
  readonly partitions: ReadonlyArray<Partition>
}

/**
 * A request as the client's connections accept it: `encode` returns its own encoder, or an object with the same two
 * members.
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
 * The part of a broker connection that reading by offset and writing need: the public consumer reads only as a member
 * of a group, and the public producer reuses the sequence numbers of a failed batch for the next (`producer.ts`).
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
/** Connections to all brokers, with cached metadata of topics and leaders. */
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
  /** Returns any broker of a cluster without ZooKeeper. */ findControllerBroker(): Promise<BrokerConnection>
}

/** Interval at which leaders are looked up again without a failure. */
const METADATA_AGE_MAX_MS = 300_000

/** The client keeps the factory of its clusters behind a symbol; the version is pinned, and tests detect changes. */
export const makeCluster = (kafka: Kafka): Cluster => {
  const symbol = Object.getOwnPropertySymbols(kafka).find(
    ({ description }) => description === "private:Kafka:createCluster"
  )
  if (symbol === undefined) throw new Error("kafkajs is not the version this program was made for: 2.2.4.")
  const make = (
    kafka as unknown as Record<
      symbol,
      (options: { readonly metadataMaxAge: number; readonly allowAutoTopicCreation: boolean }) => Cluster
    >
  )[symbol]!
  return make({ metadataMaxAge: METADATA_AGE_MAX_MS, allowAutoTopicCreation: false })
}
