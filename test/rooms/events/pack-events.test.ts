/** How the accepted events of a commit become records: none lost or mixed up, within bounds, and few records. */
import { describe, expect, it } from "vitest"
import {
  packEvents,
  RECORD_BYTES_MAX,
  RECORD_EVENTS_MAX,
  type RequestEvents
} from "../../../src/events/intake/pack-events.ts"
import type { BehaviouralEvent, EventsPayload } from "../../../log/event-schema.ts"
import { decodeRecord } from "../../../log/record.ts"
import { partitionOfEvent } from "../../../log/routing.ts"

const event = (id: string, over: Partial<BehaviouralEvent> = {}): BehaviouralEvent => ({
  type: "view",
  collection: "products",
  document_id: "d",
  timestamp: 1,
  event_id: id,
  session_id: `s-${id}`,
  ...over
})
const request = (
  organizationId: string,
  from: number,
  count: number,
  over: Partial<BehaviouralEvent> = {}
): RequestEvents => ({
  organizationId,
  events: Array.from({ length: count }, (_, i) => event(`${organizationId}-${from + i}`, over))
})
const read = (records: ReturnType<typeof packEvents>) =>
  records.map(({ key, partition, topic, value }) => {
    const { organization_id, payload } = decodeRecord(value)
    return {
      topic,
      partition,
      key,
      organizationId: organization_id,
      bytes: value.length,
      events: (payload as EventsPayload).events as ReadonlyArray<BehaviouralEvent>
    }
  })

describe("packing accepted events", () => {
  it("puts the events of several requests of an organization for a partition into one record, in order", () => {
    const requests = [request("a", 0, 30), request("b", 0, 30), request("a", 30, 30), request("a", 60, 30)]
    const records = read(packEvents(requests, 4, 7))
    expect(records.length).toBeLessThanOrEqual(8)
    for (const organizationId of ["a", "b"]) {
      const sent = requests.filter((one) => one.organizationId === organizationId).flatMap(({ events }) => events)
      for (let partition = 0; partition < 4; partition++) {
        const found = records.filter(
          (record) => record.organizationId === organizationId && record.partition === partition
        )
        expect(found.flatMap(({ events }) => events)).toEqual(
          sent.filter((one) => partitionOfEvent(organizationId, one, 4) === partition)
        )
        expect(found.length).toBeLessThanOrEqual(1)
        found.forEach(({ key }) => expect(key).toBe(organizationId))
      }
    }
  })
  it("closes a record at its bound of events", () => {
    const records = read(packEvents([request("a", 0, 2 * RECORD_EVENTS_MAX - 10), request("a", 5_000, 30)], 1, 7))
    expect(records.map(({ events }) => events.length)).toEqual([RECORD_EVENTS_MAX, RECORD_EVENTS_MAX, 20])
  })
  it("halves what exceeds its bound of bytes, down to one event, which is never split", () => {
    const long = { metadata: { text: "x".repeat(RECORD_BYTES_MAX / 4) } }
    const records = read(
      packEvents(
        [
          request("a", 0, 8, long),
          { organizationId: "a", events: [event("huge", { metadata: { text: "x".repeat(2 * RECORD_BYTES_MAX) } })] }
        ],
        1,
        7
      )
    )
    expect(records.flatMap(({ events }) => events.map(({ event_id }) => event_id))).toEqual([
      ...Array.from({ length: 8 }, (_, i) => `a-${i}`),
      "huge"
    ])
    for (const { bytes, events } of records) expect(events.length === 1 || bytes <= RECORD_BYTES_MAX).toBe(true)
  })
  it("makes no record without events", () =>
    expect(packEvents([{ organizationId: "a", events: [] }], 4, 7)).toEqual([]))
})
