/**
 * Passes the records of the log to the thread that seals them into runs: first the gaps that no run covers, then new
 * records, for as long as the thread runs. Rows of other processes are also added to the tables.
 */
import { Effect, Queue } from "effect"
import type { AppendedHint, LogRecord } from "@dowser/log/event-log/event-log"
import { FINGERPRINT_WORDS } from "@dowser/log/fingerprint"
import { gapsOf } from "./compaction.ts"
import type { FollowedLog } from "./followed-log.ts"
import { packRecords, READ_RECORDS, turn, waitFor } from "./log-words.ts"
import { digestOf } from "./run-format.ts"
import type { RunThread } from "./run-thread.ts"
import type { OpenedRun } from "./run-writer.ts"

/** Interval between two reads of the log without a hint. */
const IDLE_MS = 1_000
/**
 * Interval between two reads while little arrives, so that one read serves several appends. Our own blocks need the
 * read only to be moved into runs, and reading every 10 ms took a twentieth of the accepting thread. Ids of other
 * processes become known here this much later.
 */
const TAIL_EVERY_MS = 50

export class RunFollower {
  readonly #followed: FollowedLog
  readonly #thread: RunThread
  /** Changes the tables when nobody is reading them; an exception in `change` makes the thread restart. */
  readonly #guarded: (change: () => void) => void
  /** First offset of the next run to seal. */
  #from = 0
  /** The first offset that has not been read. */
  #position = 0
  /** The newest record that was read: it identifies the log that a run belongs to. */
  #last: LogRecord | undefined
  #sealing: Promise<void> = Promise.resolve()

  constructor(followed: FollowedLog, thread: RunThread, guarded: (change: () => void) => void) {
    this.#followed = followed
    this.#thread = thread
    this.#guarded = guarded
  }

  /** Reads the records between `first` and `stop` that no run covers. */
  readonly fillGaps = Effect.fnUntraced(
    { self: this },
    function* (runs: ReadonlyArray<OpenedRun>, first: number, stop: number) {
      for (const gap of gapsOf(
        runs.map(({ header }) => header),
        first,
        stop
      )) {
        this.#from = this.#position = gap.from
        while (this.#position < gap.to) {
          if ((yield* this.#take(gap.to)) < 0) break
          yield* turn
        }
        yield* this.#seal()
      }
    }
  )

  /** Reads the log from an offset on, forever. */
  readonly followFrom = Effect.fnUntraced(
    { self: this },
    function* (start: number, hints: Queue.Dequeue<AppendedHint>) {
      const { reach, readBytesMax, topic } = this.#followed
      this.#from = this.#position = start
      for (;;) {
        const isBehind = this.#position < reach.knownTo
        const bytes = yield* this.#take(isBehind ? reach.knownTo : Infinity)
        if (isBehind) {
          // Nothing to read despite the hint: everything up to `knownTo` has been read.
          if (bytes < 0) this.#position = reach.knownTo
          if (this.#position >= reach.knownTo && this.#from < reach.hotFrom) yield* this.#seal()
          yield* turn
        } else if (bytes < 0)
          yield* Effect.timeoutOption(
            Effect.repeat(Queue.take(hints), { until: (hint) => hint.topic === topic }),
            IDLE_MS
          )
        else if (bytes < readBytesMax) yield* Effect.sleep(TAIL_EVERY_MS)
        else yield* turn
      }
    }
  )

  /** Takes the records of one read; returns their bytes, or -1 if there were none. */
  readonly #take = Effect.fnUntraced({ self: this }, function* (stop: number) {
    const { layers, log, reach, readBytesMax, sealIds, topic } = this.#followed
    const answer = yield* log.read({
      topic,
      partition: 0,
      from: this.#position,
      recordsMax: READ_RECORDS,
      bytesMax: readBytesMax
    })
    const records = answer.records.filter(({ offset }) => offset < stop)
    const { buffer, parts } = packRecords(records)
    let at = 0
    records.forEach(({ appendedAt, offset }, i) => {
      const words = buffer.subarray(at, (at += parts[2 * i + 1]!))
      if (offset >= reach.knownTo) layers.tailed(words, appendedAt)
    })
    const final = records.at(-1)
    if (final !== undefined) this.#last = final
    const isMoved = answer.nextOffset > this.#position
    this.#position = Math.max(this.#position, Math.min(answer.nextOffset, stop))
    reach.unsealedRows += buffer.length / FINGERPRINT_WORDS
    if (stop === Infinity) reach.knownTo = Math.max(reach.knownTo, this.#position)
    const bytes = buffer.byteLength
    const room = bytes === 0 ? undefined : this.#thread.add(buffer.buffer as ArrayBuffer, parts)
    if (room !== undefined) yield* waitFor(() => room)
    if (reach.unsealedRows >= sealIds) yield* this.#seal()
    return isMoved ? bytes : -1
  })

  /** Makes the thread seal everything read since the last seal into a run; waits only for the previous seal. */
  readonly #seal = Effect.fnUntraced({ self: this }, function* () {
    const { layers, now, reach } = this.#followed
    yield* waitFor(() => this.#sealing)
    if (reach.unsealedRows === 0) return
    const isCovering = this.#position >= reach.knownTo
    if (isCovering && !layers.isSealing) layers.swap()
    const range = {
      from: this.#from,
      to: this.#position,
      lastOffset: this.#last?.offset ?? -1,
      digest: this.#last === undefined ? 0 : digestOf(this.#last.appendedAt, this.#last.value)
    }
    this.#from = this.#position
    reach.unsealedRows = 0
    this.#sealing = this.#thread.seal(range, layers.oldestHour(now())).then((sealed) =>
      this.#guarded(() => {
        layers.sealed(sealed, isCovering)
        if (isCovering) reach.hotFrom = Math.max(reach.hotFrom, range.to)
      })
    )
    this.#sealing.catch(() => {})
  })
}
