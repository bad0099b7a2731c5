/**
 * Reads from the log what visitors searched and what they then chose, as a replay does: answered searches and events
 * of a range, merged in their order of arrival, without erased ones. Works in small chunks, between which other work
 * gets its turn. What the log no longer keeps is missing.
 *
 * Decision: the log, and not a table of impressions. Nobody stores which documents a response showed: a response is
 * sent as text, and parsing it would cost every search more than all of its statistics. A client that sends a
 * `search` event with `document_ids` provides them; for the others, a query's list is what it finds today.
 */
import { givingWay } from "@dowser/engine-sdk/host"
import type { BehaviouralEvent, ServedSearch } from "@dowser/log/event-schema"
import { EventLog, type EventLogUnavailable } from "@dowser/log/event-log/event-log"
import { readFingerprintKey } from "@dowser/log/fingerprint-key"
import { BEHAVIOUR_EVENTS, SEARCH_SERVED } from "@dowser/log/topics"
import { Erasures } from "@dowser/streams/erasure/erasures"
import { readTombstones } from "@dowser/streams/erasure/tombstones"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Installation } from "../installation.ts"
import { entriesOf, opened, peek } from "./log-cursor.ts"
import { type ClickedSearch, OpenSearches } from "./open-searches.ts"

export type { ClickedSearch }
interface Asked {
  readonly organizationId: string
  /** Names under which the collection is searched. */ readonly collections: ReadonlySet<string>
  /** Unix milliseconds, for searches. */ readonly from: number
  readonly before: number
}

/** How long after the range clicks are still read, because records arrive after what they report. */
const BEHIND_MS = 60 * 60_000
/** Calls back with every search of the range and the documents chosen from it. `report` gets the share read, 0..1. */
export const makeClickedSearches = Effect.gen(function* () {
  const log = yield* EventLog
  const sql = yield* SqlClient.SqlClient
  const { visitorPartitions } = yield* Installation
  const key = yield* Effect.orDie(readFingerprintKey)

  return Effect.fnUntraced(function* (
    { before, collections, from, organizationId }: Asked,
    each: (search: ClickedSearch) => void,
    report: (progress: number) => Effect.Effect<void>
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
          yield* report((partition + (total === 0 ? 1 : 1 - left / total)) / visitorPartitions)
          yield* Effect.promise(() => way)
        }
      }
      open.end()
    }
  })
})
