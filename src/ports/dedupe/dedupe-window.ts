/**
 * Which event ids the front door has accepted in the last 30 days. It yields the `deduplicated` count of an answer and
 * keeps most repetitions out of the log; exactness does not rest on it, because each partition's processor checks
 * event_id again. Derived data, built from blocks of fingerprints that travel in the log beside the events (`dedupe/`).
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
  /** Memory of the table. Past it the oldest ids of a full segment are forgotten and would be accepted again here. */
  readonly bytesMax?: number
}

/** About 8 million ids at 32 bytes each. */
const BYTES_MAX = 256 * 1024 * 1024

/** All in one table of this process: nothing outlives it. */
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
   * The newest ids in memory, older ones in sealed runs of `folder`: sorted files with an in-memory filter each, 1.8
   * bytes an id in memory and 22 on disk. Runs are derived from the blocks in `topic` of the log; at start they are
   * opened and only later blocks are read. A folder that is lost, damaged or of another log is rebuilt from the log in
   * the background, the newest million ids first; until then the processors alone recognize older ones.
   *
   * Cost: a new id about 0.5 µs (its fingerprint, one line of each run's filter, one place in the table), a repetition
   * of an older id one page of a file more. Sealing and merging are another thread's.
   *
   * Several processes over one log: each reads what the others append as soon as the log hints at it (embedded within
   * 0.05 s, Kafka within about 0.15 s). A batch that reaches two processes within that time is accepted by both and
   * counted once.
   *
   * Bound: `idsMax` ids over all organizations. Beyond it the organizations with the most ids lose their oldest, all
   * down to one level, so that one below an equal share keeps all of its 30 days. Lost ids are accepted again here, and
   * recognized by the processors as long as they remember them.
   *
   * Fails when the log cannot be read at start. Waits at most 2.5 s for the runs.
   */
  static readonly layerSealed = (
    options: SealedWindowOptions
  ): Layer.Layer<DedupeWindow, EventLogUnavailable, EventLog> =>
    Layer.effect(
      DedupeWindow,
      Effect.map(makeSealedWindow({ ...options, windowHours: DEDUPE_WINDOW_HOURS }), (shape) => DedupeWindow.of(shape))
    )
}
