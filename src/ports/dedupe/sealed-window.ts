/**
 * The window over a log that outlives it: rows that the log shows go to the thread that seals them into runs, and, when
 * another process admitted them, into memory. Runs say which part of the log they cover; what they do not cover is read
 * from the log again, so that a lost, damaged or foreign folder costs time in the background and nothing else.
 */
import { Clock, Deferred, Effect, Exit, Option, Queue } from "effect"
import type { Admission, AdmitRequest, DedupeWindowShape } from "./admission.ts"
import { EventLog, EventLogUnavailable, type LogRecord } from "../../../log/event-log/event-log.ts"
import { type FingerprintKey, FINGERPRINT_WORDS, fingerprintInto } from "../../../log/fingerprint.ts"
import { wordsOf } from "./block.ts"
import { gapsOf } from "./compaction.ts"
import { Layers } from "./layers.ts"
import { digestOf, ROW_WORDS } from "./run-format.ts"
import { RunThread } from "./run-thread.ts"
import type { OpenedRun } from "./run-writer.ts"
import { hourOf } from "../../../log/fingerprint-table.ts"

export interface SealedWindowOptions {
  readonly key: FingerprintKey
  /** Topic of the log, one partition, that the blocks are appended to. */
  readonly topic: string
  /** Folder of the runs, this process's own; created where missing. */
  readonly folder: string
  /** Ids all organizations may have in runs together. Default: 128 million (2 bytes of memory, 22 of disk each). */
  readonly idsMax?: number
  /**
   * Ids from which the table in memory becomes a run. Default: 2^20: a table of 40 MB, and a second one that takes its
   * turn while a run is made.
   */
  readonly sealIds?: number
  /**
   * Memory of one table, which it reaches only when the disk or the log stands still. Past it the oldest ids of full
   * segments go.
   */
  readonly hotBytesMax?: number
  readonly fanout?: number
  readonly runIdsMax?: number
}

const IDS_MAX = 128 * 2 ** 20
const SEAL_IDS = 2 ** 20
const HOT_BYTES_MAX = 192 * 2 ** 20
const FANOUT = 4
/** Room for 16 seals, which end with a group of some thousand ids more than they should. */
const RUN_IDS_SEALS_MAX = 20
const RUNS_MAX = 24
/** How long a call reads files before others have their turn. */
const LOOK_MS = 2
const READ_RECORDS = 256
/** About 16,000 ids in one go: a millisecond or two when they go into the table as well. */
const READ_BYTES_MAX = 256 * 1024
/** Looks at the log while nothing hints at anything new. */
const IDLE_MS = 1_000
/**
 * Between two looks while little comes: one look for the appends of some time. Own blocks are only taken into runs by
 * it, and looking every 10 ms was a twentieth of the accepting thread; another process's ids are known here so much
 * later.
 */
const TAIL_EVERY_MS = 50
const START_WITHIN_MS = 2_500
const RESTORE_BEFORE_START_MS = 1_000
const RETRY_AFTER_MS = 200
const RETRY_AFTER_MAX_MS = 30_000

const failed = (cause: unknown) =>
  new EventLogUnavailable({ message: cause instanceof Error ? cause.message : String(cause) })
const waitFor = <A>(promise: () => Promise<A>): Effect.Effect<A, EventLogUnavailable> =>
  Effect.tryPromise({ try: promise, catch: failed })
/** A turn of the event loop, which sockets and timers have their part of. */
const turn = Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))

/** What tells runs of this installation and topic from others'; neither key nor topic follow from it. */
export const markOf = (key: FingerprintKey, topic: string): string => {
  const words = new Uint32Array(FINGERPRINT_WORDS)
  fingerprintInto(key, `runs of ${topic}`, words, 0)
  return [...words].map((word) => word.toString(16).padStart(8, "0")).join("")
}

/** Records as one buffer of words for the thread, and what it needs to take it apart. */
const packRecords = (
  records: ReadonlyArray<LogRecord>
): { readonly buffer: Uint32Array; readonly parts: Array<number> } => {
  const lengths = records.map(({ value }) => Math.floor(value.length / (4 * FINGERPRINT_WORDS)) * FINGERPRINT_WORDS)
  const buffer = new Uint32Array(lengths.reduce((sum, length) => sum + length, 0))
  const bytes = new Uint8Array(buffer.buffer)
  const parts: Array<number> = []
  let at = 0
  records.forEach(({ appendedAt, value }, i) => {
    bytes.set(value.subarray(0, lengths[i]! * 4), at * 4)
    parts.push(Math.max(0, hourOf(appendedAt)), lengths[i]!)
    at += lengths[i]!
  })
  return { buffer, parts }
}

/**
 * Runs until its scope ends. Fails when the log cannot be read at start; afterwards trouble is logged and tried again.
 */
export const makeSealedWindow = Effect.fnUntraced(function* (
  options: SealedWindowOptions & { readonly windowHours: number }
) {
  const log = yield* EventLog
  const clock = yield* Clock.Clock
  const services = yield* Effect.context<never>()
  const run = Effect.runSyncWith(services)
  const { folder, topic, windowHours } = options
  const now = () => clock.currentTimeMillisUnsafe()
  const sealIds = options.sealIds ?? SEAL_IDS
  const readBytesMax = Math.min(READ_BYTES_MAX, sealIds * FINGERPRINT_WORDS * 4)
  const mark = markOf(options.key, topic)
  /** What stops the present life of the thread: a run that cannot be read. */
  let damaged = yield* Deferred.make<string>()
  const layers = new Layers({
    key: options.key,
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

  /**
   * Rows at offsets from `hotFrom` up to `knownTo` are in the tables; those below are known only once they are in runs.
   */
  let hotFrom = 0
  let knownTo = 0
  /** Rows that the thread holds and has not sealed. */
  let unsealedRows = 0

  /**
   * The newest first, because what is sent again was mostly sent a moment ago; as much as a table holds and start has
   * time for.
   */
  const restoreNewest = Effect.fnUntraced(function* (first: number) {
    const startedAt = performance.now()
    for (let rows = 0; hotFrom > first && rows < sealIds && performance.now() - startedAt < RESTORE_BEFORE_START_MS;) {
      const stop = hotFrom
      hotFrom = Math.max(first, stop - READ_RECORDS)
      for (let from = hotFrom; from < stop;) {
        const answer = yield* log.read({ topic, partition: 0, from, recordsMax: stop - from, bytesMax: readBytesMax })
        for (const { appendedAt, offset, value } of answer.records)
          if (offset < stop) rows += layers.restored(wordsOf(value), appendedAt)
        from = answer.nextOffset
        yield* turn
      }
    }
  })

  /**
   * Names of runs whose last record is not the one the log has there: of a log that was wiped, restored or goes on
   * elsewhere.
   */
  const foreignRuns = Effect.fnUntraced(function* (runs: ReadonlyArray<OpenedRun>, endOffset: number) {
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

  const hasStarted = yield* Deferred.make<void>()

  /** One life of the thread: runs are opened, gaps between them filled from the log, then its end is followed. */
  const life = Effect.gen(function* () {
    damaged = yield* Deferred.make<string>()
    const trouble = yield* Deferred.make<never, EventLogUnavailable>()
    const guarded = (change: () => void) =>
      layers.whenIdle(() => {
        try {
          change()
        } catch (error) {
          Deferred.doneUnsafe(trouble, Effect.fail(failed(error)))
        }
      })
    const thread: RunThread = yield* Effect.acquireRelease(
      Effect.sync(
        () =>
          new RunThread(
            {
              folder,
              mark,
              oldestHour: layers.oldestHour(now()),
              idsMax: options.idsMax ?? IDS_MAX,
              fanout: options.fanout ?? FANOUT,
              runIdsMax: options.runIdsMax ?? RUN_IDS_SEALS_MAX * sealIds,
              runsMax: RUNS_MAX
            },
            ({ added, removed }) =>
              guarded(() => {
                layers.changed(removed, added)
                thread.release(removed)
              })
          )
      ),
      (opened) => Effect.promise(() => opened.close())
    )
    unsealedRows = 0

    const follow = Effect.gen(function* () {
      const hints = yield* log.subscribe
      const { discarded, runs } = yield* waitFor(() => thread.opened)
      yield* Effect.forEach(discarded, (reason) =>
        Effect.logWarning(`The dedupe window reads the log again for a run that it threw away: ${reason}`)
      )
      const { endOffset } = yield* log.bounds(topic, 0)
      const first = yield* log.offsetAt(topic, 0, now() - windowHours * 3_600_000)
      const foreign = yield* foreignRuns(runs, endOffset)
      if (foreign.length > 0) {
        yield* Effect.logWarning(
          `The dedupe window threw away ${foreign.length} runs that do not belong to this log (or are older than it)`
        )
        yield* waitFor(() => thread.discard(foreign))
      }
      const kept = runs.filter(({ name }) => !foreign.includes(name))
      yield* Effect.callback<void>((resume) =>
        guarded(() => {
          layers.install(kept)
          thread.begin()
          resume(Effect.void)
        })
      )
      const covered = Math.max(first, ...kept.map(({ header }) => header.to))
      if (knownTo === 0) {
        hotFrom = knownTo = endOffset
        yield* restoreNewest(covered)
      }
      Deferred.doneUnsafe(hasStarted, Effect.void)

      let from = covered
      let position = covered
      /** The newest record that was read: a run tells by it which log it is of. */
      let last: LogRecord | undefined
      let sealing: Promise<void> = Promise.resolve()

      const seal = Effect.gen(function* () {
        yield* waitFor(() => sealing)
        if (unsealedRows === 0) return
        const isCovering = position >= knownTo
        if (isCovering && !layers.isSealing) layers.swap()
        const range = {
          from,
          to: position,
          lastOffset: last?.offset ?? -1,
          digest: last === undefined ? 0 : digestOf(last.appendedAt, last.value)
        }
        from = position
        unsealedRows = 0
        sealing = thread.seal(range, layers.oldestHour(now())).then((sealed) =>
          guarded(() => {
            layers.sealed(sealed, isCovering)
            if (isCovering) hotFrom = Math.max(hotFrom, range.to)
          })
        )
        sealing.catch(() => {})
      })

      /** Takes the records of one read; answers their bytes, or -1 when there was none. */
      const take = Effect.fnUntraced(function* (stop: number) {
        const answer = yield* log.read({
          topic,
          partition: 0,
          from: position,
          recordsMax: READ_RECORDS,
          bytesMax: readBytesMax
        })
        const records = answer.records.filter(({ offset }) => offset < stop)
        const { buffer, parts } = packRecords(records)
        let at = 0
        records.forEach(({ appendedAt, offset }, i) => {
          const words = buffer.subarray(at, (at += parts[2 * i + 1]!))
          if (offset >= knownTo) layers.tailed(words, appendedAt)
        })
        const final = records.at(-1)
        if (final !== undefined) last = final
        const isMoved = answer.nextOffset > position
        position = Math.max(position, Math.min(answer.nextOffset, stop))
        unsealedRows += buffer.length / FINGERPRINT_WORDS
        if (stop === Infinity) knownTo = Math.max(knownTo, position)
        const bytes = buffer.byteLength
        const room = bytes === 0 ? undefined : thread.add(buffer.buffer as ArrayBuffer, parts)
        if (room !== undefined) yield* waitFor(() => room)
        if (unsealedRows >= sealIds) yield* seal
        return isMoved ? bytes : -1
      })

      for (const gap of gapsOf(
        kept.map(({ header }) => header),
        first,
        Math.min(covered, endOffset)
      )) {
        from = position = gap.from
        while (position < gap.to) {
          if ((yield* take(gap.to)) < 0) break
          yield* turn
        }
        yield* seal
      }
      from = position = covered

      for (;;) {
        const isBehind = position < knownTo
        const bytes = yield* take(isBehind ? knownTo : Infinity)
        if (isBehind) {
          // Nothing is there to be read though it was told: what is known ends here.
          if (bytes < 0) position = knownTo
          if (position >= knownTo && from < hotFrom) yield* seal
          yield* turn
        } else if (bytes < 0)
          yield* Effect.timeoutOption(
            Effect.repeat(Queue.take(hints), { until: (hint) => hint.topic === topic }),
            IDLE_MS
          )
        else if (bytes < readBytesMax) yield* Effect.sleep(TAIL_EVERY_MS)
        else yield* turn
      }
    })

    const name = yield* Effect.raceFirst(
      Effect.raceFirst(
        follow,
        Effect.raceFirst(
          waitFor(() => thread.failed),
          Deferred.await(trouble)
        )
      ),
      Deferred.await(damaged)
    )
    yield* waitFor(() => thread.discard([name]))
    return name
  }).pipe(Effect.scoped)

  const supervised = Effect.gen(function* () {
    for (let delay_ms = RETRY_AFTER_MS; ;) {
      const bornAt = performance.now()
      const ended = yield* Effect.exit(life)
      // A damaged run was told when it was found; anything else is told here.
      if (Exit.isFailure(ended))
        yield* Effect.logError(
          "The dedupe window cannot keep its runs and tries again; processors tell repetitions meanwhile",
          ended.cause
        )
      yield* Effect.sleep(delay_ms)
      delay_ms =
        Exit.isSuccess(ended) || performance.now() - bornAt > RETRY_AFTER_MAX_MS
          ? RETRY_AFTER_MS
          : Math.min(2 * delay_ms, RETRY_AFTER_MAX_MS)
    }
  })

  yield* log.bounds(topic, 0)
  yield* Effect.forkScoped(supervised)
  const inTime = yield* Effect.timeoutOption(Deferred.await(hasStarted), START_WITHIN_MS)
  if (Option.isNone(inTime))
    yield* Effect.logWarning(
      "The dedupe window starts without its runs, which are still being opened; processors tell repetitions meanwhile"
    )

  const shape: DedupeWindowShape = {
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
    // The thread's rows are in a buffer that doubles.
    bytes: Effect.sync(() => layers.bytes + 2 * unsealedRows * ROW_WORDS * 4)
  }
  return shape
})
