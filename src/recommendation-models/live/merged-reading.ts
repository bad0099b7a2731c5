/**
 * Reads the partitions of the log as one, in the order of its time, so that sessions age together. Read one partition
 * after another, events of an hour ago would follow those of last month.
 */
import { Effect } from "effect"
import type { EventLog, EventLogUnavailable, LogRecord, ReadAnswer } from "@dowser/log/event-log/event-log"

interface Stretch {
  readonly partition: number
  readonly from: number
  /** The reading stops before this offset. */ readonly end: number
}
export interface MergedPart {
  readonly partition: number
  /** First offset after `records`. */ readonly next: number
  readonly records: ReadonlyArray<LogRecord>
}
interface Head {
  readonly stretch: Stretch
  records: ReadonlyArray<LogRecord>
  next: number
}

const READ = { recordsMax: 64, bytesMax: 128 * 1_024 }
/** Within a second the order does not matter, and slices are longer. */
const SLACK_MS = 1_000

const timeOf = ({ records }: Head): number => records[0]?.appendedAt ?? Infinity
/** The head to take from next, and up to which time before another one's turn. */
const turnOf = (heads: ReadonlyArray<Head>): { readonly head: Head | undefined; readonly bar: number } => {
  let head: Head | undefined,
    bar = Infinity
  for (const one of heads) {
    if (one.records.length === 0) continue
    if (head === undefined || timeOf(one) < timeOf(head)) {
      bar = head === undefined ? Infinity : timeOf(head)
      head = one
    } else bar = Math.min(bar, timeOf(one))
  }
  return { head, bar: bar + SLACK_MS }
}

/** `take` returns a promise if it must be awaited. Memory: 128 kB a partition. */
export const readMerged = Effect.fnUntraced(function* (
  log: EventLog["Service"],
  topic: string,
  stretches: ReadonlyArray<Stretch>,
  take: (part: MergedPart) => Promise<void> | undefined
): Effect.fn.Return<void, EventLogUnavailable> {
  const filled = Effect.fnUntraced(function* (head: Head) {
    const { end, partition } = head.stretch
    while (head.records.length === 0 && head.next < end) {
      const answer: ReadAnswer = yield* log.read({ topic, partition, from: head.next, ...READ })
      if (answer.records.length === 0 && answer.nextOffset <= head.next) return
      head.records = answer.records.filter(({ offset }) => offset < end)
      head.next = answer.nextOffset
    }
  })
  const heads = stretches.map((stretch): Head => ({ stretch, records: [], next: stretch.from }))
  yield* Effect.forEach(heads, filled, { discard: true })
  for (;;) {
    const { bar, head } = turnOf(heads)
    if (head === undefined) return
    const behind = head.records.findIndex(({ appendedAt }) => appendedAt > bar)
    const records = behind < 0 ? head.records : head.records.slice(0, behind)
    head.records = behind < 0 ? [] : head.records.slice(behind)
    const wait = take({ partition: head.stretch.partition, next: head.records[0]?.offset ?? head.next, records })
    yield* Effect.promise(() => wait ?? new Promise<void>((resolve) => setImmediate(resolve)))
    yield* filled(head)
  }
})
