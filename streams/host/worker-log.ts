/**
 * The event log as a stream worker sees it: it reads from the LMDB environment directly, up to the offsets that the
 * front has reported durable; appends are sent to the front, the environment's only writer.
 */
import { Effect, Layer, Queue } from "effect"
import {
  type AppendedHint,
  type AppendRecord,
  EventLog,
  EventLogOverloaded,
  EventLogUnavailable,
  HINTS_MAX
} from "@dowser/log/event-log/event-log"
import { offsetAtOrAfter, readDurable } from "@dowser/log/event-log/lmdb"
import { openLogEnvironment } from "@dowser/log/event-log/lmdb-environment"
import type { FromStreams, PartitionEnd, StreamsPort, ToStreams } from "./messages.ts"

/** Appends that may wait for the front's answer. Dead letters are rare, so a full table is a sign of an error. */
const APPENDS_MAX = 1_024

type Stored = Extract<ToStreams, { kind: "stored" | "refused" }>

/** Appends and rewrites that wait for the front's answer. */
class Front {
  readonly #port: StreamsPort
  readonly #waiting = new Map<number, (answer: Stored) => void>()
  #asked = 0

  constructor(port: StreamsPort) {
    this.#port = port
  }
  get isFull(): boolean {
    return this.#waiting.size >= APPENDS_MAX
  }
  answered(answer: Stored): void {
    this.#waiting.get(answer.id)?.(answer)
    this.#waiting.delete(answer.id)
  }
  ask(message: (id: number) => FromStreams, answered: (answer: Stored) => void): void {
    const id = this.#asked++
    this.#waiting.set(id, answered)
    this.#port.send(message(id))
  }

  append(records: ReadonlyArray<AppendRecord>) {
    return Effect.callback<ReadonlyArray<number>, EventLogOverloaded | EventLogUnavailable>((resume) => {
      if (this.isFull)
        return resume(
          Effect.fail(new EventLogOverloaded({ message: "too many appends wait for the front", retry_after_s: 1 }))
        )
      this.ask(
        (id) => ({
          kind: "append",
          id,
          records: records.map(({ key, partition, topic, value }) => ({
            topic,
            partition,
            key,
            value: ownBytes(value)
          }))
        }),
        (answer) =>
          resume(
            answer.kind === "stored"
              ? Effect.succeed(answer.offsets)
              : answer.isOverloaded
                ? Effect.fail(new EventLogOverloaded({ message: answer.message, retry_after_s: 1 }))
                : Effect.fail(new EventLogUnavailable({ message: answer.message }))
          )
      )
    })
  }
  rewrite(
    topic: string,
    partition: number,
    values: ReadonlyArray<{ readonly offset: number; readonly value: Uint8Array }>
  ) {
    return Effect.callback<boolean, EventLogUnavailable>((resume) => {
      if (this.isFull)
        return resume(Effect.fail(new EventLogUnavailable({ message: "too many writes wait for the front" })))
      this.ask(
        (id) => ({
          kind: "rewrite",
          id,
          topic,
          partition,
          values: values.map(({ offset, value }) => ({ offset, value: ownBytes(value) }))
        }),
        (answer) =>
          resume(
            answer.kind === "stored"
              ? Effect.succeed(true)
              : Effect.fail(new EventLogUnavailable({ message: answer.message }))
          )
      )
    })
  }
}
/**
 * A separate buffer, which can be transferred. Not `value.slice()`: on a Buffer that returns a view of the pool in
 * which other records are built.
 */
const ownBytes = (value: Uint8Array): ArrayBuffer => new Uint8Array(value).buffer

const attempt = <A>(evaluate: () => A) =>
  Effect.try({
    try: evaluate,
    catch: (cause) => new EventLogUnavailable({ message: cause instanceof Error ? cause.message : String(cause) })
  })

interface WorkerLogOptions {
  readonly path: string
  readonly port: StreamsPort
  readonly ends: ReadonlyArray<PartitionEnd>
}

const make = Effect.fnUntraced(function* (options: WorkerLogOptions) {
  const environment = yield* Effect.acquireRelease(
    Effect.sync(() => openLogEnvironment(options.path)),
    (opened) => Effect.promise(() => opened.close())
  )
  const ends = new Map(options.ends.map((end) => [`${end.topic}/${end.partition}`, end.endOffset]))
  const subscribers = new Set<Queue.Queue<AppendedHint>>()
  const front = new Front(options.port)
  options.port.onMessage((message) => {
    if (message.kind === "appended") {
      for (const hint of message.ends) {
        ends.set(`${hint.topic}/${hint.partition}`, hint.endOffset)
        subscribers.forEach((queue) => Queue.offerUnsafe(queue, hint))
      }
    } else if (message.kind === "stored" || message.kind === "refused") front.answered(message)
  })
  const endOf = (topic: string, partition: number) => ends.get(`${topic}/${partition}`) ?? 0
  return EventLog.of({
    append: (records) => front.append(records),
    read: (request) => attempt(() => readDurable(environment, request, endOf(request.topic, request.partition))),
    bounds: (topic, partition) =>
      attempt(() => {
        environment.refresh()
        const endOffset = endOf(topic, partition)
        return { startOffset: Math.min(environment.bounds(topic, partition).startOffset, endOffset), endOffset }
      }),
    offsetAt: (topic, partition, time) =>
      attempt(() => offsetAtOrAfter(environment, topic, partition, time, endOf(topic, partition))),
    rewrite: (topic, partition, values) => front.rewrite(topic, partition, values),
    // Only the front knows whether the log accepts appends; a refused append reports it.
    health: Effect.void,
    trim: () => Effect.fail(new EventLogUnavailable({ message: "retention is the front's business" })),
    subscribe: Effect.acquireRelease(
      Effect.tap(Queue.sliding<AppendedHint>(HINTS_MAX), (queue) => Effect.sync(() => subscribers.add(queue))),
      (queue) =>
        Effect.andThen(
          Effect.sync(() => subscribers.delete(queue)),
          Queue.shutdown(queue)
        )
    )
  })
})

export const layerWorkerLog = (options: WorkerLogOptions): Layer.Layer<EventLog> =>
  Layer.effect(EventLog, make(options))
