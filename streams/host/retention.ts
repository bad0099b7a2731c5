/**
 * Keeps the log within its retention: expired records are removed, unless a consumer has not counted them. The host
 * (`host.ts`) runs it over the topics and the reports of its thread; the simulation runs the same code over its own.
 */
import { Clock, Effect } from "effect"
import { ConsumedElsewhere, consumedKey } from "@dowser/log/consumed"
import { EventLog } from "@dowser/log/event-log/event-log"
import type { Positions } from "../state/state.ts"
import type { Topic } from "@dowser/log/topics"

interface RetentionOptions {
  readonly partitions: ReadonlyArray<{ readonly topic: Topic; readonly partition: number }>
  readonly readersOf: (topic: Topic) => ReadonlyArray<string>
  /** How far a group has counted, as last reported; undefined before its first report. */
  readonly committedOf: (group: string, partition: number) => Positions | undefined
}

const HOUR_MS = 3_600_000

export const makeRetention = Effect.fnUntraced(function* ({ committedOf, partitions, readersOf }: RetentionOptions) {
  const log = yield* EventLog
  const clock = yield* Clock.Clock
  const elsewhere = yield* ConsumedElsewhere
  const startedAt = clock.currentTimeMillisUnsafe()

  /**
   * Age (ms) of the oldest record that is not counted yet, over all partitions; 0 if all are. Reads one record per
   * partition.
   */
  const lag_ms = Effect.gen(function* () {
    const now = clock.currentTimeMillisUnsafe()
    let oldestAt = now
    for (const { partition, topic } of partitions) {
      if (!topic.waitsForConsumers) continue
      const reports = readersOf(topic).map((group) => committedOf(group, partition))
      // No report yet: the group may have counted everything, or may be stuck before its first read.
      if (reports.includes(undefined)) {
        const { endOffset, startOffset } = yield* log.bounds(topic.name, partition)
        if (endOffset > startOffset) oldestAt = Math.min(oldestAt, startedAt)
      }
      const known = reports.flatMap((committed) => (committed === undefined ? [] : [committed[topic.name] ?? 0]))
      if (known.length === 0) continue
      const from = Math.min(...known)
      const { records } = yield* log.read({ topic: topic.name, partition, from, recordsMax: 1, bytesMax: 1 })
      if (records[0] !== undefined) oldestAt = Math.min(oldestAt, records[0].appendedAt)
    }
    return now - oldestAt
  })

  /**
   * Removes expired records, except those that a consumer has not committed. Expiry is measured from the time that
   * counting has reached, not from now: after a long standstill, rebuilding lost state needs everything back to its
   * memory's length before the oldest uncounted record.
   */
  const retain = Effect.gen(function* () {
    const countedAt = clock.currentTimeMillisUnsafe() - (yield* lag_ms)
    for (const { partition, topic } of partitions) {
      const past = yield* log.offsetAt(topic.name, partition, countedAt - topic.retentionHours * HOUR_MS)
      const consumed = topic.waitsForConsumers
        ? readersOf(topic).map((group) => committedOf(group, partition)?.[topic.name] ?? 0)
        : []
      // No processor reads document changes: their consumer reports its progress itself, and until it has, nothing is
      // removed.
      if (topic.partitioning === "document") consumed.push(elsewhere.get(consumedKey(topic.name, partition)) ?? 0)
      yield* log.trim(topic.name, partition, Math.min(past, ...consumed))
    }
  })

  /** Runs forever; a failed pass is logged, and the next one makes up for it. */
  const every = (retentionEvery_ms: number) =>
    Effect.forever(
      Effect.andThen(
        Effect.sleep(retentionEvery_ms),
        Effect.catch(retain, (error) =>
          Effect.logError("Retention of the event log failed and is tried again later", error)
        )
      )
    )
  return { lag_ms, every }
})
