/**
 * The two requests of a producer on the client's connections: a new producer id, and batches for many partitions. The
 * client's own `produce` encodes messages; this one sends bytes and returns an answer for each partition, where the
 * client throws the first error of all.
 */
import type { BrokerConnection } from "./kafkajs-internals.ts"

export interface PartitionBatch {
  readonly topic: string
  readonly partition: number
  readonly bytes: Buffer
}
/** `error`: a Kafka error code, 0 if the batch is stored from `baseOffset` on. */
export interface PartitionAnswer {
  readonly topic: string
  readonly partition: number
  readonly error: number
  readonly baseOffset: number
}

const PRODUCE = 0
/** The first version with zstd; brokers 2.1 to 4.x support it. */
const VERSION = 7

const stringBytes = (text: string): number => 2 + Buffer.byteLength(text)

/** Transactional id (none), acks, time-out, then topics with their partitions. */
export const encodeProduce = (batches: ReadonlyArray<PartitionBatch>, timeout_ms: number): Buffer => {
  const topics = new Map<string, Array<PartitionBatch>>()
  for (const batch of batches) {
    const ofTopic = topics.get(batch.topic)
    if (ofTopic === undefined) topics.set(batch.topic, [batch])
    else ofTopic.push(batch)
  }
  let size = 12
  for (const [topic, ofTopic] of topics) {
    size += stringBytes(topic) + 4
    for (const { bytes } of ofTopic) size += 8 + bytes.length
  }
  const request = Buffer.allocUnsafeSlow(size)
  let at = request.writeInt16BE(-1, 0)
  at = request.writeInt16BE(-1, at)
  at = request.writeInt32BE(timeout_ms, at)
  at = request.writeInt32BE(topics.size, at)
  for (const [topic, ofTopic] of topics) {
    at = request.writeInt16BE(Buffer.byteLength(topic), at)
    at += request.write(topic, at)
    at = request.writeInt32BE(ofTopic.length, at)
    for (const { bytes, partition } of ofTopic) {
      at = request.writeInt32BE(partition, at)
      at = request.writeInt32BE(bytes.length, at)
      request.set(bytes, at)
      at += bytes.length
    }
  }
  return request
}

export const decodeProduced = (
  answer: Buffer
): { readonly answers: ReadonlyArray<PartitionAnswer>; readonly throttle_ms: number } => {
  const answers: Array<PartitionAnswer> = []
  let at = 4
  for (let topics = answer.readInt32BE(0); topics > 0; topics--) {
    const length = answer.readInt16BE(at)
    const topic = answer.toString("utf8", at + 2, at + 2 + length)
    at += 2 + length
    const partitions = answer.readInt32BE(at)
    at += 4
    // Partition, error, base offset, time of the append, start of the log.
    for (let i = 0; i < partitions; i++, at += 30) {
      answers.push({
        topic,
        partition: answer.readInt32BE(at),
        error: answer.readInt16BE(at + 4),
        baseOffset: Number(answer.readBigInt64BE(at + 6))
      })
    }
  }
  return { answers, throttle_ms: answer.readInt32BE(at) }
}

/** Sends batches to the broker that leads their partitions; rejects if the outcome of all of them is unknown. */
export const produce = async (
  broker: BrokerConnection,
  batches: ReadonlyArray<PartitionBatch>,
  timeout_ms: number
): Promise<ReadonlyArray<PartitionAnswer>> => {
  const buffer = encodeProduce(batches, timeout_ms)
  const { answers } = await broker.connectionPool.send<{ readonly answers: ReadonlyArray<PartitionAnswer> }>({
    request: {
      apiKey: PRODUCE,
      apiVersion: VERSION,
      apiName: "Produce",
      expectResponse: () => true,
      encode: async () => ({ buf: buffer, buffer })
    },
    response: {
      decode: async (bytes) => {
        const { answers: found, throttle_ms } = decodeProduced(bytes)
        return { answers: found, clientSideThrottleTime: throttle_ms }
      },
      parse: async (decoded) => decoded
    }
  })
  return answers
}
