/**
 * The event log on Kafka. Appends go through one producer (`kafka/producer.ts`), reads by offset (`kafka/reader.ts`).
 * Records are durable once every in-sync replica has them; `acks` cannot protect against a power cut that hits all
 * replicas at once.
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
  /** Every topic that is read or written; created if missing. */
  readonly topics: ReadonlyArray<TopicSpec>
  /** Prefix of every topic's name, for installations that share brokers. */
  readonly prefix?: string
  /** Replicas of a topic that is created here; by default the brokers' own setting. */
  readonly replication?: number
  /** By default zstd if the runtime has it, else gzip. */
  readonly compression?: Compression
  /** Bytes that may wait for an acknowledgement before `append` refuses. */
  readonly pendingBytesMax?: number
  /** How long an append waits before its caller gets a failure. The records are sent until acknowledged in any case. */
  readonly appendWithin_ms?: number
  readonly readWithin_ms?: number
  /** Interval at which the ends of the partitions read here are polled, to hint at appends by other processes. */
  readonly hintEvery_ms?: number
}

const PENDING_BYTES_MAX = 64 * 1024 * 1024
const BATCH_BYTES_MAX = 1024 * 1024
/** A broker accepts 100 MB by default; this keeps one request from delaying the next for long. */
const REQUEST_BYTES_MAX = 8 * 1024 * 1024
/** Below the brokers' limit by more than a batch's own headers. */
const RECORD_BYTES_MAX = MESSAGE_BYTES_MAX - 1024 * 1024
const APPEND_WITHIN_MS = 30_000
const READ_WITHIN_MS = 30_000
const REQUEST_TIMEOUT_MS = 5_000
const HINT_EVERY_MS = 100
const OVERLOADED_RETRY_AFTER_S = 1
/** How long the log may receive no acknowledgement before it reports itself unhealthy. */
const UNWELL_AFTER_MS = 10_000
/** What remains of the ten seconds in which a program must have stopped. */
const CLOSE_WITHIN_MS = 7_000

const unavailable = (cause: unknown) => new EventLogUnavailable({ message: messageOf(cause) })

/** Copied, because the bytes are kept until they are acknowledged, possibly after the caller got a failure. */
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

/** The newest known ends of partitions, and their subscribers. */
class Hints {
  readonly #subscribers = new Set<Queue.Queue<AppendedHint>>()
  /** For every partition that was written or read here. */
  readonly #ends = new Map<string, AppendedHint>()

  publish(hint: AppendedHint): void {
    const key = `${hint.topic}/${hint.partition}`
    if (hint.endOffset <= (this.#ends.get(key)?.endOffset ?? 0)) return
    this.#ends.set(key, hint)
    this.#subscribers.forEach((queue) => Queue.offerUnsafe(queue, hint))
  }
  /** From now on subscribers get hints about this partition. */
  watch(topic: string, partition: number, endOffset: number): void {
    const key = `${topic}/${partition}`
    if ((this.#ends.get(key)?.endOffset ?? -1) < endOffset) this.#ends.set(key, { topic, partition, endOffset })
  }
  /** Partitions to poll: all watched ones, if there are subscribers. */
  asked(): ReadonlyArray<AppendedHint> {
    return this.#subscribers.size === 0 ? [] : [...this.#ends.values()]
  }
  readonly subscribe = Effect.acquireRelease(
    Effect.tap(Queue.sliding<AppendedHint>(HINTS_MAX), (queue) => Effect.sync(() => this.#subscribers.add(queue))),
    (queue) =>
      Effect.andThen(
        Effect.sync(() => this.#subscribers.delete(queue)),
        Queue.shutdown(queue)
      )
  )
}

/** Appends by other processes are noticed by polling the ends of the watched partitions. */
const hinting = (hints: Hints, reader: KafkaReader, prefix: string, every_ms: number): Effect.Effect<never> =>
  Effect.forever(
    Effect.gen(function* () {
      yield* Effect.sleep(every_ms)
      const asked = hints.asked().map(({ partition, topic }) => ({ topic: prefix + topic, partition }))
      if (asked.length === 0) return
      // A failed poll only costs a hint; readers poll by themselves every second and report what is wrong.
      const found = yield* Effect.tryPromise({ try: () => reader.ends(asked), catch: unavailable }).pipe(
        Effect.catch((error) => Effect.as(Effect.logDebug("The ends of the event log could not be read", error), []))
      )
      for (const { endOffset, partition, topic } of found)
        hints.publish({ topic: topic.slice(prefix.length), partition, endOffset })
    })
  )

/** Records by partition, in the order of the append; if one is refused, all are. */
const partsOf = (
  records: ReadonlyArray<AppendRecord>,
  partitions: ReadonlyMap<string, number>
): { readonly parts: ReadonlyArray<Part>; readonly bytes: number } | EventLogUnavailable => {
  const parts = new Map<string, Part>()
  let bytes = 0
  for (let i = 0; i < records.length; i++) {
    const record = records[i]!
    const { partition, topic, value } = record
    const known = partitions.get(topic)
    if (known === undefined || partition < 0 || partition >= known)
      return new EventLogUnavailable({ message: `the event log has no partition ${partition} of ${topic}` })
    if (value.length > RECORD_BYTES_MAX)
      return new EventLogUnavailable({
        message: `a record of ${value.length} bytes is larger than the event log accepts (${RECORD_BYTES_MAX})`
      })
    const key = `${topic}/${partition}`
    let part = parts.get(key)
    if (part === undefined) parts.set(key, (part = { topic, partition, records: [], indexes: [], bytes: 0 }))
    part.records.push(recordFor(record))
    part.indexes.push(i)
    part.bytes += value.length
    bytes += value.length
  }
  return { parts: [...parts.values()], bytes }
}

type Appended = Effect.Effect<ReadonlyArray<number>, EventLogOverloaded | EventLogUnavailable>

/** Appends through the producer, with a bound on the bytes that wait for an acknowledgement. */
class Appends {
  readonly #producer: KafkaProducer
  readonly #hints: Hints
  readonly #prefix: string
  readonly #partitions: ReadonlyMap<string, number>
  readonly #pendingBytesMax: number
  #pendingBytes = 0

  constructor(producer: KafkaProducer, hints: Hints, options: KafkaLogOptions) {
    this.#producer = producer
    this.#hints = hints
    this.#prefix = options.prefix ?? ""
    this.#partitions = new Map(options.topics.map(({ name, partitions }) => [name, partitions]))
    this.#pendingBytesMax = options.pendingBytesMax ?? PENDING_BYTES_MAX
  }

  /** Completes when every record is acknowledged, or the last one has failed. */
  readonly append = (records: ReadonlyArray<AppendRecord>): Appended =>
    Effect.callback((resume) => {
      if (records.length === 0) return resume(Effect.succeed([]))
      const sorted = partsOf(records, this.#partitions)
      if (sorted instanceof EventLogUnavailable) return resume(Effect.fail(sorted))
      const { bytes, parts } = sorted
      if (this.#pendingBytes > 0 && this.#pendingBytes + bytes > this.#pendingBytesMax)
        return resume(
          Effect.fail(
            new EventLogOverloaded({
              message: "the event log has too much waiting to be acknowledged",
              retry_after_s: OVERLOADED_RETRY_AFTER_S
            })
          )
        )
      this.#pendingBytes += bytes
      this.#send(parts, records.length, resume)
    })

  #send(parts: ReadonlyArray<Part>, count: number, resume: (appended: Appended) => void): void {
    const offsets = new Array<number>(count)
    let left = parts.length
    let failure: EventLogUnavailable | undefined
    for (const { bytes, indexes, partition, records, topic } of parts)
      this.#producer.append({
        topic: this.#prefix + topic,
        partition,
        records,
        bytes,
        done: (result) => {
          this.#pendingBytes -= bytes
          if ("message" in result) failure ??= new EventLogUnavailable(result)
          else {
            for (let i = 0; i < indexes.length; i++) offsets[indexes[i]!] = result.baseOffset + i
            this.#hints.publish({ topic, partition, endOffset: result.baseOffset + records.length })
          }
          if (--left === 0) resume(failure === undefined ? Effect.succeed(offsets) : Effect.fail(failure))
        }
      })
  }
}

/** Fails if no broker has acknowledged anything for a long time. */
const healthOf = (producer: KafkaProducer) =>
  Effect.suspend(() => {
    const { trouble } = producer
    const silent_ms = trouble === undefined ? 0 : Date.now() - trouble.since
    return silent_ms < UNWELL_AFTER_MS
      ? Effect.void
      : Effect.fail(
          new EventLogUnavailable({
            message: `no broker has acknowledged anything for ${Math.round(silent_ms / 1_000)} s: ${trouble?.message}`
          })
        )
  })

/** The producer and the reader, closed with the scope; the topics exist once the layer is built. */
const connect = Effect.fnUntraced(function* (options: KafkaLogOptions) {
  const run = Effect.runSyncWith(yield* Effect.context<never>())
  const prefix = options.prefix ?? ""
  const kafka = makeKafka({ ...options, onLog: (line) => run(Effect.logDebug(line)) })
  const onTrouble = (message: string) => run(Effect.logWarning(`The event log: ${message}`))
  const compression = compressionOf(options.compression)
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
  return { producer, reader }
})

const make = Effect.fnUntraced(function* (options: KafkaLogOptions) {
  const { producer, reader } = yield* connect(options)
  const prefix = options.prefix ?? ""
  const hints = new Hints()
  yield* Effect.forkScoped(hinting(hints, reader, prefix, options.hintEvery_ms ?? HINT_EVERY_MS))
  const appends = new Appends(producer, hints, options)
  const appendWithin_ms = options.appendWithin_ms ?? APPEND_WITHIN_MS
  return EventLog.of({
    append: (records) =>
      Effect.timeoutOrElse(appends.append(records), {
        duration: appendWithin_ms,
        orElse: () =>
          Effect.suspend(() =>
            Effect.fail(
              new EventLogUnavailable({
                message: `not acknowledged within ${appendWithin_ms / 1_000} s (${producer.trouble?.message ?? "the broker is slow"}); it may still be stored`
              })
            )
          )
      }),
    read: (request) =>
      Effect.tryPromise({
        try: () => reader.read({ ...request, topic: prefix + request.topic }),
        catch: unavailable
      }).pipe(
        Effect.tap(({ nextOffset }) => Effect.sync(() => hints.watch(request.topic, request.partition, nextOffset)))
      ),
    bounds: (topic, partition) =>
      Effect.tryPromise({ try: () => reader.bounds(prefix + topic, partition), catch: unavailable }).pipe(
        Effect.tap(({ endOffset }) => Effect.sync(() => hints.watch(topic, partition, endOffset)))
      ),
    offsetAt: (topic, partition, time) =>
      Effect.tryPromise({ try: () => reader.offsetAt(prefix + topic, partition, time), catch: unavailable }),
    trim: (topic, partition, before) =>
      Effect.tryPromise({ try: () => reader.trim(prefix + topic, partition, before), catch: unavailable }),
    rewrite: () => Effect.succeed(false),
    health: healthOf(producer),
    subscribe: hints.subscribe
  })
})

/**
 * The log on brokers, shared by any number of processes. Building it creates and checks the topics, and fails if they
 * differ from the table or no broker answers. Closing sends what waits, for at most seven seconds.
 */
export const layerKafka = (options: KafkaLogOptions): Layer.Layer<EventLog, EventLogUnavailable | KafkaTopicsDiffer> =>
  Layer.effect(EventLog, make(options))
