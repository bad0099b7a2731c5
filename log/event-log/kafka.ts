/**
 * The event log on Kafka. Appends go through one producer (`kafka/producer.ts`), reads by offset (`kafka/reader.ts`).
 * Records are durable when every replica in sync has them: what a power cut takes from all of them at once, `acks`
 * cannot bring back.
 */
import { Effect, Layer, Queue } from "effect"
import {
  type AppendedHint,
  type AppendRecord,
  EventLog,
  EventLogOverloaded,
  EventLogUnavailable,
  HINTS_MAX
} from "./event-log.ts"
import { makeBrokers } from "./kafka/brokers.ts"
import { type KafkaSettings, makeKafka } from "./kafka/client.ts"
import { type Compression, compressionOf } from "./kafka/codecs.ts"
import { messageOf } from "./kafka/errors.ts"
import { KafkaProducer } from "./kafka/producer.ts"
import { KafkaReader } from "./kafka/reader.ts"
import type { BatchRecord } from "./kafka/record-batch.ts"
import { ensureTopics, KafkaTopicsDiffer, MESSAGE_BYTES_MAX, type TopicSpec } from "./kafka/topics.ts"

export interface KafkaLogOptions extends Omit<KafkaSettings, "onLog"> {
  /** Every topic that is read or written; made when missing. */
  readonly topics: ReadonlyArray<TopicSpec>
  /** Put before every topic's name, for installations that share brokers. */
  readonly prefix?: string
  /** Replicas of a topic that is made here; the brokers' default otherwise. */
  readonly replication?: number
  /** zstd where the runtime has it, else gzip. */
  readonly compression?: Compression
  /** Bytes that may wait for an acknowledgement before `append` refuses. */
  readonly pendingBytesMax?: number
  /**
   * How long an append waits before its caller is told that it failed. It is sent on until it is acknowledged all the
   * same.
   */
  readonly appendWithin_ms?: number
  readonly readWithin_ms?: number
  /** How often the ends of partitions that are read here are looked at, for hints of what other processes appended. */
  readonly hintEvery_ms?: number
}

const PENDING_BYTES_MAX = 64 * 1024 * 1024
const BATCH_BYTES_MAX = 1024 * 1024
/** A broker takes 100 MB by default; this keeps one request from holding up the next for long. */
const REQUEST_BYTES_MAX = 8 * 1024 * 1024
/** Below the brokers' limit by more than a batch's own headers. */
const RECORD_BYTES_MAX = MESSAGE_BYTES_MAX - 1024 * 1024
const APPEND_WITHIN_MS = 30_000
const READ_WITHIN_MS = 30_000
const REQUEST_TIMEOUT_MS = 5_000
const HINT_EVERY_MS = 100
const OVERLOADED_RETRY_AFTER_S = 1
/** How long nothing may be acknowledged before the log calls itself unwell. */
const UNWELL_AFTER_MS = 10_000
/** Left of the ten seconds in which a program must have stopped. */
const CLOSE_WITHIN_MS = 7_000

const unavailable = (cause: unknown) => new EventLogUnavailable({ message: messageOf(cause) })

/**
 * Copied, because the bytes are kept until they are acknowledged, which may be after the caller was told of a failure.
 */
const recordFor = ({ key, value }: AppendRecord): BatchRecord => ({
  key: key === undefined ? undefined : Buffer.from(key),
  value: value.slice()
})

interface Part {
  readonly topic: string
  readonly partition: number
  readonly records: Array<BatchRecord>
  readonly indexes: Array<number>
  bytes: number
}

const make = Effect.fnUntraced(function* (options: KafkaLogOptions) {
  const services = yield* Effect.context<never>()
  const run = Effect.runSyncWith(services)
  const prefix = options.prefix ?? ""
  const kafka = makeKafka({ ...options, onLog: (line) => run(Effect.logDebug(line)) })
  const onTrouble = (message: string) => run(Effect.logWarning(`The event log: ${message}`))
  const compression = compressionOf(options.compression)
  const partitionsOf = new Map(options.topics.map(({ name, partitions }) => [name, partitions]))
  yield* Effect.tryPromise({
    try: () =>
      ensureTopics(
        kafka,
        options.topics.map((spec) => ({ ...spec, name: prefix + spec.name })),
        options.replication
      ),
    catch: (error) => (error instanceof KafkaTopicsDiffer ? error : unavailable(error))
  })

  const producer = new KafkaProducer({
    compression,
    batchBytesMax: BATCH_BYTES_MAX,
    requestBytesMax: REQUEST_BYTES_MAX,
    onTrouble,
    brokers: makeBrokers(kafka, options.requestTimeout_ms ?? REQUEST_TIMEOUT_MS, onTrouble)
  })
  yield* Effect.addFinalizer(() => Effect.promise(() => producer.close(CLOSE_WITHIN_MS)))
  const reader = yield* Effect.acquireRelease(
    Effect.sync(() => new KafkaReader({ kafka, giveUpAfter_ms: options.readWithin_ms ?? READ_WITHIN_MS, onTrouble })),
    (opened) => Effect.sync(() => opened.close())
  )

  const subscribers = new Set<Queue.Queue<AppendedHint>>()
  /** Newest known end of every partition that was written or read here. */
  const ends = new Map<string, AppendedHint>()
  const publish = (hint: AppendedHint): void => {
    const key = `${hint.topic}/${hint.partition}`
    if (hint.endOffset <= (ends.get(key)?.endOffset ?? 0)) return
    ends.set(key, hint)
    subscribers.forEach((queue) => Queue.offerUnsafe(queue, hint))
  }
  /** From now on hints tell what others append to it. */
  const watch = (topic: string, partition: number, endOffset: number): void => {
    const key = `${topic}/${partition}`
    if ((ends.get(key)?.endOffset ?? -1) < endOffset) ends.set(key, { topic, partition, endOffset })
  }
  yield* Effect.forkScoped(
    Effect.forever(
      Effect.gen(function* () {
        yield* Effect.sleep(options.hintEvery_ms ?? HINT_EVERY_MS)
        if (subscribers.size === 0 || ends.size === 0) return
        const asked = [...ends.values()].map(({ partition, topic }) => ({ topic: prefix + topic, partition }))
        // A look that fails costs a hint; readers look for themselves every second and say what is wrong.
        const found = yield* Effect.tryPromise({ try: () => reader.ends(asked), catch: unavailable }).pipe(
          Effect.catch((error) => Effect.as(Effect.logDebug("The ends of the event log could not be read", error), []))
        )
        for (const { endOffset, partition, topic } of found)
          publish({ topic: topic.slice(prefix.length), partition, endOffset })
      })
    )
  )

  let pendingBytes = 0
  const pendingBytesMax = options.pendingBytesMax ?? PENDING_BYTES_MAX
  const unknownPartition = ({ partition, topic }: { readonly topic: string; readonly partition: number }) => {
    const known = partitionsOf.get(topic)
    return known !== undefined && partition >= 0 && partition < known
      ? undefined
      : new EventLogUnavailable({ message: `the event log has no partition ${partition} of ${topic}` })
  }

  const append = (records: ReadonlyArray<AppendRecord>) =>
    Effect.callback<ReadonlyArray<number>, EventLogOverloaded | EventLogUnavailable>((resume) => {
      if (records.length === 0) return resume(Effect.succeed([]))
      const parts = new Map<string, Part>()
      let bytes = 0
      for (let i = 0; i < records.length; i++) {
        const record = records[i]!
        const wrong =
          unknownPartition(record) ??
          (record.value.length > RECORD_BYTES_MAX
            ? new EventLogUnavailable({
                message: `a record of ${record.value.length} bytes is more than the event log takes (${RECORD_BYTES_MAX})`
              })
            : undefined)
        if (wrong !== undefined) return resume(Effect.fail(wrong))
        const key = `${record.topic}/${record.partition}`
        let part = parts.get(key)
        if (part === undefined)
          parts.set(
            key,
            (part = { topic: record.topic, partition: record.partition, records: [], indexes: [], bytes: 0 })
          )
        part.records.push(recordFor(record))
        part.indexes.push(i)
        part.bytes += record.value.length
        bytes += record.value.length
      }
      if (pendingBytes > 0 && pendingBytes + bytes > pendingBytesMax) {
        return resume(
          Effect.fail(
            new EventLogOverloaded({
              message: "the event log has too much waiting to be acknowledged",
              retry_after_s: OVERLOADED_RETRY_AFTER_S
            })
          )
        )
      }
      pendingBytes += bytes
      const offsets = new Array<number>(records.length)
      let left = parts.size
      let failure: EventLogUnavailable | undefined
      for (const { bytes: partBytes, indexes, partition, records: ofPart, topic } of parts.values()) {
        producer.append({
          topic: prefix + topic,
          partition,
          records: ofPart,
          bytes: partBytes,
          done: (result) => {
            pendingBytes -= partBytes
            if ("message" in result) failure ??= new EventLogUnavailable(result)
            else {
              for (let i = 0; i < indexes.length; i++) offsets[indexes[i]!] = result.baseOffset + i
              publish({ topic, partition, endOffset: result.baseOffset + ofPart.length })
            }
            if (--left === 0) resume(failure === undefined ? Effect.succeed(offsets) : Effect.fail(failure))
          }
        })
      }
    })

  const appendWithin_ms = options.appendWithin_ms ?? APPEND_WITHIN_MS
  return EventLog.of({
    append: (records) =>
      Effect.timeoutOrElse(append(records), {
        duration: appendWithin_ms,
        orElse: () =>
          Effect.suspend(() =>
            Effect.fail(
              new EventLogUnavailable({
                message: `not acknowledged within ${appendWithin_ms / 1_000} s (${producer.trouble?.message ?? "the broker is slow"}); it may be stored yet`
              })
            )
          )
      }),
    read: (request) =>
      Effect.tryPromise({
        try: () => reader.read({ ...request, topic: prefix + request.topic }),
        catch: unavailable
      }).pipe(Effect.tap(({ nextOffset }) => Effect.sync(() => watch(request.topic, request.partition, nextOffset)))),
    bounds: (topic, partition) =>
      Effect.tryPromise({ try: () => reader.bounds(prefix + topic, partition), catch: unavailable }).pipe(
        Effect.tap(({ endOffset }) => Effect.sync(() => watch(topic, partition, endOffset)))
      ),
    offsetAt: (topic, partition, time) =>
      Effect.tryPromise({ try: () => reader.offsetAt(prefix + topic, partition, time), catch: unavailable }),
    trim: (topic, partition, before) =>
      Effect.tryPromise({ try: () => reader.trim(prefix + topic, partition, before), catch: unavailable }),
    rewrite: () => Effect.succeed(false),
    health: Effect.suspend(() => {
      const { trouble } = producer
      const silent_ms = trouble === undefined ? 0 : Date.now() - trouble.since
      return silent_ms < UNWELL_AFTER_MS
        ? Effect.void
        : Effect.fail(
            new EventLogUnavailable({
              message: `no broker has acknowledged anything for ${Math.round(silent_ms / 1_000)} s: ${trouble?.message}`
            })
          )
    }),
    subscribe: Effect.acquireRelease(
      Effect.tap(Queue.sliding<AppendedHint>(HINTS_MAX), (queue) => Effect.sync(() => subscribers.add(queue))),
      (queue) =>
        Effect.andThen(
          Effect.sync(() => subscribers.delete(queue)),
          Queue.shutdown(queue)
        )
    )
  })
})

/**
 * The log on brokers, shared by any number of processes. Building it makes and checks the topics and fails when they
 * differ from the table or no broker answers. Closing sends what waits, for at most seven seconds.
 */
export const layerKafka = (options: KafkaLogOptions): Layer.Layer<EventLog, EventLogUnavailable | KafkaTopicsDiffer> =>
  Layer.effect(EventLog, make(options))
