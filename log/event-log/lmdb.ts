/**
 * The embedded event log: LMDB, one writing thread (the front), any number of reading threads. Appends that wait while
 * a commit is being synced are grouped into the next one, so a slow disk makes larger groups and not a queue of syncs.
 * A record is readable only once it is durable: a consumer must not count what a power cut could undo.
 */
import { statfs } from "node:fs/promises"
import { Clock, Effect, Layer, Queue } from "effect"
import {
  type AppendedHint,
  type AppendRecord,
  EventLog,
  EventLogOverloaded,
  type EventLogShape,
  EventLogUnavailable,
  HINTS_MAX,
  type LogRecord,
  type RewrittenRecord
} from "./event-log.ts"
import { type LogSpaceOptions, spaceRefusal } from "./log-space.ts"
import { frame, type LogEnvironment, type LogWrite, openLogEnvironment } from "./lmdb-environment.ts"

export interface EmbeddedLogOptions {
  /** Folder of the environment; created if missing. */
  readonly path: string
  /** Bytes that may wait for a commit before `append` refuses. */
  readonly pendingBytesMax?: number
  /** Bytes of one commit: bounds how long one group occupies the disk and its callers wait. */
  readonly groupBytesMax?: number
  /**
   * Near these bounds appends are refused, except to topics that `isAlwaysTaken`: without dead letters nothing can be
   * counted and then removed.
   */
  readonly space?: LogSpaceOptions & { readonly isAlwaysTaken?: (topic: string) => boolean }
  /** Opens the environment; tests insert a simulated disk. */
  readonly open?: (path: string) => LogEnvironment
}

const PENDING_BYTES_MAX = 64 * 1024 * 1024
const GROUP_BYTES_MAX = 8 * 1024 * 1024
const OVERLOADED_RETRY_AFTER_S = 1
/** Only retention or the operator frees space, which takes a while. */
const FULL_RETRY_AFTER_S = 30
const SPACE_EVERY_MS = 1_000

type AppendFailure = EventLogOverloaded | EventLogUnavailable
type AppendDone = (result: ReadonlyArray<number> | AppendFailure) => void
interface PendingAppend {
  readonly records: ReadonlyArray<AppendRecord>
  readonly bytes: number
  readonly done: AppendDone
}

/** Reads from an environment up to a given end. Shared by the front's log and by reading threads. */
export const readDurable = (
  environment: LogEnvironment,
  request: { topic: string; partition: number; from: number; recordsMax: number; bytesMax: number },
  endOffset: number
) => {
  environment.refresh()
  const { startOffset } = environment.bounds(request.topic, request.partition)
  const records: Array<LogRecord> = []
  let next = Math.max(request.from, Math.min(startOffset, endOffset))
  for (let bytes = 0; next < endOffset && records.length < request.recordsMax && bytes < request.bytesMax; next++) {
    const record = environment.get(request.topic, request.partition, next)
    if (record === undefined) continue
    bytes += record.value.length
    records.push(record)
  }
  // An open read transaction would retain every page that retention frees from now on.
  environment.refresh()
  return { records, nextOffset: next, startOffset }
}

/** First durable offset appended at or after `time`, by bisection: append times follow offsets. */
export const offsetAtOrAfter = (
  environment: LogEnvironment,
  topic: string,
  partition: number,
  time: number,
  endOffset: number
): number => {
  environment.refresh()
  let low = Math.min(environment.bounds(topic, partition).startOffset, endOffset)
  let high = endOffset
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const record = environment.get(topic, partition, middle)
    if (record !== undefined && record.appendedAt >= time) high = middle
    else low = middle + 1
  }
  environment.refresh()
  return low
}

const failed = (cause: unknown) =>
  new EventLogUnavailable({ message: cause instanceof Error ? cause.message : String(cause) })

/** The answer to every append after a failed sync. */
const unsynced = (cause: unknown) =>
  new EventLogUnavailable({
    message: `the event log could not be synced to disk (${cause instanceof Error ? cause.message : String(cause)}) and accepts nothing until Dowser is restarted`
  })

class LmdbEventLog {
  readonly #environment: LogEnvironment
  readonly #now: () => number
  readonly #publish: (hint: AppendedHint) => void
  readonly #pendingBytesMax: number
  readonly #groupBytesMax: number
  readonly #isAlwaysTaken: (topic: string) => boolean
  /** Why there is no space; undefined if there is some. */
  full: string | undefined
  /** End offsets by `topic/partition`, of durable records only. */
  readonly #ends = new Map<string, number>()
  #waiting: Array<PendingAppend> = []
  #pendingBytes = 0
  #draining: Promise<void> | undefined
  /**
   * Set permanently once a sync has failed: what the file contains afterwards is unknown until a new process opens it.
   *
   * Decision: it is not reopened here. A second sync would succeed without the pages that the kernel gave up on. LMDB
   * also shares one environment among the threads of a process, so while the stream worker reads, reopening would
   * continue with the unsynced transaction instead of returning to the newest synced one. A new process does return to
   * it (`safeRestore`), and finds every acknowledged record. Until then nothing is acknowledged and `health` reports
   * the failure.
   */
  #broken: EventLogUnavailable | undefined

  constructor(
    environment: LogEnvironment,
    options: EmbeddedLogOptions,
    now: () => number,
    publish: (hint: AppendedHint) => void
  ) {
    this.#environment = environment
    this.#now = now
    this.#publish = publish
    this.#pendingBytesMax = options.pendingBytesMax ?? PENDING_BYTES_MAX
    this.#isAlwaysTaken = options.space?.isAlwaysTaken ?? (() => false)
    this.#groupBytesMax = options.groupBytesMax ?? GROUP_BYTES_MAX
  }

  endOf(topic: string, partition: number): number {
    const name = `${topic}/${partition}`
    let end = this.#ends.get(name)
    // What an opened file contains has survived, so it is durable by definition.
    if (end === undefined) this.#ends.set(name, (end = this.#environment.bounds(topic, partition).endOffset))
    return end
  }

  get broken(): EventLogUnavailable | undefined {
    return this.#broken
  }

  append(records: ReadonlyArray<AppendRecord>, done: AppendDone): void {
    if (this.#broken !== undefined) return done(this.#broken)
    if (records.length === 0) return done([])
    let bytes = 0
    for (const record of records) bytes += record.value.length
    if (this.#pendingBytes > 0 && this.#pendingBytes + bytes > this.#pendingBytesMax) {
      return done(
        new EventLogOverloaded({
          message: "the event log has too much waiting to be written",
          retry_after_s: OVERLOADED_RETRY_AFTER_S
        })
      )
    }
    if (this.full !== undefined && !records.every(({ topic }) => this.#isAlwaysTaken(topic))) {
      return done(new EventLogOverloaded({ message: this.full, retry_after_s: FULL_RETRY_AFTER_S }))
    }
    this.#pendingBytes += bytes
    this.#waiting.push({ records, bytes, done })
    this.#draining ??= this.#drain()
  }

  async #drain(): Promise<void> {
    // Yielding once lets every append of this turn join the first group.
    await Promise.resolve()
    try {
      while (this.#waiting.length > 0) {
        let count = 0
        for (
          let bytes = 0;
          count < this.#waiting.length && (count === 0 || bytes + this.#waiting[count]!.bytes <= this.#groupBytesMax);
          count++
        ) {
          bytes += this.#waiting[count]!.bytes
        }
        await this.#commit(this.#waiting.splice(0, count))
      }
    } finally {
      // Cleared in the same turn as the check that found nothing, or an append between the two would wait for the next
      // one.
      this.#draining = undefined
    }
  }

  async #commit(group: ReadonlyArray<PendingAppend>): Promise<void> {
    const appendedAt = this.#now()
    const ends = new Map<string, AppendedHint>()
    const offsets: Array<Array<number>> = []
    const writes: Array<LogWrite> = []
    for (const { records } of group) {
      offsets.push(
        records.map(({ topic, partition, key, value }) => {
          const name = `${topic}/${partition}`
          const offset = ends.get(name)?.endOffset ?? this.endOf(topic, partition)
          ends.set(name, { topic, partition, endOffset: offset + 1 })
          writes.push({ topic, partition, offset, value: frame(appendedAt, key, value) })
          return offset
        })
      )
    }
    let failure: EventLogUnavailable | undefined = this.#broken
    if (failure === undefined) {
      failure = await this.#environment.commit(writes).then(() => undefined, failed)
      if (failure === undefined)
        failure = this.#broken = await this.#environment.synced().then(() => undefined, unsynced)
    }
    if (failure === undefined) {
      for (const [name, hint] of ends) this.#ends.set(name, hint.endOffset)
    }
    for (let i = 0; i < group.length; i++) {
      this.#pendingBytes -= group[i]!.bytes
      group[i]!.done(failure ?? offsets[i]!)
    }
    if (failure === undefined) ends.forEach((hint) => this.#publish(hint))
  }

  async trim(topic: string, partition: number, before: number): Promise<void> {
    const stop = Math.min(before, this.endOf(topic, partition))
    for (let start = -1; ;) {
      const next = await this.#environment.trim(topic, partition, stop)
      if (next >= stop || next === start) return
      start = next
    }
  }

  async rewrite(topic: string, partition: number, values: ReadonlyArray<RewrittenRecord>): Promise<boolean> {
    if (this.#broken !== undefined) throw this.#broken
    await this.#environment.rewrite(topic, partition, values)
    const failure = await this.#environment.synced().then(() => undefined, unsynced)
    if (failure === undefined) return true
    throw (this.#broken = failure)
  }

  async close(): Promise<void> {
    await this.#draining
    await this.#environment.close()
  }
}

const make = Effect.fnUntraced(function* (options: EmbeddedLogOptions) {
  const clock = yield* Clock.Clock
  const environment = (options.open ?? openLogEnvironment)(options.path)
  const subscribers = new Set<Queue.Queue<AppendedHint>>()
  const log = yield* Effect.acquireRelease(
    Effect.sync(
      () =>
        new LmdbEventLog(
          environment,
          options,
          () => clock.currentTimeMillisUnsafe(),
          (hint) => subscribers.forEach((queue) => Queue.offerUnsafe(queue, hint))
        )
    ),
    (log) => Effect.promise(() => log.close())
  )
  const attempt = <A>(evaluate: () => A) => Effect.try({ try: evaluate, catch: failed })
  const lookAtSpace = Effect.gen(function* () {
    const { bavail, bsize } = yield* Effect.tryPromise({ try: () => statfs(options.path), catch: failed })
    const full = spaceRefusal(environment.usage(), bavail * bsize, options.space ?? {})
    if (full !== undefined && log.full === undefined) yield* Effect.logError(`Events are refused: ${full}`)
    if (full === undefined && log.full !== undefined)
      yield* Effect.logInfo("Events are accepted again: the event log has room")
    log.full = full
  }).pipe(Effect.catch((error) => Effect.logWarning("How much room the event log has could not be seen", error)))
  yield* lookAtSpace
  yield* Effect.forkScoped(Effect.forever(Effect.andThen(Effect.sleep(SPACE_EVERY_MS), lookAtSpace)))
  const shape: EventLogShape = {
    append: (records) =>
      Effect.callback((resume) =>
        log.append(records, (result) => resume("_tag" in result ? Effect.fail(result) : Effect.succeed(result)))
      ),
    read: (request) => attempt(() => readDurable(environment, request, log.endOf(request.topic, request.partition))),
    bounds: (topic, partition) =>
      attempt(() => {
        environment.refresh()
        const endOffset = log.endOf(topic, partition)
        return { startOffset: Math.min(environment.bounds(topic, partition).startOffset, endOffset), endOffset }
      }),
    offsetAt: (topic, partition, time) =>
      attempt(() => offsetAtOrAfter(environment, topic, partition, time, log.endOf(topic, partition))),
    trim: (topic, partition, before) =>
      Effect.tryPromise({ try: () => log.trim(topic, partition, before), catch: failed }),
    rewrite: (topic, partition, values) =>
      Effect.tryPromise({
        try: () => log.rewrite(topic, partition, values),
        catch: (cause) => (cause instanceof EventLogUnavailable ? cause : failed(cause))
      }),
    health: Effect.suspend(() => {
      if (log.broken !== undefined) return Effect.fail(log.broken)
      return log.full === undefined ? Effect.void : Effect.fail(new EventLogUnavailable({ message: log.full }))
    }),
    subscribe: Effect.acquireRelease(
      Effect.tap(Queue.sliding<AppendedHint>(HINTS_MAX), (queue) => Effect.sync(() => subscribers.add(queue))),
      (queue) =>
        Effect.andThen(
          Effect.sync(() => subscribers.delete(queue)),
          Queue.shutdown(queue)
        )
    )
  }
  return EventLog.of(shape)
})

/** The log in a folder of this machine, written by this thread only. Closing drains pending appends. */
export const layerEmbedded = (options: EmbeddedLogOptions): Layer.Layer<EventLog> =>
  Layer.effect(EventLog, make(options))
