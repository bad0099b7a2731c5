/**
 * Which event ids the front door has taken in the last 30 days. It feeds the `deduplicated` count of an answer and
 * keeps most repetitions out of the log; exactness does not rest on it, since each partition's processor looks at
 * event_id again. Derived data: rebuilt at start from blocks of fingerprints that ride in the log beside the events.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { EventLog, type EventLogUnavailable } from "./event-log.ts"
import { FINGERPRINT_WORDS, fingerprintInto, type FingerprintKey, narrowKey } from "./fingerprint.ts"
import { FingerprintTable } from "./fingerprint-table.ts"

/** The ids of one request of one organization, in order; repetitions inside the list count as seen. */
export interface AdmitRequest {
  readonly organizationId: string
  readonly eventIds: ReadonlyArray<string>
}

export interface Admission {
  /** Per request, per id: 1 when the window (or an earlier id of this call) already had it. */
  readonly seen: ReadonlyArray<Uint8Array>
  /** Fingerprints of the new ids, for the log's block and for `forget`. Empty when nothing was new. */
  readonly block: Uint8Array
}

export interface DedupeWindowShape {
  /** Looks all ids up and remembers the new ones. One call for everything that will be appended together. */
  readonly admit: (requests: ReadonlyArray<AdmitRequest>) => Effect.Effect<Admission>
  /** Takes an admission back, because what it admitted was not stored. */
  readonly forget: (admission: Admission) => Effect.Effect<void>
  readonly bytes: Effect.Effect<number>
}

export interface DedupeWindowOptions {
  readonly key: FingerprintKey
  /** Memory of the table. Past it the oldest ids of a full segment are forgotten and would be accepted again here. */
  readonly bytesMax?: number
}

export const DEDUPE_WINDOW_HOURS = 30 * 24
/** About 8 million ids at 32 bytes each. */
const BYTES_MAX = 256 * 1024 * 1024
const RESTORE_RECORDS = 256
/** About 4,000 ids in one go, a millisecond or two of the thread that already serves. */
const RESTORE_BYTES_MAX = 64 * 1024
const RESTORE_BEFORE_START_MS = 1_000

const make = (options: DedupeWindowOptions, table: FingerprintTable, clock: Clock.Clock): DedupeWindowShape => ({
  admit: (requests) =>
    Effect.sync(() => {
      const now = clock.currentTimeMillisUnsafe()
      let total = 0
      for (const { eventIds } of requests) total += eventIds.length
      const admitted = new Uint32Array(total * FINGERPRINT_WORDS)
      let words = 0
      const seen = requests.map(({ organizationId, eventIds }) => {
        const key = narrowKey(options.key, organizationId)
        const flags = new Uint8Array(eventIds.length)
        for (let i = 0; i < eventIds.length; i++) {
          // Written where the next new one belongs; a seen one is overwritten by its successor.
          fingerprintInto(key, eventIds[i]!, admitted, words)
          if (table.admit(admitted, words, now)) words += FINGERPRINT_WORDS
          else flags[i] = 1
        }
        return flags
      })
      return { seen, block: new Uint8Array(admitted.buffer, 0, words * 4) }
    }),
  forget: ({ block }) =>
    Effect.sync(() => {
      const words = new Uint32Array(block.buffer, block.byteOffset, block.byteLength / 4)
      for (let at = 0; at < words.length; at += FINGERPRINT_WORDS) table.forget(words, at)
    }),
  bytes: Effect.sync(() => table.bytes)
})

const newTable = (options: DedupeWindowOptions) => new FingerprintTable({ windowHours: DEDUPE_WINDOW_HOURS, bytesMax: options.bytesMax ?? BYTES_MAX })

export class DedupeWindow extends Context.Service<DedupeWindow, DedupeWindowShape>()("dowser/ports/DedupeWindow") {
  static readonly layerMemory = (options: DedupeWindowOptions): Layer.Layer<DedupeWindow> =>
    Layer.effect(DedupeWindow, Effect.map(Clock.Clock, (clock) => DedupeWindow.of(make(options, newTable(options), clock))))

  /**
   * The window in memory, rebuilt from the blocks in `topic` of the log: 16 bytes an id, the newest first, because what
   * is sent again was mostly sent a moment ago. Start waits for it at most `RESTORE_BEFORE_START_MS`; older ids follow
   * while the service runs already, and until they are in, the processors alone tell their repetitions.
   */
  static readonly layerEmbedded = (options: DedupeWindowOptions & { readonly topic: string }): Layer.Layer<DedupeWindow, EventLogUnavailable, EventLog> =>
    Layer.effect(
      DedupeWindow,
      Effect.gen(function*() {
        const log = yield* EventLog
        const clock = yield* Clock.Clock
        const table = newTable(options)
        const startedAt = clock.currentTimeMillisUnsafe()
        const { endOffset } = yield* log.bounds(options.topic, 0)
        const first = yield* log.offsetAt(options.topic, 0, startedAt - DEDUPE_WINDOW_HOURS * 3_600_000)
        let behind = endOffset
        /** The records right before what is restored already. */
        const restoreSome = Effect.gen(function*(): Effect.fn.Return<void, EventLogUnavailable> {
          const stop = behind
          behind = Math.max(first, stop - RESTORE_RECORDS)
          for (let from = behind; from < stop;) {
            const answer = yield* log.read({ topic: options.topic, partition: 0, from, recordsMax: stop - from, bytesMax: RESTORE_BYTES_MAX })
            for (const { appendedAt, value } of answer.records) {
              // Copied: the log's bytes need not be aligned to words.
              const words = new Uint32Array(value.slice().buffer, 0, Math.floor(value.length / 4))
              for (let at = 0; at < words.length; at += FINGERPRINT_WORDS) table.admit(words, at, appendedAt)
            }
            from = answer.nextOffset
            yield* Effect.sleep(0)
          }
        })
        while (behind > first && clock.currentTimeMillisUnsafe() - startedAt < RESTORE_BEFORE_START_MS) yield* restoreSome
        yield* Effect.forkScoped(
          Effect.gen(function*() {
            while (behind > first) yield* restoreSome
          }).pipe(Effect.catch((error) => Effect.logError("The dedupe window stays without its older ids", error)))
        )
        return DedupeWindow.of(make(options, table, clock))
      })
    )
}
