/**
 * The window over a log that outlives it: rows from the log are sent to the thread that seals them into runs, and, if
 * another process admitted them, are added to memory. Runs record which part of the log they cover; the rest is read
 * from the log again, so that a lost, damaged or foreign folder costs only time in the background.
 */
import { Clock, Deferred, Effect, Exit, Option } from "effect"
import type { Admission, AdmitRequest, DedupeWindowShape } from "./admission.ts"
import { EventLog } from "@dowser/log/event-log/event-log"
import { type FingerprintKey, FINGERPRINT_WORDS, fingerprintInto } from "@dowser/log/fingerprint"
import type { FollowedLog } from "./followed-log.ts"
import { Layers } from "./layers.ts"
import { turn } from "./log-words.ts"
import { ROW_WORDS } from "./run-format.ts"
import { threadLife } from "./thread-life.ts"

export interface SealedWindowOptions {
  readonly key: FingerprintKey
  /** Topic of the log that the blocks are appended to; it has one partition. */
  readonly topic: string
  /** Folder of the runs, exclusive to this process; created if missing. */
  readonly folder: string
  /**
   * Maximum number of ids in all runs together. Default: 128 million (2 bytes of memory, 22 of disk each).
   */
  readonly idsMax?: number
  /**
   * Number of ids at which the table in memory becomes a run. Default: 2^20: a table of 40 MB, and a second one that
   * replaces it while a run is written.
   */
  readonly sealIds?: number
  /**
   * Memory of one table, reached only if the disk or the log stalls. Beyond it the oldest ids of full segments are
   * dropped.
   */
  readonly hotBytesMax?: number
  readonly fanout?: number
  readonly runIdsMax?: number
}

const IDS_MAX = 128 * 2 ** 20
const SEAL_IDS = 2 ** 20
const HOT_BYTES_MAX = 192 * 2 ** 20
const FANOUT = 4
/** Room for 16 seals, each of which may exceed its size by a group of some thousand ids. */
const RUN_IDS_SEALS_MAX = 20
const RUNS_MAX = 24
/** How long a call reads files before other calls get their turn. */
const LOOK_MS = 2
/** About 16,000 ids per read: a millisecond or two if they are added to the table as well. */
const READ_BYTES_MAX = 256 * 1024
const START_WITHIN_MS = 2_500
const RETRY_AFTER_MS = 200
const RETRY_AFTER_MAX_MS = 30_000

/** Identifies runs of this installation and topic; reveals neither key nor topic. */
export const markOf = (key: FingerprintKey, topic: string): string => {
  const words = new Uint32Array(FINGERPRINT_WORDS)
  fingerprintInto(key, `runs of ${topic}`, words, 0)
  return [...words].map((word) => word.toString(16).padStart(8, "0")).join("")
}

/** Looks ids up in the tables, and in the runs where the tables do not decide. */
const shapeOf = ({ layers, now, reach }: FollowedLog): DedupeWindowShape => ({
  admit: (requests: ReadonlyArray<AdmitRequest>) =>
    Effect.suspend(() => {
      const look = layers.begin(requests, now())
      const answered = Effect.sync((): Admission => layers.answer(look))
      const confirmed = Effect.suspend(() =>
        layers.confirm(look, performance.now() + LOOK_MS)
          ? answered
          : Effect.gen(function* () {
              do yield* turn
              while (!layers.confirm(look, performance.now() + LOOK_MS))
              return yield* answered
            })
      )
      return Effect.uninterruptible(
        Effect.ensuring(
          look.maybes.length === 0 ? answered : confirmed,
          Effect.sync(() => layers.end())
        )
      )
    }),
  forget: ({ block }) => Effect.sync(() => layers.forget(block)),
  // The thread keeps its rows in a buffer that doubles.
  bytes: Effect.sync(() => layers.bytes + 2 * reach.unsealedRows * ROW_WORDS * 4)
})

/** Restarts the thread whenever it ends; after each failure the delay doubles. */
const supervised = <E>(life: Effect.Effect<unknown, E>) =>
  Effect.gen(function* () {
    for (let delay_ms = RETRY_AFTER_MS; ;) {
      const bornAt = performance.now()
      const ended = yield* Effect.exit(life)
      // A damaged run was reported when it was found; any other failure is reported here.
      if (Exit.isFailure(ended))
        yield* Effect.logError(
          "The dedupe window cannot store its runs and tries again; meanwhile processors recognize repetitions",
          ended.cause
        )
      yield* Effect.sleep(delay_ms)
      delay_ms =
        Exit.isSuccess(ended) || performance.now() - bornAt > RETRY_AFTER_MAX_MS
          ? RETRY_AFTER_MS
          : Math.min(2 * delay_ms, RETRY_AFTER_MAX_MS)
    }
  })

/** Runs until its scope ends. Fails if the log cannot be read at start; later failures are logged and retried. */
export const makeSealedWindow = Effect.fnUntraced(function* (
  options: SealedWindowOptions & { readonly windowHours: number }
) {
  const log = yield* EventLog
  const clock = yield* Clock.Clock
  const run = Effect.runSyncWith(yield* Effect.context<never>())
  const { folder, key, topic, windowHours } = options
  const now = () => clock.currentTimeMillisUnsafe()
  const sealIds = options.sealIds ?? SEAL_IDS
  /** Completed with the name of a run that cannot be read, which restarts the thread. */
  let damaged = yield* Deferred.make<string>()
  const layers = new Layers({
    key,
    folder,
    windowHours,
    hotBytesMax: options.hotBytesMax ?? HOT_BYTES_MAX,
    sealIds,
    onDamaged: (name, error) => {
      if (Deferred.doneUnsafe(damaged, Effect.succeed(name)))
        run(Effect.logWarning(`The dedupe window makes the run ${name} again from the log: ${error.message}`))
    }
  })
  yield* Effect.addFinalizer(() => Effect.sync(() => layers.close()))
  const readBytesMax = Math.min(READ_BYTES_MAX, sealIds * FINGERPRINT_WORDS * 4)
  const reach = { hotFrom: 0, knownTo: 0, unsealedRows: 0 }
  const followed: FollowedLog = { log, topic, layers, sealIds, readBytesMax, windowHours, now, reach }
  const mark = markOf(key, topic)
  const settings = () => ({
    folder,
    mark,
    oldestHour: layers.oldestHour(now()),
    idsMax: options.idsMax ?? IDS_MAX,
    fanout: options.fanout ?? FANOUT,
    runIdsMax: options.runIdsMax ?? RUN_IDS_SEALS_MAX * sealIds,
    runsMax: RUNS_MAX
  })

  yield* log.bounds(topic, 0)
  const hasStarted = yield* Deferred.make<void>()
  yield* Effect.forkScoped(
    supervised(
      Effect.suspend(() => {
        damaged = Deferred.makeUnsafe<string>()
        return threadLife(followed, settings(), damaged, hasStarted)
      })
    )
  )
  const inTime = yield* Effect.timeoutOption(Deferred.await(hasStarted), START_WITHIN_MS)
  if (Option.isNone(inTime))
    yield* Effect.logWarning(
      "The dedupe window starts without its runs, which are still being opened; meanwhile processors recognize repetitions"
    )
  return shapeOf(followed)
})
