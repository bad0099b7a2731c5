/**
 * Reads partitions by offset, without a consumer group: a consumer's offset is in Postgres next to its aggregates, so a
 * group would only add memberships that end in the middle of a batch and consumers that go silent afterwards. Every
 * request has a time-out, and after any failure the connections are dropped and reopened.
 */
import type { Kafka } from "kafkajs"
import type { LogRecord, PartitionBounds, ReadAnswer, ReadRequest } from "../event-log.ts"
import type { BrokerConnection, Cluster, FetchedPartition } from "./kafkajs-internals.ts"
import { Connections } from "./connections.ts"
import { errorTypeOf, messageOf } from "./errors.ts"
import { type AskedPartition, byTopic, Rounds } from "./rounds.ts"

interface ReaderOptions {
  readonly kafka: Kafka
  /** How long one read retries before it fails. */
  readonly giveUpAfter_ms: number
  readonly onTrouble: (message: string) => void
}

/**
 * How much is requested from a broker per fetch. What a reader does not take is kept for its next read, so this bounds
 * the memory of a partition.
 */
const FETCH_BYTES_MAX = 1024 * 1024
/** Requested even for a single record, because a broker sends complete batches. */
const FETCH_BYTES_MIN = 16 * 1024
const LATEST = -1
const EARLIEST = -2
/**
 * How long a known start of a partition is trusted: retention rarely moves it, while ends are requested all the time.
 */
const START_KNOWN_FOR_MS = 1_000
const AGAIN_AFTER_MS = 50
const AGAIN_AFTER_MAX_MS = 1_000

/** Records that were fetched but not taken yet: those from `from` up to `next`. */
interface Ahead {
  readonly from: number
  readonly records: ReadonlyArray<LogRecord>
  readonly next: number
  readonly startOffset: number
}

const keyOf = (topic: string, partition: number): string => `${topic}/${partition}`

/** Converts a fetch answer. Brokers return complete batches, so it may begin before `from`, and may have gaps. */
const aheadOf = ({ lastStartOffset, messages }: FetchedPartition, from: number): Ahead => {
  const records: Array<LogRecord> = []
  let next = from
  for (const { batchContext, isControlRecord, key, offset: text, timestamp, value } of messages) {
    const offset = Number(text)
    // Compaction may have removed the last records of a batch; their offsets are skipped.
    next = Math.max(
      next,
      offset + 1,
      batchContext === undefined ? 0 : Number(batchContext.firstOffset) + batchContext.lastOffsetDelta + 1
    )
    if (offset < from || isControlRecord) continue
    records.push({
      offset,
      appendedAt: Number(timestamp),
      key: key?.toString("utf8"),
      value: value ?? new Uint8Array(0)
    })
  }
  return { from, records, next, startOffset: Number(lastStartOffset ?? 0) }
}

/** Takes as many of the fetched records as the reader wants. */
const take = ({ records, next, startOffset }: Ahead, { bytesMax, from, recordsMax }: ReadRequest): ReadAnswer => {
  const taken: Array<LogRecord> = []
  for (let bytes = 0, i = 0; i < records.length && taken.length < recordsMax && bytes < bytesMax; i++) {
    bytes += records[i]!.value.length
    taken.push(records[i]!)
  }
  return {
    records: taken,
    startOffset,
    nextOffset: taken.length === records.length ? next : taken.length === 0 ? from : taken.at(-1)!.offset + 1
  }
}

/**
 * A fetch of records from an offset on. Brokers return complete batches, so more than `maxBytes` if the first one alone
 * is larger.
 */
interface FetchAsked extends AskedPartition {
  readonly fetchOffset: string
  readonly maxBytes: number
}
const fetchTogether = async (broker: BrokerConnection, asked: ReadonlyArray<FetchAsked>) => {
  const { responses } = await broker.fetch({
    replicaId: -1,
    isolationLevel: 0,
    maxWaitTime: 0,
    minBytes: 0,
    maxBytes: asked.reduce((sum, { maxBytes }) => sum + maxBytes, 0),
    topics: byTopic(asked)
  })
  return responses.flatMap(({ partitions, topicName }) =>
    partitions.map((answer) => ({ topic: topicName, partition: answer.partition, answer }))
  )
}

interface OffsetAsked extends AskedPartition {
  readonly timestamp: number
}
const offsetsTogether = async (broker: BrokerConnection, asked: ReadonlyArray<OffsetAsked>) => {
  const { responses } = await broker.listOffsets({ replicaId: -1, isolationLevel: 0, topics: byTopic(asked) })
  return responses.flatMap(({ partitions, topic }) =>
    partitions.map(({ offset, partition }) => ({ topic, partition, answer: offset }))
  )
}

const pause = (ms: number): Promise<void> => new Promise((settle) => setTimeout(settle, ms))

export class KafkaReader {
  readonly #options: ReaderOptions
  readonly #ahead = new Map<string, Ahead>()
  readonly #connections: Connections
  /** Starts of partitions, which every fetch also returns; one per partition. */
  readonly #starts = new Map<string, { readonly offset: number; readonly until: number }>()
  readonly #fetches = new Rounds(fetchTogether)
  readonly #offsets = new Rounds(offsetsTogether)
  #isFailing = false

  constructor(options: ReaderOptions) {
    this.#options = options
    this.#connections = new Connections(options.kafka, options.onTrouble)
  }

  async read(request: ReadRequest): Promise<ReadAnswer> {
    const { from, partition, topic } = request
    const key = keyOf(topic, partition)
    let ahead = this.#ahead.get(key)
    if (ahead === undefined || ahead.from !== from || ahead.records.length === 0)
      ahead = await this.#fetch(
        topic,
        partition,
        from,
        Math.min(FETCH_BYTES_MAX, Math.max(FETCH_BYTES_MIN, request.bytesMax))
      )
    const answer = take(ahead, request)
    if (answer.records.length === ahead.records.length) this.#ahead.delete(key)
    else
      this.#ahead.set(key, { ...ahead, from: answer.nextOffset, records: ahead.records.slice(answer.records.length) })
    return answer
  }

  async bounds(topic: string, partition: number): Promise<PartitionBounds> {
    const known = this.#starts.get(keyOf(topic, partition))
    const [startOffset, endOffset] = await this.#tried(topic, partition, (broker) =>
      Promise.all([
        known !== undefined && Date.now() < known.until ? known.offset : this.#startOf(broker, topic, partition),
        this.#offsetBy(broker, topic, partition, LATEST)
      ])
    )
    return { startOffset: Math.min(startOffset, endOffset), endOffset }
  }

  async #startOf(broker: BrokerConnection, topic: string, partition: number): Promise<number> {
    const offset = await this.#offsetBy(broker, topic, partition, EARLIEST)
    this.#learnStart(topic, partition, offset)
    return offset
  }
  #learnStart(topic: string, partition: number, offset: number): void {
    this.#starts.set(keyOf(topic, partition), { offset, until: Date.now() + START_KNOWN_FOR_MS })
  }

  /** Ends of many partitions, one request per broker. A single attempt: fails as soon as a broker does not answer. */
  async ends(
    partitions: ReadonlyArray<{ readonly topic: string; readonly partition: number }>
  ): Promise<ReadonlyArray<{ readonly topic: string; readonly partition: number; readonly endOffset: number }>> {
    const cluster = await this.#connections.connected()
    try {
      const topics = [...new Set(partitions.map(({ topic }) => topic))]
      await cluster.addMultipleTargetTopics(topics)
      const wanted = new Map<string, Map<string, Array<{ readonly partition: number; readonly timestamp: number }>>>()
      for (const topic of topics) {
        const leaders = cluster.findLeaderForPartitions(
          topic,
          partitions.filter((each) => each.topic === topic).map(({ partition }) => partition)
        )
        for (const [nodeId, led] of Object.entries(leaders)) {
          const ofNode = wanted.get(nodeId) ?? new Map()
          wanted.set(
            nodeId,
            ofNode.set(
              topic,
              led.map((partition) => ({ partition, timestamp: LATEST }))
            )
          )
        }
      }
      const answers = await Promise.all(
        [...wanted].map(async ([nodeId, byTopic]) => {
          const broker = await cluster.findBroker({ nodeId })
          return broker.listOffsets({
            replicaId: -1,
            isolationLevel: 0,
            topics: [...byTopic].map(([topic, asked]) => ({ topic, partitions: asked }))
          })
        })
      )
      return answers.flatMap(({ responses }) =>
        responses.flatMap(({ partitions: found, topic }) =>
          found.map(({ offset, partition }) => ({ topic, partition, endOffset: Number(offset) }))
        )
      )
    } catch (error) {
      this.#connections.drop(cluster)
      throw error
    }
  }

  async offsetAt(topic: string, partition: number, time: number): Promise<number> {
    return this.#tried(topic, partition, async (broker) => {
      const found = await this.#offsetBy(broker, topic, partition, Math.max(0, Math.ceil(time)))
      return found >= 0 ? found : this.#offsetBy(broker, topic, partition, LATEST)
    })
  }

  async trim(topic: string, partition: number, before: number): Promise<void> {
    await this.#tried(topic, partition, async (broker) => {
      const start = await this.#offsetBy(broker, topic, partition, EARLIEST)
      const stop = Math.min(before, await this.#offsetBy(broker, topic, partition, LATEST))
      if (stop > start)
        await broker.deleteRecords({ topics: [{ topic, partitions: [{ partition, offset: String(stop) }] }] })
    })
    this.#ahead.delete(keyOf(topic, partition))
    this.#starts.delete(keyOf(topic, partition))
  }

  async #offsetBy(broker: BrokerConnection, topic: string, partition: number, timestamp: number): Promise<number> {
    const offset = await this.#offsets.ask(broker, { topic, partition, timestamp })
    if (offset === undefined) throw new Error(`the broker answers nothing about ${topic}/${partition}`)
    return Number(offset)
  }

  #fetch(topic: string, partition: number, from: number, maxBytes: number): Promise<Ahead> {
    return this.#tried(topic, partition, async (broker) => {
      for (let at = from; ;) {
        const asked = { topic, partition, fetchOffset: String(at), maxBytes }
        let fetched: FetchedPartition | undefined
        try {
          fetched = await this.#fetches.ask(broker, asked)
          // In a request for several partitions, a broker sends a batch larger than `maxBytes` only for the first.
          if (fetched !== undefined && fetched.messages.length === 0 && Number(fetched.highWatermark) > at)
            fetched = (await fetchTogether(broker, [asked]))[0]?.answer
        } catch (error) {
          if (errorTypeOf(error) !== "OFFSET_OUT_OF_RANGE") throw error
          const startOffset = await this.#startOf(broker, topic, partition)
          // Beyond the end there is nothing, and the reader must learn where the log begins. Before the start, read
          // from the start.
          if (at >= startOffset) return { from, records: [], next: from, startOffset }
          at = startOffset
          continue
        }
        if (fetched === undefined) throw new Error(`the broker answers nothing about ${topic}/${partition}`)
        const ahead = aheadOf(fetched, at)
        if (ahead.startOffset >= 0) this.#learnStart(topic, partition, ahead.startOffset)
        // Never skipped silently: everything below the watermark is either read or reported.
        if (ahead.next === at && Number(fetched.highWatermark) > at)
          throw new Error(
            `the broker gives no record of ${topic}/${partition} from ${at} on, though it ends at ${fetched.highWatermark}`
          )
        return ahead
      }
    })
  }

  async #tried<A>(topic: string, partition: number, use: (broker: BrokerConnection) => Promise<A>): Promise<A> {
    const stopAt = Date.now() + this.#options.giveUpAfter_ms
    for (let again_ms = AGAIN_AFTER_MS; ; again_ms = Math.min(AGAIN_AFTER_MAX_MS, 2 * again_ms)) {
      let cluster: Cluster | undefined
      try {
        cluster = await this.#connections.connected()
        await cluster.addMultipleTargetTopics([topic])
        await cluster.refreshMetadataIfNecessary()
        const [nodeId] = Object.keys(cluster.findLeaderForPartitions(topic, [partition]))
        if (nodeId === undefined) throw new Error(`the brokers know no partition ${partition} of ${topic}`)
        const result = await use(await cluster.findBroker({ nodeId }))
        this.#isFailing = false
        return result
      } catch (error) {
        this.#connections.drop(cluster)
        if (!this.#isFailing)
          this.#options.onTrouble(`reading ${topic}/${partition} failed and is tried again: ${messageOf(error)}`)
        this.#isFailing = true
        if (this.#connections.isClosed || Date.now() + again_ms > stopAt) throw error
        await pause(again_ms)
      }
    }
  }

  close(): void {
    this.#connections.close()
  }
}
