/** Walks the log at half speed, so that a background search does not take CPU and disk from counting. */
import { Clock, Effect } from "effect"
import { EventLog, type LogRecord } from "@dowser/log/event-log/event-log"

const RECORDS_PER_READ = 32
const BYTES_PER_READ = 4 * 1024 * 1024

/** Calls `each` with the records of a partition below `end`, one read at a time. Holds only the records of one read. */
export const walk = Effect.fnUntraced(function* <E, R>(
  topic: string,
  partition: number,
  end: number,
  each: (records: ReadonlyArray<LogRecord>) => Effect.Effect<void, E, R>
) {
  const log = yield* EventLog
  const clock = yield* Clock.Clock
  for (let from = (yield* log.bounds(topic, partition)).startOffset; from < end;) {
    const startedAt = clock.currentTimeMillisUnsafe()
    const { nextOffset, records } = yield* log.read({
      topic,
      partition,
      from,
      recordsMax: RECORDS_PER_READ,
      bytesMax: BYTES_PER_READ
    })
    if (nextOffset <= from) return
    yield* each(records.filter(({ offset }) => offset < end))
    from = nextOffset
    yield* Effect.sleep(clock.currentTimeMillisUnsafe() - startedAt)
  }
})
