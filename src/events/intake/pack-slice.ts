/** One slice of a group as records of the log, without duplicates; refused entries are kept with the rest. */
import { encodeRecord } from "@dowser/log/record"
import type { AppendRecord } from "@dowser/log/event-log/event-log"
import type { BehaviouralEvent } from "@dowser/log/event-schema"
import { type KeptRejection, REJECTIONS_SCHEMA_VERSION, type RejectionsPayload } from "@dowser/log/rejection"
import { BEHAVIOUR_REJECTED, EVENT_FINGERPRINTS } from "@dowser/log/topics"
import type { Admission } from "../../ports/dedupe/dedupe-window.ts"
import { packEvents, type RequestEvents } from "./pack-events.ts"

/** The events that a request wants to store. */
export interface Judged {
  readonly organizationId: string
  readonly events: ReadonlyArray<BehaviouralEvent>
  readonly rejections: ReadonlyArray<KeptRejection>
}
interface PackedSlice {
  readonly records: ReadonlyArray<AppendRecord>
  /** Number of duplicates of each request. */ readonly duplicates: ReadonlyArray<number>
}

/** Does not use `flatMap`: a list per event takes a fiftieth of the thread's time. */
export const idsOf = (events: ReadonlyArray<BehaviouralEvent>): ReadonlyArray<string> => {
  const ids: Array<string> = []
  for (const { event_id } of events) if (event_id !== undefined) ids.push(event_id)
  return ids
}

const rejectionsRecord = ({ organizationId, rejections }: Judged, now: number): AppendRecord => ({
  topic: BEHAVIOUR_REJECTED.name,
  partition: 0,
  key: organizationId,
  value: encodeRecord<RejectionsPayload>({
    schema_version: REJECTIONS_SCHEMA_VERSION,
    organization_id: organizationId,
    occurred_at: now,
    payload: { rejections }
  })
})

/** `admission` contains the dedupe window's results for the slice's ids, in order. O(events). */
export const packSlice = (
  slice: ReadonlyArray<Judged>,
  admission: Admission,
  visitorPartitions: number,
  now: number
): PackedSlice => {
  const records: Array<AppendRecord> = []
  const kept: Array<RequestEvents> = []
  const duplicates = slice.map((judged, i) => {
    const { events, organizationId, rejections } = judged
    const seen = admission.seen[i]!
    let id = 0
    const fresh = seen.includes(1)
      ? events.filter(({ event_id }) => event_id === undefined || seen[id++] === 0)
      : events
    if (fresh.length > 0) kept.push({ organizationId, events: fresh })
    if (rejections.length > 0) records.push(rejectionsRecord(judged, now))
    return events.length - fresh.length
  })
  records.push(...packEvents(kept, visitorPartitions, now))
  if (admission.block.length > 0) records.push({ topic: EVENT_FINGERPRINTS.name, partition: 0, value: admission.block })
  return { records, duplicates }
}
