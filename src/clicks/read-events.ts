/** An organization's events of one collection within a range, as stored in the log, without erased ones. */
import { givingWay } from "@dowser/engine-sdk/host"
import type { BehaviouralEvent } from "@dowser/log/event-schema"
import { EventLog, type EventLogUnavailable } from "@dowser/log/event-log/event-log"
import { readFingerprintKey } from "@dowser/log/fingerprint-key"
import { BEHAVIOUR_EVENTS } from "@dowser/log/topics"
import { Erasures } from "@dowser/streams/erasure/erasures"
import { readTombstones } from "@dowser/streams/erasure/tombstones"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Installation } from "../installation.ts"
import { entriesOf, opened, peek } from "./log-cursor.ts"

interface Asked {
  readonly organizationId: string
  /** Names by which events refer to the collection. */ readonly collections: ReadonlySet<string>
  /** Unix milliseconds, for records. */ readonly from: number
  readonly before: number
}

/** Calls back with each event, partition by partition. `report` receives the share that has been read, 0..1. */
export const makeEventReader = Effect.gen(function* () {
  const log = yield* EventLog
  const sql = yield* SqlClient.SqlClient
  const { visitorPartitions } = yield* Installation
  const key = yield* Effect.orDie(readFingerprintKey)
  return Effect.fnUntraced(function* (
    { before, collections, from, organizationId }: Asked,
    each: (event: BehaviouralEvent) => void,
    report: (progress: number) => Effect.Effect<void>
  ): Effect.fn.Return<void, EventLogUnavailable> {
    const tombstones = yield* Effect.orDie(Effect.provideService(readTombstones, SqlClient.SqlClient, sql))
    const erasures = new Erasures(tombstones, key)
    const give = givingWay()
    for (let partition = 0; partition < visitorPartitions; partition++) {
      const cursor = yield* opened(log, BEHAVIOUR_EVENTS, partition, from)
      for (;;) {
        const record = yield* peek(log, cursor)
        if (record === undefined || record.appendedAt >= before) break
        cursor.at++
        for (const entry of entriesOf(erasures, organizationId, cursor, record)) {
          const event = entry as BehaviouralEvent
          if (collections.has(event.collection)) each(event)
        }
        const way = give()
        if (way === undefined) continue
        const share = (cursor.next - cursor.start) / Math.max(1, cursor.end - cursor.start)
        yield* report((partition + share) / visitorPartitions)
        yield* Effect.promise(() => way)
      }
    }
  })
})
