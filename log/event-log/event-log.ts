/**
 * The durable log under every stream: topics are divided into partitions, and records are numbered by offset within a
 * partition. The port only stores and returns records; a consumer's offset is stored in Postgres, next to its
 * aggregates. Adapters: `layerMemory` here, LMDB in `lmdb.ts`, Kafka in `kafka.ts`.
 */
import { Clock, Context, Effect, Layer, Queue, Schema, Scope } from "effect"

/**
 * One record to append. `key` is for compaction and external brokers; the caller chooses the partition, not the key.
 */
export interface AppendRecord {
  readonly topic: string
  readonly partition: number
  readonly key?: string
  readonly value: Uint8Array
}

/**
 * One stored record. `appendedAt` (ms) is the log's own clock at the append; it decreases only if that clock is set
 * back.
 */
export interface LogRecord {
  readonly offset: number
  readonly appendedAt: number
  readonly key: string | undefined
  readonly value: Uint8Array
}

export interface ReadRequest {
  readonly topic: string
  readonly partition: number
  /** First offset to read. If retention has removed it, the answer starts at `startOffset`. */
  readonly from: number
  readonly recordsMax: number
  /** Reading stops after the record that reaches this limit, so one oversized record is still returned. */
  readonly bytesMax: number
}

export interface ReadAnswer {
  readonly records: ReadonlyArray<LogRecord>
  /** Offset of the next read. Not always the last offset plus one, because a broker may leave gaps. */
  readonly nextOffset: number
  /** Oldest offset that is still kept. */
  readonly startOffset: number
}

export interface PartitionBounds {
  /** Updated up to a second late on brokers, where retention moves it. */
  readonly startOffset: number
  /** One past the newest durable record. */
  readonly endOffset: number
}

/** New durable records exist up to `endOffset`. Only a hint: it may be dropped or merged; the log is authoritative. */
export interface AppendedHint {
  readonly topic: string
  readonly partition: number
  readonly endOffset: number
}

/** The log stored nothing of this append and will accept nothing for some time; the same batch may be sent again. */
export class EventLogOverloaded extends Schema.TaggedError<EventLogOverloaded>()("EventLogOverloaded", {
  message: Schema.String,
  retry_after_s: Schema.Number
}) {}

/** The log failed. Records of the failed append may or may not be stored; send the same batch again. */
export class EventLogUnavailable extends Schema.TaggedError<EventLogUnavailable>()("EventLogUnavailable", {
  message: Schema.String
}) {}

export interface RewrittenRecord {
  readonly offset: number
  readonly value: Uint8Array
}

export interface EventLogShape {
  /**
   * Stores the batch and returns the offset of each record, in order, once all are durable. Appends that wait at the
   * same time share one commit. Fails immediately if more is pending than the adapter allows.
   */
  readonly append: (
    records: ReadonlyArray<AppendRecord>
  ) => Effect.Effect<ReadonlyArray<number>, EventLogOverloaded | EventLogUnavailable>
  /**
   * Durable records from an offset on, bounded by count and bytes; empty at the end. The caller owns the returned
   * bytes.
   */
  readonly read: (request: ReadRequest) => Effect.Effect<ReadAnswer, EventLogUnavailable>
  readonly bounds: (topic: string, partition: number) => Effect.Effect<PartitionBounds, EventLogUnavailable>
  /** First offset whose record was appended at or after `time` (ms); the end offset if there is none. */
  readonly offsetAt: (topic: string, partition: number, time: number) => Effect.Effect<number, EventLogUnavailable>
  /** Drops the records below `before` and frees their space, even while readers are open. Idempotent. */
  readonly trim: (topic: string, partition: number, before: number) => Effect.Effect<void, EventLogUnavailable>
  /**
   * Replaces the values of stored records in place; keys and times stay, and what retention has removed stays removed.
   * Durable when it returns. Returns false and changes nothing if the log cannot do this: brokers keep what they have
   * until it expires.
   */
  readonly rewrite: (
    topic: string,
    partition: number,
    values: ReadonlyArray<RewrittenRecord>
  ) => Effect.Effect<boolean, EventLogUnavailable>
  /**
   * Fails while nothing can be stored: permanently after a failed sync, or until the brokers are back. Only reads known
   * state.
   */
  readonly health: Effect.Effect<void, EventLogUnavailable>
  /** Hints for all partitions from now on; a slow subscriber gets only the newest. Ends with the scope. */
  readonly subscribe: Effect.Effect<Queue.Dequeue<AppendedHint>, never, Scope.Scope>
}

/** How many undelivered hints a subscriber queues; older ones are dropped, since a later hint supersedes them. */
export const HINTS_MAX = 256

export class EventLog extends Context.Service<EventLog, EventLogShape>()("dowser/ports/EventLog") {
  /** Records in arrays, for tests. Durable means "in the array"; otherwise the same rules apply. */
  static readonly layerMemory: Layer.Layer<EventLog> = Layer.effect(
    EventLog,
    Effect.suspend(() => makeMemory)
  )
}

interface MemoryPartition {
  startOffset: number
  readonly records: Array<LogRecord>
}

const makeMemory: Effect.Effect<EventLogShape> = Effect.sync(() => {
  const partitions = new Map<string, MemoryPartition>()
  const subscribers = new Set<Queue.Queue<AppendedHint>>()
  const partitionOf = (topic: string, partition: number): MemoryPartition => {
    const key = `${topic}/${partition}`
    let found = partitions.get(key)
    if (found === undefined) partitions.set(key, (found = { startOffset: 0, records: [] }))
    return found
  }
  const endOf = (p: MemoryPartition) => p.startOffset + p.records.length
  return EventLog.of({
    append: (records) =>
      Effect.map(Clock.currentTimeMillis, (appendedAt) =>
        records.map((record) => {
          const partition = partitionOf(record.topic, record.partition)
          const offset = endOf(partition)
          partition.records.push({ offset, appendedAt, key: record.key, value: record.value.slice() })
          for (const queue of subscribers) {
            Queue.offerUnsafe(queue, { topic: record.topic, partition: record.partition, endOffset: offset + 1 })
          }
          return offset
        })
      ),
    read: ({ topic, partition, from, recordsMax, bytesMax }) =>
      Effect.sync(() => {
        const p = partitionOf(topic, partition)
        const records: Array<LogRecord> = []
        let next = Math.max(from, p.startOffset)
        for (let bytes = 0; next < endOf(p) && records.length < recordsMax && bytes < bytesMax; next++) {
          const record = p.records[next - p.startOffset]!
          bytes += record.value.length
          records.push({ ...record, value: record.value.slice() })
        }
        return { records, nextOffset: next, startOffset: p.startOffset }
      }),
    bounds: (topic, partition) =>
      Effect.sync(() => {
        const p = partitionOf(topic, partition)
        return { startOffset: p.startOffset, endOffset: endOf(p) }
      }),
    offsetAt: (topic, partition, time) =>
      Effect.sync(() => {
        const p = partitionOf(topic, partition)
        const index = p.records.findIndex((record) => record.appendedAt >= time)
        return index < 0 ? endOf(p) : p.startOffset + index
      }),
    trim: (topic, partition, before) =>
      Effect.sync(() => {
        const p = partitionOf(topic, partition)
        const dropped = Math.min(Math.max(0, before - p.startOffset), p.records.length)
        p.records.splice(0, dropped)
        p.startOffset += dropped
      }),
    rewrite: (topic, partition, values) =>
      Effect.sync(() => {
        const p = partitionOf(topic, partition)
        for (const { offset, value } of values) {
          const record = p.records[offset - p.startOffset]
          if (record !== undefined) p.records[offset - p.startOffset] = { ...record, value: value.slice() }
        }
        return true
      }),
    health: Effect.void,
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
