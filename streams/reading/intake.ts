/**
 * Records of several topics on their way to the mailboxes, in the order of their append times. Topics differ in
 * density: read by count, one would run days ahead of the other, and state that expires by the log's time would be gone
 * for the slower one. In a common order, a replay of a long log decides like the first reading. Holds one read of each
 * topic.
 */
import type { LogRecord } from "@dowser/log/event-log/event-log"
import type { Positions } from "../state/state.ts"

interface TopicBuffer {
  readonly topic: string
  records: ReadonlyArray<LogRecord>
  taken: number
  /** Offset of the next read. */
  next: number
  isAtEnd: boolean
  /** Append time (ms) of the last record taken. */
  lastAt: number
}

export class Intake {
  /** In the order that breaks ties: topics that others refer to come first. */
  readonly #topics: ReadonlyArray<TopicBuffer>
  #newest = 0

  constructor(topics: ReadonlyArray<string>, from: Positions) {
    this.#topics = topics.map((topic) => ({
      topic,
      records: [],
      taken: 0,
      next: from[topic] ?? 0,
      isAtEnd: false,
      lastAt: 0
    }))
  }

  #of(topic: string): TopicBuffer {
    return this.#topics.find((waiting) => waiting.topic === topic)!
  }

  /** The offset to read next if nothing of the topic is buffered; undefined while something is. */
  wants(topic: string): number | undefined {
    const waiting = this.#of(topic)
    return waiting.taken < waiting.records.length ? undefined : waiting.next
  }

  /**
   * Adds the result of a read. `isAtEnd` means that nothing more exists for now, so the others need not wait for this
   * topic.
   */
  add(topic: string, records: ReadonlyArray<LogRecord>, next: number, isAtEnd: boolean): void {
    Object.assign(this.#of(topic), { records, taken: 0, next, isAtEnd })
  }

  /** The oldest record; undefined if none waits, or if a topic must be read first because it may have an older one. */
  take(): { readonly topic: string; readonly record: LogRecord } | undefined {
    let oldest: TopicBuffer | undefined
    for (const waiting of this.#topics) {
      if (waiting.taken === waiting.records.length) {
        if (!waiting.isAtEnd) return undefined
        continue
      }
      if (oldest === undefined || waiting.records[waiting.taken]!.appendedAt < oldest.records[oldest.taken]!.appendedAt)
        oldest = waiting
    }
    if (oldest === undefined) return undefined
    const record = oldest.records[oldest.taken++]!
    oldest.lastAt = record.appendedAt
    this.#newest = Math.max(this.#newest, record.appendedAt)
    return { topic: oldest.topic, record }
  }

  /** Offsets after everything taken. */
  get reached(): Positions {
    return Object.fromEntries(
      this.#topics.map(({ next, records, taken, topic }) => [
        topic,
        taken < records.length ? records[taken]!.offset : next
      ])
    )
  }

  /**
   * The log's time (ms) up to which every topic has been taken: later records are not older, except if the log's clock
   * was set back.
   */
  get watermark(): number {
    let low = this.#newest
    for (const { isAtEnd, lastAt, records, taken } of this.#topics) {
      if (taken < records.length) low = Math.min(low, records[taken]!.appendedAt)
      else if (!isAtEnd) low = Math.min(low, lastAt)
    }
    return low
  }
}
