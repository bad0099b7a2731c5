/**
 * The front's side of the stream worker: it starts the thread, reports how far the log is durable, appends its dead
 * letters, restarts it when it ends, and keeps the log within its retention. Searches and events never wait for it.
 */
import { Cause, Context, Deferred, Effect, Layer, Queue } from "effect"
import { Worker } from "node:worker_threads"
import { EventLog, type EventLogUnavailable } from "@dowser/log/event-log/event-log"
import { type LifeEnd, supervised } from "@dowser/log/process/supervised"
import type { FromStreams, PartitionEnd, ToStreams, WorkerSettings } from "./messages.ts"
import { makeRetention } from "./retention.ts"
import { readersOf } from "../processors/runnable.ts"
import type { Progress } from "../runner/options.ts"
import { partitionsOf, type Topic, TOPICS } from "@dowser/log/topics"

interface HostOptions extends Omit<WorkerSettings, "ends"> {
  /** The script of the thread; tests insert one that fails. */
  readonly entry?: URL
  /** Interval between two checks for expired records. */ readonly retentionEvery_ms?: number
}

interface StreamWorkerShape {
  /** The newest report of every partition. */
  readonly progress: Effect.Effect<ReadonlyArray<Progress>>
  /** Number of restarts of the thread. */
  readonly restarts: Effect.Effect<number>
  /**
   * Age (ms) of the oldest record that is not in any figure yet, over all partitions; 0 if everything is counted. Reads
   * one record per partition.
   */
  readonly lag_ms: Effect.Effect<number, EventLogUnavailable>
}

const HEAP_MB = 1_024
/** Hints within this time are sent as one message. */
const HINTS_EVERY_MS = 5
/** A subscription holds 256 hints; this many at once may mean that older ones were dropped. */
const HINTS_DROPPED_FROM = 255
const STOP_WITHIN_MS = 5_000
const RESTART_AFTER_MS = 200
const RESTART_AFTER_MAX_MS = 10_000
const RETENTION_EVERY_MS = 10 * 60_000
/** After a thread has run this long, its end does not count as another failure in a row. */
const LONG_LIFE_MS = 10 * 60_000

/**
 * A thread and the front that serves it: the front appends for it, reports what is durable, and receives its reports.
 */
class WorkerThread {
  readonly #options: Omit<HostOptions, "retentionEvery_ms">
  readonly #log: EventLog["Service"]
  readonly #partitions: ReadonlyArray<{ readonly topic: Topic; readonly partition: number }>
  /** The newest report of every partition, by group and partition. */
  readonly progress = new Map<string, Progress>()

  constructor(
    options: Omit<HostOptions, "retentionEvery_ms">,
    log: EventLog["Service"],
    partitions: ReadonlyArray<{ readonly topic: Topic; readonly partition: number }>
  ) {
    this.#options = options
    this.#log = log
    this.#partitions = partitions
  }

  /** Reading the bounds also creates the databases that the worker can only read. */
  get endsNow() {
    return Effect.all(
      this.#partitions.map(({ partition, topic }) =>
        Effect.map(this.#log.bounds(topic.name, partition), ({ endOffset }): PartitionEnd => ({
          topic: topic.name,
          partition,
          endOffset
        }))
      )
    )
  }

  #appendFor(worker: Worker, { id, records }: Extract<FromStreams, { kind: "append" }>) {
    return this.#log
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
  }
  #rewriteFor(worker: Worker, { id, partition, topic, values }: Extract<FromStreams, { kind: "rewrite" }>) {
    return this.#log
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
  }

  /** Runs the thread until the scope ends; `ended` receives the reason if it ends earlier. */
  #start(settings: WorkerSettings, entry: URL, inbox: Queue.Queue<FromStreams>, ended: Deferred.Deferred<string>) {
    const listen = (): Worker => {
      const thread = new Worker(entry, { workerData: settings, resourceLimits: { maxOldGenerationSizeMb: HEAP_MB } })
      let failure = ""
      thread.on("message", (message: FromStreams) => {
        if (message.kind === "progress")
          this.progress.set(`${message.progress.group}/${message.progress.partition}`, message.progress)
        else if (message.kind === "failed") failure = `${message.name}: ${message.message}\n${message.stack ?? ""}`
        else if (message.kind === "append" || message.kind === "rewrite") Queue.offerUnsafe(inbox, message)
      })
      thread.on("error", (error) => {
        failure ||= String(error)
      })
      thread.on("exit", (code) => Deferred.doneUnsafe(ended, Effect.succeed(failure || `exit code ${code}`)))
      return thread
    }
    return Effect.acquireRelease(Effect.sync(listen), (thread) =>
      Effect.gen(function* () {
        thread.postMessage({ kind: "stop" } satisfies ToStreams)
        const left = yield* Effect.timeoutOption(Deferred.await(ended), STOP_WITHIN_MS)
        // The thread no longer reacts. It is terminated last, because nobody else can close what it had open.
        if (left._tag === "None") yield* Effect.promise(() => thread.terminate())
      })
    )
  }

  /** Reports to the thread how far the log is durable, merging the hints of some milliseconds. */
  #reportEnds(worker: Worker, hints: Queue.Dequeue<PartitionEnd>) {
    const { endsNow } = this
    return Effect.gen(function* () {
      const first = yield* Queue.take(hints)
      yield* Effect.sleep(HINTS_EVERY_MS)
      const rest = yield* Effect.orElseSucceed(Queue.clear(hints), () => [])
      const newest = new Map<string, PartitionEnd>()
      for (const hint of [first, ...rest]) newest.set(`${hint.topic}/${hint.partition}`, hint)
      // Hints beyond the queue's bound were dropped, maybe a partition's only one, so all ends are read from the log.
      const ends = rest.length >= HINTS_DROPPED_FROM ? yield* endsNow : [...newest.values()]
      worker.postMessage({ kind: "appended", ends } satisfies ToStreams)
    })
  }

  /** Runs the thread once, until it ends; returns why it ended. */
  readonly life = Effect.scoped(
    Effect.gen({ self: this }, function* () {
      const hints = yield* this.#log.subscribe
      const ended = yield* Deferred.make<string>()
      const { entry = new URL("./worker.ts", import.meta.url), ...rest } = this.#options
      const inbox = yield* Queue.bounded<FromStreams>(1_024)
      const worker = yield* this.#start({ ...rest, ends: yield* this.endsNow }, entry, inbox, ended)
      yield* Effect.forkScoped(Effect.forever(this.#reportEnds(worker, hints)))
      yield* Effect.forkScoped(
        Effect.forever(
          Effect.flatMap(Queue.take(inbox), (message) =>
            message.kind === "append"
              ? this.#appendFor(worker, message)
              : message.kind === "rewrite"
                ? this.#rewriteFor(worker, message)
                : Effect.void
          )
        )
      )
      return yield* Deferred.await(ended)
    })
  )
}

const make = Effect.fnUntraced(function* ({ retentionEvery_ms = RETENTION_EVERY_MS, ...options }: HostOptions) {
  const log = yield* EventLog
  const partitions = TOPICS.flatMap((topic) =>
    Array.from({ length: partitionsOf(topic, options.visitorPartitions) }, (_, partition) => ({ topic, partition }))
  )
  const thread = new WorkerThread(options, log, partitions)
  const { progress } = thread
  let restarts = 0
  const life: Effect.Effect<LifeEnd> = Effect.gen(function* () {
    const reason = yield* Effect.catchCause(thread.life, (cause) => Effect.succeed(Cause.pretty(cause)))
    restarts++
    yield* Effect.logError(`The stream worker ended and is started again: ${reason}`)
    return "failed" as const
  })
  const { every, lag_ms } = yield* makeRetention({
    partitions,
    readersOf,
    committedOf: (group, partition) => progress.get(`${group}/${partition}`)?.committed
  })

  yield* thread.endsNow
  yield* Effect.forkScoped(
    supervised({ first_ms: RESTART_AFTER_MS, max_ms: RESTART_AFTER_MAX_MS, healthyAfter_ms: LONG_LIFE_MS }, life)
  )
  yield* Effect.forkScoped(every(retentionEvery_ms))
  return StreamWorker.of({
    progress: Effect.sync(() => [...progress.values()]),
    restarts: Effect.sync(() => restarts),
    lag_ms
  })
})

export class StreamWorker extends Context.Service<StreamWorker, StreamWorkerShape>()("dowser/streams/StreamWorker") {
  /** Runs as long as the layer; stops the thread within five seconds. */
  static readonly layer = (options: HostOptions) => Layer.effect(StreamWorker, make(options))
}
