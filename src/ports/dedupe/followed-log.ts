/**
 * The log that a window follows, with its tables and how far they have read it: the state that is kept when the
 * thread restarts. Each start asks the log two questions: which runs belong to another log, and what was appended
 * last.
 */
import { Effect } from "effect"
import type { EventLog } from "@dowser/log/event-log/event-log"
import { wordsOf } from "./block.ts"
import type { Layers } from "./layers.ts"
import { READ_RECORDS, turn } from "./log-words.ts"
import { digestOf } from "./run-format.ts"
import type { OpenedRun } from "./run-writer.ts"

const RESTORE_BEFORE_START_MS = 1_000

export interface FollowedLog {
  readonly log: EventLog["Service"]
  readonly topic: string
  readonly layers: Layers
  readonly sealIds: number
  readonly readBytesMax: number
  readonly windowHours: number
  /** Unix milliseconds. */ readonly now: () => number
  readonly reach: Reach
}
interface Reach {
  /** Rows at offsets from `hotFrom` up to `knownTo` are in the tables; earlier ones are known once they are in runs. */
  hotFrom: number
  knownTo: number
  /** Rows that the thread holds but has not sealed. */ unsealedRows: number
}

/** Restores the newest ids first, as repetitions mostly arrive within moments; stops when time or room is used up. */
export const restoreNewest = Effect.fnUntraced(function* (
  { layers, log, reach, readBytesMax, sealIds, topic }: FollowedLog,
  first: number
) {
  const startedAt = performance.now()
  for (
    let rows = 0;
    reach.hotFrom > first && rows < sealIds && performance.now() - startedAt < RESTORE_BEFORE_START_MS;
  ) {
    const stop = reach.hotFrom
    reach.hotFrom = Math.max(first, stop - READ_RECORDS)
    for (let from = reach.hotFrom; from < stop;) {
      const answer = yield* log.read({ topic, partition: 0, from, recordsMax: stop - from, bytesMax: readBytesMax })
      for (const { appendedAt, offset, value } of answer.records)
        if (offset < stop) rows += layers.restored(wordsOf(value), appendedAt)
      from = answer.nextOffset
      yield* turn
    }
  }
})

/** Names of runs whose last record differs from the log's: the log was wiped, restored or replaced. */
export const foreignRuns = Effect.fnUntraced(function* (
  { log, topic }: Pick<FollowedLog, "log" | "topic">,
  runs: ReadonlyArray<OpenedRun>,
  endOffset: number
) {
  const foreign: Array<string> = []
  for (const {
    header: { digest, lastOffset, to },
    name
  } of runs) {
    const [record] =
      to > endOffset
        ? []
        : (yield* log.read({ topic, partition: 0, from: lastOffset, recordsMax: 1, bytesMax: 1 })).records
    if (record === undefined || record.offset !== lastOffset || digestOf(record.appendedAt, record.value) !== digest)
      foreign.push(name)
  }
  return foreign
})
