/**
 * The front's side of the stream worker: starts the thread, tells it how far the log is durable, appends its dead
 * letters, starts it again when it ends, and keeps the log within its retention. Searches and events never wait for it.
 */
import { Cause, Clock, Context, Deferred, Effect, Layer, Queue } from "effect"
import { Worker } from "node:worker_threads"
import { EventLog, type EventLogUnavailable } from "@dowser/log/event-log/event-log"
import type { FromStreams, PartitionEnd, ToStreams, WorkerSettings } from "./messages.ts"
import { makeRetention } from "./retention.ts"
import { readersOf } from "../processors/runnable.ts"
import type { Progress } from "../runner/options.ts"
import { partitionsOf, TOPICS } from "@dowser/log/topics"

export interface HostOptions extends Omit<WorkerSettings, "ends"> {
  /** The script of the thread; tests put one there that breaks. */
  readonly entry?: URL
  /** Between two looks at what is past its time. */ readonly retentionEvery_ms?: number
}

export interface StreamWorkerShape {
  /** The newest report of every partition. */
  readonly progress: Effect.Effect<ReadonlyArray<Progress>>
  /** How often the thread itself had to be started again. */
  readonly restarts: Effect.Effect<number>
  /**
   * Age (ms) of the oldest record that no figure shows yet, over all partitions; 0 when all is counted. A look at one
   * record a partition.
   */
  readonly lag_ms: Effect.Effect<number, EventLogUnavailable>
}

const HEAP_MB = 1_024
/** Hints within this time go as one message. */
const HINTS_EVERY_MS = 5
const STOP_WITHIN_MS = 5_000
const RESTART_AFTER_MS = 200
const RESTART_AFTER_MAX_MS = 10_000
const RETENTION_EVERY_MS = 10 * 60_000
/** A thread that lived so long did not end of what ended the one before. */
const LONG_LIFE_MS = 10 * 60_000

const make = Effect.fnUntraced(function* ({ retentionEvery_ms = RETENTION_EVERY_MS, ...options }: HostOptions) {
  const log = yield* EventLog
  const clock = yield* Clock.Clock
  const progress = new Map<string, Progress>()
  let restarts = 0

  const partitions = TOPICS.flatMap((topic) =>
    Array.from({ length: partitionsOf(topic, options.visitorPartitions) }, (_, partition) => ({ topic, partition }))
  )
  // Asking for the bounds also creates what the worker may only read.
  const endsNow = Effect.all(
    partitions.map(({ partition, topic }) =>
      Effect.map(log.bounds(topic.name, partition), ({ endOffset }): PartitionEnd => ({
        topic: topic.name,
        partition,
        endOffset
      }))
    )
  )

  const appendFor = (worker: Worker, { id, records }: Extract<FromStreams, { kind: "append" }>) =>
    log
      .append(
        records.map(({ key, partition, topic, value }) => ({ topic, partition, key, value: new Uint8Array(value) }))
      )
      .pipe(
        Effect.match({
          onSuccess: (offsets): ToStreams => ({ kind: "stored", id, offsets }),
          onFailure: (error): ToStreams => ({
            kind: "refused",
            id,
            message: error.message,
            isOverloaded: error._tag === "EventLogOverloaded"
          })
        }),
        Effect.map((answer) => worker.postMessage(answer))
      )

  const rewriteFor = (worker: Worker, { id, partition, topic, values }: Extract<FromStreams, { kind: "rewrite" }>) =>
    log
      .rewrite(
        topic,
        partition,
        values.map(({ offset, value }) => ({ offset, value: new Uint8Array(value) }))
      )
      .pipe(
        Effect.match({
          onSuccess: (): ToStreams => ({ kind: "stored", id, offsets: [] }),
          onFailure: (error): ToStreams => ({ kind: "refused", id, message: error.message, isOverloaded: false })
        }),
        Effect.map((answer) => worker.postMessage(answer))
      )

  /** One life of the thread; ends when the thread does. */
  const life = Effect.scoped(
    Effect.gen(function* () {
      const hints = yield* log.subscribe
      const ended = yield* Deferred.make<string>()
      const { entry = new URL("./worker.ts", import.meta.url), ...rest } = options
      const settings: WorkerSettings = { ...rest, ends: yield* endsNow }
      const inbox = yield* Queue.bounded<FromStreams>(1_024)
      const worker = yield* Effect.acquireRelease(
        Effect.sync(() => {
          const thread = new Worker(entry, {
            workerData: settings,
            resourceLimits: { maxOldGenerationSizeMb: HEAP_MB }
          })
          let failure = ""
          thread.on("message", (message: FromStreams) => {
            if (message.kind === "progress")
              progress.set(`${message.progress.group}/${message.progress.partition}`, message.progress)
            else if (message.kind === "failed") failure = `${message.name}: ${message.message}\n${message.stack ?? ""}`
            else if (message.kind === "append" || message.kind === "rewrite") Queue.offerUnsafe(inbox, message)
          })
          thread.on("error", (error) => {
            failure ||= String(error)
          })
          thread.on("exit", (code) => Deferred.doneUnsafe(ended, Effect.succeed(failure || `exit code ${code}`)))
          return thread
        }),
        (thread) =>
          Effect.gen(function* () {
            thread.postMessage({ kind: "stop" } satisfies ToStreams)
            const left = yield* Effect.timeoutOption(Deferred.await(ended), STOP_WITHIN_MS)
            // A thread that does not listen any more; see reference/threads part 1 on why this comes last.
            if (left._tag === "None") yield* Effect.promise(() => thread.terminate())
          })
      )
      yield* Effect.forkScoped(
        Effect.forever(
          Effect.gen(function* () {
            const first = yield* Queue.take(hints)
            yield* Effect.sleep(HINTS_EVERY_MS)
            const rest = yield* Effect.orElseSucceed(Queue.clear(hints), () => [])
            const newest = new Map<string, PartitionEnd>()
            for (const hint of [first, ...rest]) newest.set(`${hint.topic}/${hint.partition}`, hint)
            // Hints beyond the queue's bound were dropped, maybe a partition's only one: then ask the log for all.
            const ends = rest.length >= HINTS_DROPPED_FROM ? yield* endsNow : [...newest.values()]
            worker.postMessage({ kind: "appended", ends } satisfies ToStreams)
          })
        )
      )
      yield* Effect.forkScoped(
        Effect.forever(
          Effect.flatMap(Queue.take(inbox), (message) =>
            message.kind === "append"
              ? appendFor(worker, message)
              : message.kind === "rewrite"
                ? rewriteFor(worker, message)
                : Effect.void
          )
        )
      )
      return yield* Deferred.await(ended)
    })
  )

  const supervise = Effect.gen(function* () {
    for (let delay_ms = RESTART_AFTER_MS; ; delay_ms = Math.min(delay_ms * 2, RESTART_AFTER_MAX_MS)) {
      const bornAt = clock.currentTimeMillisUnsafe()
      const reason = yield* Effect.catchCause(life, (cause) => Effect.succeed(Cause.pretty(cause)))
      restarts++
      yield* Effect.logError(`The stream worker ended and is started again: ${reason}`)
      if (clock.currentTimeMillisUnsafe() - bornAt > LONG_LIFE_MS) delay_ms = RESTART_AFTER_MS
      yield* Effect.sleep(delay_ms)
    }
  })

  const { every, lag_ms } = yield* makeRetention({
    partitions,
    readersOf,
    committedOf: (group, partition) => progress.get(`${group}/${partition}`)?.committed
  })

  yield* endsNow
  yield* Effect.forkScoped(supervise)
  yield* Effect.forkScoped(every(retentionEvery_ms))
  return StreamWorker.of({
    progress: Effect.sync(() => [...progress.values()]),
    restarts: Effect.sync(() => restarts),
    lag_ms
  })
})

/** A subscription holds 256 hints; this many at once may mean that older ones were dropped. */
const HINTS_DROPPED_FROM = 255

export class StreamWorker extends Context.Service<StreamWorker, StreamWorkerShape>()("dowser/streams/StreamWorker") {
  /** Runs as long as the layer; stops the thread within five seconds. */
  static readonly layer = (options: HostOptions) => Layer.effect(StreamWorker, make(options))
}
