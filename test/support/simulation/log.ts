/**
 * The event log shared by several processes: numbered records with gaps, answers that are lost or arrive twice, short
 * reads, lost hints, retention.
 */
import { Effect, Exit, Queue } from "effect"
import {
  type AppendedHint,
  type AppendRecord,
  EventLog,
  EventLogOverloaded,
  type EventLogShape,
  EventLogUnavailable,
  HINTS_MAX,
  type LogRecord
} from "../../../log/event-log/event-log.ts"
import { serverTime, type SimulatedProcess, type World } from "./world.ts"

interface LogFaults {
  /** An append is not stored, or stored and its answer lost. */ readonly append: number
  /** A stored append is stored twice. */ readonly twice: number
  readonly read: number
  /** A read returns less than there is. */ readonly short: number
  /** A read returns nothing, as from a leader that does not know its own position yet. */ readonly hidden: number
  /** An offset is skipped. */ readonly gap: number
  readonly hint: number
  /** The log's clock steps backwards or forwards. */ readonly step: number
}
/** Bugs that can be planted. */
export interface LogVariant {
  /** Dead letters are acknowledged before they are stored. */
  readonly acknowledgesEarly?: boolean
}

interface Partition {
  start: number
  end: number
  readonly records: Array<LogRecord>
}

export class SimulatedLog {
  readonly #world: World
  readonly #faults: LogFaults
  readonly #variant: LogVariant
  readonly #partitions = new Map<string, Partition>()
  /** Inspects what is about to be removed. */
  judge: (topic: string, partition: number, before: number) => void = () => {}
  readonly #subscribers = new Set<{ readonly process: SimulatedProcess; readonly queue: Queue.Queue<AppendedHint> }>()
  #skew_ms = 0

  constructor(world: World, faults: LogFaults, variant: LogVariant = {}) {
    this.#world = world
    this.#faults = faults
    this.#variant = variant
  }

  partition(topic: string, partition: number): Partition {
    const key = `${topic}/${partition}`
    let found = this.#partitions.get(key)
    if (found === undefined) this.#partitions.set(key, (found = { start: 0, end: 0, records: [] }))
    return found
  }

  /** Stores immediately; returns the offsets. */
  store(records: ReadonlyArray<AppendRecord>): ReadonlyArray<number> {
    if (this.#world.fails(this.#faults.step)) this.#skew_ms += this.#world.draws.between(-500, 500)
    const appendedAt = serverTime(this.#world) + Math.floor(this.#skew_ms)
    return records.map(({ key, partition, topic, value }) => {
      const into = this.partition(topic, partition)
      if (this.#world.fails(this.#faults.gap)) into.end++
      const offset = into.end++
      into.records.push({ offset, appendedAt, key, value })
      this.#world.tell(() => `log ${topic}/${partition}/${offset}${key === undefined ? "" : ` (${key})`}`)
      for (const { process, queue } of this.#subscribers) {
        if (this.#world.fails(this.#faults.hint)) continue
        process.deliver(this.#world.latency(), () =>
          Queue.offerUnsafe(queue, { topic, partition, endOffset: offset + 1 })
        )
      }
      return offset
    })
  }

  trim(topic: string, partition: number, before: number): void {
    const of = this.partition(topic, partition)
    this.judge(topic, partition, before)
    const count = of.records.findIndex(({ offset }) => offset >= before)
    of.records.splice(0, count < 0 ? of.records.length : count)
    of.start = Math.max(of.start, Math.min(before, of.end))
  }

  service(process: SimulatedProcess): EventLogShape {
    const world = this.#world
    const unavailable = () => Exit.fail(new EventLogUnavailable({ message: "the log does not answer" }))
    return EventLog.of({
      append: (records) =>
        process.request<ReadonlyArray<number>, EventLogUnavailable | EventLogOverloaded>((answer) => {
          if (this.#variant.acknowledgesEarly === true) {
            process.deliver(world.draws.between(0, 300), () => void this.store(records))
            return answer(Exit.succeed(records.map(() => 0)))
          }
          if (world.fails(this.#faults.append))
            return answer(
              world.draws.chance(0.3)
                ? Exit.fail(new EventLogOverloaded({ message: "the log has too much waiting", retry_after_s: 1 }))
                : unavailable()
            )
          const offsets = this.store(records)
          if (world.fails(this.#faults.twice)) this.store(records)
          answer(world.fails(this.#faults.append) ? unavailable() : Exit.succeed(offsets))
        }),
      read: ({ bytesMax, from, partition, recordsMax, topic }) =>
        process.request((answer) => {
          if (world.fails(this.#faults.read)) return answer(unavailable())
          const { end, records, start } = this.partition(topic, partition)
          const found: Array<LogRecord> = []
          let bytes = 0
          const atMost = world.fails(this.#faults.hidden)
            ? 0
            : world.fails(this.#faults.short)
              ? world.draws.whole(1, recordsMax)
              : recordsMax
          let next = Math.max(from, start)
          for (const record of records) {
            if (record.offset < next) continue
            if (found.length >= atMost || bytes >= bytesMax)
              return answer(Exit.succeed({ records: found, nextOffset: next, startOffset: start }))
            found.push({ ...record, value: record.value.slice() })
            bytes += record.value.length
            next = record.offset + 1
          }
          answer(
            Exit.succeed({
              records: found,
              nextOffset: Math.max(next, Math.min(end, found.length >= atMost ? next : end)),
              startOffset: start
            })
          )
        }),
      bounds: (topic, partition) =>
        process.request((answer) => {
          if (world.fails(this.#faults.read)) return answer(unavailable())
          const { end, start } = this.partition(topic, partition)
          answer(Exit.succeed({ startOffset: start, endOffset: end }))
        }),
      offsetAt: (topic, partition, time) =>
        process.request((answer) => {
          if (world.fails(this.#faults.read)) return answer(unavailable())
          const { end, records } = this.partition(topic, partition)
          answer(Exit.succeed(records.find(({ appendedAt }) => appendedAt >= time)?.offset ?? end))
        }),
      rewrite: () => Effect.succeed(false),
      trim: (topic, partition, before) =>
        process.request<void, EventLogUnavailable>((answer) => {
          if (world.fails(this.#faults.read)) return answer(unavailable())
          this.trim(topic, partition, before)
          answer(Exit.void)
        }),
      health: Effect.void,
      subscribe: Effect.acquireRelease(
        Effect.map(Queue.sliding<AppendedHint>(HINTS_MAX), (queue) => {
          const subscriber = { process, queue }
          this.#subscribers.add(subscriber)
          return subscriber
        }),
        (subscriber) => Effect.sync(() => this.#subscribers.delete(subscriber))
      ).pipe(Effect.map(({ queue }) => queue))
    })
  }

  /** Keys and values of everything in one partition of a topic. */
  all(topic: string, partition = 0): ReadonlyArray<LogRecord> {
    return this.partition(topic, partition).records
  }
  get topics(): ReadonlyArray<readonly [key: string, partition: Partition]> {
    return [...this.#partitions]
  }
}
