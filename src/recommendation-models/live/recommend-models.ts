/**
 * The live state of recommendations in this process: a replica built from the event log alone, in a thread of its own
 * (`live-models.ts`). This side subscribes to the log and passes its bytes on, so that decoding and counting take no
 * time from the answering thread. A request sends one message; if the thread has not caught up, or does not answer in
 * time, the request gets nothing and uses the engine's own order.
 *
 * A snapshot with the log's positions is stored every minute or so; later events are read again at the next start. When
 * somebody is erased, or a collection is created again under an old name, the organization's models are rebuilt from
 * the log.
 */
import { Context, Effect, FiberSet, Layer, type Scope } from "effect"
import { SqlClient } from "effect/sql"
import { EventLog } from "@dowser/log/event-log/event-log"
import type { FingerprintKey } from "@dowser/log/fingerprint"
import { readFingerprintKey } from "@dowser/log/fingerprint-key"
import type { Tombstone } from "@dowser/streams/erasure/erasures"
import { readTombstones } from "@dowser/streams/erasure/tombstones"
import { Installation } from "../../installation.ts"
import { EngineAbsence } from "../../ports/engine/engine.ts"
import { makeRebuildsRepository } from "../rebuilds-repository.ts"
import { Life, type Rebuild } from "./life.ts"
import { type Answer, LiveThread, NO_FIGURES } from "./live-thread.ts"
import type { Ask, LiveFigures } from "./messages.ts"

/** What is known of the state without querying it. */
interface LiveState extends LiveFigures {
  readonly isCaughtUp: boolean
  /** Milliseconds since which it has not been caught up; 0 if it is. */ readonly behind_ms: number
  /** Records of the log that have not been taken yet. */ readonly records_behind: number
}
interface RecommendModelsShape {
  /** Undefined if this process has no state, has not caught up, or does not answer in time (100 ms). */
  readonly ask: (ask: Ask, within_ms?: number) => Effect.Effect<Answer | undefined>
  readonly state: Effect.Effect<LiveState>
  /**
   * Rebuilds an organization's models from the log; returns the number of events. Undefined if there is no state, or a
   * rebuild is in progress. The other processes are notified through `rebuilds`.
   */
  readonly rebuild: (rebuild: Rebuild, report: (progress: number) => void) => Effect.Effect<number | undefined, unknown>
}

/** Longer than any answer of a healthy thread; after it the request continues without an answer. */
const ANSWER_WITHIN_MS = 100
const AGAIN_MS = 1_000
const TOMBSTONES_EVERY_MS = 5_000
const SNAPSHOT_EVERY_MS = 60_000
/** Storing takes at most one part in this many of the thread's time. */
const SNAPSHOT_COST_TIMES = 50
/** Time limit for storing at a stop. */
const STORED_WITHIN_MS = 2_000
/** Memory of the models of all organizations together. */
const BYTES_MAX = 2 * 1024 ** 3

interface LiveOptions {
  /** Number of partitions of the visitor topics. */ readonly partitions: number
  /** Folder of the snapshot, exclusive to this process; undefined: nothing survives a restart. */
  readonly folder: string | undefined
  readonly key: FingerprintKey
  /** The current tombstones. */ readonly tombstones: Effect.Effect<ReadonlyArray<Tombstone>, unknown>
  /** Recently requested rebuilds. */ readonly rebuilds?: Effect.Effect<ReadonlyArray<Rebuild>, unknown>
  /** Interval between two checks of `tombstones` and `rebuilds`. */ readonly tombstonesEvery_ms?: number
  /** Memory of the models of all organizations together. */ readonly bytesMax?: number
}

/** Opens the thread; at its close what it has taken is stored, if that takes only a moment. */
const opened = (log: EventLog["Service"], { bytesMax = BYTES_MAX, folder, key, partitions }: LiveOptions) =>
  Effect.acquireRelease(
    Effect.sync(() => new Life(log, partitions, new LiveThread({ folder, bytesMax, key }))),
    ({ isWhole, thread }) =>
      Effect.gen(function* () {
        if (isWhole())
          yield* Effect.timeoutOption(
            Effect.promise(() => thread.snapshot()),
            STORED_WITHIN_MS
          )
        yield* Effect.promise(() => thread.close())
      })
  )

const living = Effect.fnUntraced(function* (
  log: EventLog["Service"],
  options: LiveOptions,
  become: (life: Life | undefined) => void
): Effect.fn.Return<never, unknown, Scope.Scope> {
  const life = yield* opened(log, options)
  const { thread } = life
  yield* Effect.addFinalizer(() => Effect.sync(() => become(undefined)))
  const positions = yield* Effect.tryPromise(() => thread.opened)
  const isOurs = yield* life.isOfLog(positions)
  if (!isOurs) thread.send({ kind: "clear" })
  const looked = Effect.gen(function* () {
    const [erased, asked] = [
      life.setTombstones(yield* options.tombstones),
      life.asked(yield* options.rebuilds ?? NO_REBUILDS)
    ]
    return [...new Set([...erased, ...asked])]
  })
  const stale = yield* looked
  if (isOurs) life.begin(positions)
  become(life)
  const follows = Effect.andThen(
    life.catchUp(),
    Effect.forEach(
      Array.from({ length: options.partitions }, (_, partition) => partition),
      (partition) => life.follow(partition),
      { concurrency: "unbounded", discard: true }
    )
  )
  const rebuilds = Effect.gen(function* () {
    // The snapshot may not contain the erasures and rebuilds of these organizations.
    if (positions.length > 0) yield* Effect.forEach(stale, (id) => life.rebuild(id), { discard: true })
    for (;;) {
      yield* Effect.sleep(options.tombstonesEvery_ms ?? TOMBSTONES_EVERY_MS)
      yield* Effect.forEach(yield* looked, (id) => life.rebuild(id), { discard: true })
    }
  })
  const snapshots = Effect.gen(function* () {
    for (let wait = SNAPSHOT_EVERY_MS; ;) {
      yield* Effect.sleep(wait)
      const began = performance.now()
      if (life.isCaughtUp && life.isWhole()) yield* Effect.promise(() => thread.snapshot())
      wait = Math.max(SNAPSHOT_EVERY_MS, SNAPSHOT_COST_TIMES * (performance.now() - began))
    }
  })
  const all = Effect.all([follows, rebuilds, snapshots], { concurrency: "unbounded", discard: true })
  yield* Effect.raceFirst(
    all,
    Effect.tryPromise(() => thread.failed)
  )
  return yield* Effect.never
})

const NO_REBUILDS: Effect.Effect<ReadonlyArray<Rebuild>> = Effect.succeed([])
const NOTHING: RecommendModelsShape = {
  ask: () => Effect.succeed(undefined),
  rebuild: () => Effect.succeed(undefined),
  state: Effect.succeed({ ...NO_FIGURES, isCaughtUp: true, behind_ms: 0, records_behind: 0 })
}

const make = Effect.fnUntraced(function* (options: LiveOptions) {
  const log = yield* EventLog
  const fork = yield* FiberSet.makeRuntime<never>()
  let life: Life | undefined
  let since = performance.now()
  const become = (next: Life | undefined) => {
    if (next === undefined) since = performance.now()
    life = next
  }
  const logged = Effect.catchCause(Effect.scoped(living(log, options, become)), (cause) =>
    Effect.logError("The state of recommendations stopped and is opened again", cause)
  )
  yield* Effect.forkScoped(Effect.forever(Effect.andThen(logged, Effect.sleep(AGAIN_MS))))
  return RecommendModels.of({
    ask: (ask, within_ms = ANSWER_WITHIN_MS) =>
      Effect.suspend(() => {
        const own = life
        if (own === undefined || !own.isCaughtUp) return Effect.succeed(undefined)
        return Effect.map(
          Effect.promise(() => own.thread.ask(ask, within_ms)),
          (answer) => {
            if (answer?.isStale === true) fork(Effect.ignore(own.rebuild(ask.organizationId)))
            return answer
          }
        )
      }),
    rebuild: (rebuild, report) =>
      Effect.suspend(() => {
        const own = life
        if (own === undefined || !own.isCaughtUp) return Effect.succeed(undefined)
        own.did(rebuild)
        return own.rebuild(rebuild.organizationId, report)
      }),
    state: Effect.sync(() => ({
      ...(life?.thread.figures ?? NO_FIGURES),
      isCaughtUp: life?.isCaughtUp === true,
      behind_ms: life?.isCaughtUp === true ? 0 : performance.now() - since,
      records_behind: life?.behind ?? 0
    }))
  })
})

export class RecommendModels extends Context.Service<RecommendModels, RecommendModelsShape>()(
  "dowser/recommendations/RecommendModels"
) {
  /** For a process without a live state. */
  static readonly layerNone = Layer.sync(RecommendModels, () => NOTHING)
  static readonly layerOver = (options: LiveOptions): Layer.Layer<RecommendModels, never, EventLog> =>
    Layer.effect(RecommendModels, make(options))
  static readonly layer = Layer.unwrap(
    Effect.gen(function* () {
      // A process without an engine answers no recommendations.
      if ((yield* EngineAbsence)() !== undefined) return RecommendModels.layerNone
      const sql = yield* SqlClient.SqlClient
      const { recommendationsPath: folder, visitorPartitions: partitions } = yield* Installation
      const key = yield* Effect.orDie(readFingerprintKey)
      const tombstones = Effect.provideService(readTombstones, SqlClient.SqlClient, sql)
      const rebuilds = yield* makeRebuildsRepository
      return RecommendModels.layerOver({ folder, partitions, key, tombstones, rebuilds: rebuilds.read })
    })
  )
}
