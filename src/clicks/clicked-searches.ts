/**
 * Reads what visitors searched and took from the log, as a replay does: answered searches and events of a range, side
 * by side in the order in which they came, without what was erased. In small pieces, between which others get their
 * turn. What the log does not keep any more is not told.
 *
 * Decision: the log, and not a table of showings. Nobody keeps which documents an answer showed: an answer goes to the
 * wire as text, and to read it would cost every search more than all of its statistics. A client that sends a `search`
 * event with `document_ids` says it; for the others the list of a query is what it finds today.
 */
import { givingWay } from "@dowser/engine-sdk/host"
import { EventColumns } from "@dowser/log/columns/decode"
import type { BehaviouralEvent, ServedSearch } from "@dowser/log/event-schema"
import { EventLog, type EventLogUnavailable, type LogRecord } from "@dowser/log/event-log/event-log"
import { readFingerprintKey } from "@dowser/log/fingerprint-key"
import { type Envelope, openRecord } from "@dowser/log/record"
import { BEHAVIOUR_EVENTS, SEARCH_SERVED, type Topic } from "@dowser/log/topics"
import { Erasures } from "@dowser/streams/erasure/erasures"
import { readTombstones } from "@dowser/streams/erasure/tombstones"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Installation } from "../installation.ts"
import { type ClickedSearch, OpenSearches } from "./open-searches.ts"

export type { ClickedSearch }
interface Asked {
  readonly organizationId: string
  /** Names by which the collection is searched. */ readonly collections: ReadonlySet<string>
  /** Unix milliseconds, of searches. */ readonly from: number
  readonly before: number
}

/** Clicks are waited for that long behind the range; records come a moment after what they tell of. */
const BEHIND_MS = 60 * 60_000
const RECORDS_MAX = 16
const BYTES_MAX = 128 * 1_024

/** Where the reading of a topic's partition stands. */
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

const opened = Effect.fnUntraced(function* (log: Log, topic: Topic, partition: number, from: number) {
  const start = yield* log.offsetAt(topic.name, partition, from)
  const { endOffset } = yield* log.bounds(topic.name, partition)
  const cursor: Cursor = { topic, partition, start, end: endOffset, next: start, records: [], at: 0 }
  return cursor
})
/** The next record of a cursor, or undefined at its end. */
const peek = Effect.fnUntraced(function* (log: Log, cursor: Cursor) {
  while (cursor.at >= cursor.records.length && cursor.next < cursor.end) {
    const read = yield* log.read({
      topic: cursor.topic.name,
      partition: cursor.partition,
      from: cursor.next,
      recordsMax: RECORDS_MAX,
      bytesMax: BYTES_MAX
    })
    // Nothing at all: what was there at the beginning has gone.
    if (read.records.length === 0 && read.nextOffset <= cursor.next) return undefined
    cursor.records = read.records.filter(({ offset }) => offset < cursor.end)
    cursor.next = read.nextOffset
    cursor.at = 0
  }
  return cursor.records[cursor.at]
})

/** A record that cannot be read, which the processors have told of, is none. */
const openedRecord = ({ value }: LogRecord): Envelope<unknown> | undefined => {
  try {
    return openRecord(value)
  } catch {
    return undefined
  }
}
/** Entries of a record that are the organization's and were not erased. */
const entriesOf = (
  erasures: Erasures,
  organizationId: string,
  { partition, topic }: Cursor,
  record: LogRecord
): ReadonlyArray<unknown> => {
  const envelope = openedRecord(record)
  if (envelope === undefined) return []
  // A record of events is one organization's; one of answered searches may be of many, each of which says whose it is.
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

/** Tells every search of the range, with what was taken of it. `told`: the share that is read, 0..1. */
export const makeClickedSearches = Effect.gen(function* () {
  const log = yield* EventLog
  const sql = yield* SqlClient.SqlClient
  const { visitorPartitions } = yield* Installation
  const key = yield* Effect.orDie(readFingerprintKey)

  return Effect.fnUntraced(function* (
    { before, collections, from, organizationId }: Asked,
    each: (search: ClickedSearch) => void,
    tell: (progress: number) => Effect.Effect<void>
  ): Effect.fn.Return<void, EventLogUnavailable> {
    const erasures = new Erasures(
      yield* Effect.orDie(Effect.provideService(readTombstones, SqlClient.SqlClient, sql)),
      key
    )
    const give = givingWay()
    for (let partition = 0; partition < visitorPartitions; partition++) {
      const open = new OpenSearches(each)
      const cursors = [
        yield* opened(log, SEARCH_SERVED, partition, from),
        yield* opened(log, BEHAVIOUR_EVENTS, partition, from)
      ]
      const total = cursors.reduce((sum, { end, start }) => sum + end - start, 0)
      for (;;) {
        const [served, events] = [yield* peek(log, cursors[0]!), yield* peek(log, cursors[1]!)]
        const isServed = served !== undefined && (events === undefined || served.appendedAt <= events.appendedAt)
        const record = isServed ? served : events
        if (record === undefined || record.appendedAt >= before + BEHIND_MS) break
        const cursor = cursors[isServed ? 0 : 1]!
        cursor.at++
        for (const entry of entriesOf(erasures, organizationId, cursor, record)) {
          if (isServed) {
            const search = entry as ServedSearch
            if (
              search.organization_id === organizationId &&
              search.at >= from &&
              search.at < before &&
              collections.has(search.collection)
            )
              open.answered(search)
          } else {
            const event = entry as BehaviouralEvent
            if (collections.has(event.collection)) open.happened(event)
          }
        }
        const way = give()
        if (way !== undefined) {
          const left = cursors.reduce((sum, { end, next }) => sum + Math.max(0, end - next), 0)
          yield* tell((partition + (total === 0 ? 1 : 1 - left / total)) / visitorPartitions)
          yield* Effect.promise(() => way)
        }
      }
      open.end()
    }
  })
})
