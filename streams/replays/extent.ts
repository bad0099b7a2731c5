/**
 * Which days the log can rebuild. A day is complete in the log if everything that can concern it was appended after the
 * oldest record: events may arrive five minutes before their time, and a click may belong to a search of half an hour
 * ago.
 *
 * Bound: events that name, by query id, a search from before the oldest record count as belonging to no query. A
 * processor that lost its state would count them the same way.
 */
import { Effect } from "effect"
import { DAY_MS } from "../figures/grain.ts"
import { EVENT_AGE_MAX_MS } from "@dowser/log/event-schema"
import { EventLog } from "@dowser/log/event-log/event-log"
import { partitionsOf, type Topic } from "@dowser/log/topics"

const REACH_BACK_MS = 35 * 60_000

interface Oldest {
  /** Whether retention has removed records before it. */ readonly isTrimmed: boolean
  /** Time of the oldest record (ms); undefined if there is none. */ readonly appendedAt: number | undefined
}

export const dayOf = (at: number): number => Math.floor(at / DAY_MS) * DAY_MS
const dayBehind = (at: number): number => Math.ceil(at / DAY_MS) * DAY_MS

interface Days {
  readonly fromAt: number
  readonly beforeAt: number
}
/** `isCut`: records from before the first day were in the log and have been removed. */
interface Extent extends Days {
  readonly isCut: boolean
}
/** The first day that can be rebuilt completely, and the day after the last that may have data. Pure. */
const extentOf = (oldest: ReadonlyArray<Oldest>, now: number): Extent => {
  const trimmed = oldest
    .filter(({ isTrimmed }) => isTrimmed)
    .map(({ appendedAt }) => dayBehind((appendedAt ?? now) + REACH_BACK_MS))
  const first = Math.min(now, ...oldest.flatMap(({ appendedAt }) => appendedAt ?? []))
  // If nothing was removed, rows from before the oldest acceptable event cannot come from this log.
  const fromAt = trimmed.length > 0 ? Math.max(...trimmed) : dayOf(first - EVENT_AGE_MAX_MS)
  return { fromAt, beforeAt: Math.max(fromAt, dayOf(now) + 2 * DAY_MS), isCut: trimmed.length > 0 }
}

/** Complete days of a range, within the extent; empty (`beforeAt` = `fromAt`) if they do not overlap. Pure. */
export const daysWithin = (range: Days, extent: Days): Days => {
  const fromAt = Math.max(dayOf(range.fromAt), extent.fromAt)
  return { fromAt, beforeAt: Math.max(fromAt, Math.min(dayBehind(range.beforeAt), extent.beforeAt)) }
}

/** Two reads per partition. */
export const readExtent = Effect.fnUntraced(function* (
  topics: ReadonlyArray<Topic>,
  visitorPartitions: number,
  now: number
) {
  const log = yield* EventLog
  const oldest: Array<Oldest> = []
  for (const topic of topics) {
    for (let partition = 0; partition < partitionsOf(topic, visitorPartitions); partition++) {
      const { startOffset } = yield* log.bounds(topic.name, partition)
      const {
        records: [first]
      } = yield* log.read({ topic: topic.name, partition, from: startOffset, recordsMax: 1, bytesMax: 1 })
      oldest.push({ isTrimmed: startOffset > 0, appendedAt: first?.appendedAt })
    }
  }
  return extentOf(oldest, now)
})
