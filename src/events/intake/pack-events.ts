/**
 * Packs accepted events into records of the log: events that several requests of an organization send to one
 * partition within one slice of a commit share a record. With separate records per request, a batch of a hundred
 * events became a record of a few events for each partition, and a record has a fixed cost, above all the names of
 * its events' fields: decoding 25 events per record cost twice as much as 500.
 *
 * Decision: a request's result does not need a record of its own. The requests of a commit are stored or fail
 * together anyway, `event_id` identifies repetitions, and a position in the log is record and index. A record belongs
 * to one organization, so that a tombstone, a dead letter or a shadow skips all others with one look-up.
 */
import { encodeRecord } from "@dowser/log/record"
import { partitionOfEvent } from "@dowser/log/routing"
import { BEHAVIOUR_EVENTS } from "@dowser/log/topics"
import type { AppendRecord } from "@dowser/log/event-log/event-log"
import { type BehaviouralEvent, EVENTS_SCHEMA_VERSION, type EventsPayload } from "@dowser/log/event-schema"

/** Accepted events of one request. */
export interface RequestEvents {
  readonly organizationId: string
  readonly events: ReadonlyArray<BehaviouralEvent>
}

/** A record is closed when it reaches this many events; a consumer decodes and delivers it as a unit. */
export const RECORD_EVENTS_MAX = 500
/** Larger records are halved, down to one event; the limit is that of one request. */
export const RECORD_BYTES_MAX = 1_000_000

const recordsOf = (
  organizationId: string,
  partition: number,
  events: ReadonlyArray<BehaviouralEvent>,
  now: number
): ReadonlyArray<AppendRecord> => {
  const value = encodeRecord<EventsPayload>({
    schema_version: EVENTS_SCHEMA_VERSION,
    organization_id: organizationId,
    occurred_at: now,
    payload: { events }
  })
  if (value.length <= RECORD_BYTES_MAX || events.length === 1)
    return [{ topic: BEHAVIOUR_EVENTS.name, partition, key: organizationId, value }]
  const half = events.length >> 1
  return [
    ...recordsOf(organizationId, partition, events.slice(0, half), now),
    ...recordsOf(organizationId, partition, events.slice(half), now)
  ]
}

/** Events of one organization and partition stay in the order of the requests. O(events); `now` in ms. */
export const packEvents = (
  requests: ReadonlyArray<RequestEvents>,
  visitorPartitions: number,
  now: number
): ReadonlyArray<AppendRecord> => {
  const records: Array<AppendRecord> = []
  /** By organization and partition, with holes for unused partitions. */
  const open = new Map<string, Array<Array<BehaviouralEvent> | undefined>>()
  for (const { events, organizationId } of requests) {
    let parts = open.get(organizationId)
    if (parts === undefined) open.set(organizationId, (parts = []))
    for (const event of events) {
      const partition = partitionOfEvent(organizationId, event, visitorPartitions)
      const part = (parts[partition] ??= [])
      if (part.push(event) < RECORD_EVENTS_MAX) continue
      records.push(...recordsOf(organizationId, partition, part, now))
      parts[partition] = undefined
    }
  }
  for (const [organizationId, parts] of open) {
    parts.forEach((part, partition) => {
      if (part !== undefined) records.push(...recordsOf(organizationId, partition, part, now))
    })
  }
  return records
}
