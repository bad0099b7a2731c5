/** Reads the next records of each topic of a processor into its intake, for the runner and for shadows alike. */
import { Effect } from "effect"
import { type EventLog, EventLogUnavailable } from "@dowser/log/event-log/event-log"
import type { Intake } from "./intake.ts"
import type { Positions } from "../state/state.ts"
import type { Topic } from "@dowser/log/topics"

/**
 * Few, so that decoded data is short-lived. Also bounded by bytes, because a record may contain anything from one event
 * to 500: some 6,000 events of a common size.
 */
export const RECORDS_PER_FETCH = 32
export const BYTES_PER_FETCH = 320 * 1024

/**
 * At most one read per topic, and not beyond `limits` if there are any. Returns how many records retention had removed
 * before they were read.
 */
export const fetchInto = Effect.fnUntraced(function* (
  log: EventLog["Service"],
  intake: Intake,
  inputs: ReadonlyArray<Topic>,
  partition: number,
  limits: Positions | undefined,
  recordsPerFetch = RECORDS_PER_FETCH
) {
  const wanted = inputs.flatMap(({ name }) => {
    const from = intake.wants(name)
    if (from === undefined) return []
    const limit = limits === undefined ? Number.POSITIVE_INFINITY : (limits[name] ?? 0)
    return [{ name, from, limit }]
  })
  // In parallel, although they are few, because a log on brokers sends them in one request.
  const answers = yield* Effect.forEach(
    wanted,
    ({ from, limit, name }) =>
      from >= limit
        ? Effect.succeed(undefined)
        : log.read({
            topic: name,
            partition,
            from,
            recordsMax: Math.min(recordsPerFetch, limit - from),
            bytesMax: BYTES_PER_FETCH
          }),
    { concurrency: "unbounded" }
  )
  let lost = 0
  for (let i = 0; i < wanted.length; i++) {
    const { from, limit, name } = wanted[i]!
    const answer = answers[i]
    if (answer === undefined) {
      intake.add(name, [], from, true)
      continue
    }
    if (answer.startOffset > from && limits === undefined)
      lost += Math.min(answer.startOffset, answer.nextOffset) - from
    const read = answer.records.filter(({ offset }) => offset < limit)
    const next = Math.min(answer.nextOffset, limit)
    // A newly elected leader may not know its end offset yet. If these records were skipped, the state would lack them.
    if (limits !== undefined && read.length === 0 && next < limit)
      return yield* new EventLogUnavailable({
        message: `the log gives nothing of ${name}/${partition} from ${from} on, though it was counted up to ${limit}`
      })
    // A read may return less than there is; only an empty read proves the end. A replay knows its end.
    intake.add(name, read, next, limits === undefined ? read.length === 0 : next >= limit)
  }
  return lost
})
