/** Reads a partition of the log record by record, up to its end at the time when reading begins. */
import { EventColumns } from "@dowser/log/columns/decode"
import type { BehaviouralEvent, ServedSearch } from "@dowser/log/event-schema"
import type { EventLog, LogRecord } from "@dowser/log/event-log/event-log"
import { type Envelope, openRecord } from "@dowser/log/record"
import { SEARCH_SERVED, type Topic } from "@dowser/log/topics"
import type { Erasures } from "@dowser/streams/erasure/erasures"
import { Effect } from "effect"

const RECORDS_MAX = 16
const BYTES_MAX = 128 * 1_024

/** Reading position in a topic's partition. */
interface Cursor {
  readonly topic: Topic
  readonly partition: number
  readonly end: number
  readonly start: number
  next: number
  records: ReadonlyArray<LogRecord>
  at: number
}
type Log = EventLog["Service"]

export const opened = Effect.fnUntraced(function* (log: Log, topic: Topic, partition: number, from: number) {
  const start = yield* log.offsetAt(topic.name, partition, from)
  const { endOffset } = yield* log.bounds(topic.name, partition)
  const cursor: Cursor = { topic, partition, start, end: endOffset, next: start, records: [], at: 0 }
  return cursor
})
/** The next record of a cursor, or undefined at its end. */
export const peek = Effect.fnUntraced(function* (log: Log, cursor: Cursor) {
  while (cursor.at >= cursor.records.length && cursor.next < cursor.end) {
    const read = yield* log.read({
      topic: cursor.topic.name,
      partition: cursor.partition,
      from: cursor.next,
      recordsMax: RECORDS_MAX,
      bytesMax: BYTES_MAX
    })
    // The records up to the cursor's end were removed since reading began.
    if (read.records.length === 0 && read.nextOffset <= cursor.next) return undefined
    cursor.records = read.records.filter(({ offset }) => offset < cursor.end)
    cursor.next = read.nextOffset
    cursor.at = 0
  }
  return cursor.records[cursor.at]
})

/** An unreadable record is skipped; the processors have already logged it. */
const openedRecord = ({ value }: LogRecord): Envelope<unknown> | undefined => {
  try {
    return openRecord(value)
  } catch {
    return undefined
  }
}
/** Entries of a record that belong to the organization and were not erased. */
export const entriesOf = (
  erasures: Erasures,
  organizationId: string,
  { partition, topic }: Cursor,
  record: LogRecord
): ReadonlyArray<unknown> => {
  const envelope = openedRecord(record)
  if (envelope === undefined) return []
  // A record of events belongs to one organization; one of answered searches may contain entries of many.
  if (topic !== SEARCH_SERVED && envelope.organization_id !== organizationId) return []
  const payload =
    envelope.payload instanceof EventColumns ? { events: envelope.payload.events } : (envelope.payload as object)
  const whole = { ...envelope, payload }
  const hidden = erasures.hiddenIn(topic.name, partition, record.offset, whole)
  const { events, served } = payload as {
    readonly events?: ReadonlyArray<BehaviouralEvent | null>
    readonly served?: ReadonlyArray<ServedSearch | null>
  }
  return (events ?? served ?? []).filter((entry, i) => entry !== null && hidden?.has(i) !== true)
}
