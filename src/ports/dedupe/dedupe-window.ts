/**
 * Which event ids the front door has accepted in the last 30 days. The window provides the `deduplicated` count of an
 * answer and keeps most repetitions out of the log. Exactness does not depend on it, because each partition's processor
 * checks event_id again. It is derived from blocks of fingerprints in the log, next to the events (`dedupe/`).
 */
import { DEDUPE_WINDOW_HOURS } from "@dowser/log/event-schema"
import { Clock, Context, Effect, Layer } from "effect"
import { type Admission, answerOf, type DedupeWindowShape, fingerprintsOf } from "./admission.ts"
import { eachRow, wordsOf } from "./block.ts"
import { makeSealedWindow, type SealedWindowOptions } from "./sealed-window.ts"
import type { EventLog, EventLogUnavailable } from "@dowser/log/event-log/event-log"
import type { FingerprintKey } from "@dowser/log/fingerprint"
import { FingerprintTable } from "@dowser/log/fingerprint-table"

export type { Admission }

interface DedupeWindowOptions {
  readonly key: FingerprintKey
  /** Memory of the table. Beyond it the oldest ids of a full segment are forgotten and would be accepted again here. */
  readonly bytesMax?: number
}

/** About 8 million ids at 32 bytes each. */
const BYTES_MAX = 256 * 1024 * 1024

/** Keeps everything in one table of this process; nothing survives a restart. */
const makeMemory = (options: DedupeWindowOptions, clock: Clock.Clock): DedupeWindowShape => {
  const table = new FingerprintTable({ windowHours: DEDUPE_WINDOW_HOURS, bytesMax: options.bytesMax ?? BYTES_MAX })
  return {
    admit: (requests) =>
      Effect.sync(() => {
        const now = clock.currentTimeMillisUnsafe()
        return answerOf(fingerprintsOf(options.key, requests), (words, at) => table.admit(words, at, now))
      }),
    forget: ({ block }) =>
      Effect.sync(() => {
        const words = wordsOf(block)
        eachRow(words, 0, words.length, (row, at) => table.forget(row, at))
      }),
    bytes: Effect.sync(() => table.bytes)
  }
}

export class DedupeWindow extends Context.Service<DedupeWindow, DedupeWindowShape>()("dowser/ports/DedupeWindow") {
  static readonly layerMemory = (options: DedupeWindowOptions): Layer.Layer<DedupeWindow> =>
    Layer.effect(
      DedupeWindow,
      Effect.map(Clock.Clock, (clock) => DedupeWindow.of(makeMemory(options, clock)))
    )

  /**
   * Keeps the newest ids in memory and older ones in sealed runs in `folder`: sorted files, each with an in-memory
   * filter, 1.8 bytes an id in memory and 22 on disk. Runs are derived from the blocks in `topic` of the log; at start
   * they are opened and only later blocks are read. A folder that is lost, damaged or belongs to another log is rebuilt
   * from the log in the background, the newest million ids first; until then only the processors recognize older ones.
   *
   * Cost: about 0.5 µs for a new id (its fingerprint, one cache line of each run's filter, one slot of the table); a
   * repetition of an older id also reads one page of a file. Sealing and merging run in another thread.
   *
   * Several processes over one log: each reads what the others append as soon as the log signals it (embedded within
   * 0.05 s, Kafka within about 0.15 s). An event that reaches two processes within that time is accepted by both and
   * counted once.
   *
   * Bound: `idsMax` ids over all organizations. Beyond it the organizations with the most ids lose their oldest, all
   * down to a common level, so that an organization below an equal share keeps all of its 30 days. Forgotten ids are
   * accepted again here, and recognized by the processors as long as they remember them.
   *
   * Fails if the log cannot be read at start. Waits at most 2.5 s for the runs.
   */
  static readonly layerSealed = (
    options: SealedWindowOptions
  ): Layer.Layer<DedupeWindow, EventLogUnavailable, EventLog> =>
    Layer.effect(
      DedupeWindow,
      Effect.map(makeSealedWindow({ ...options, windowHours: DEDUPE_WINDOW_HOURS }), (shape) => DedupeWindow.of(shape))
    )
}
