/**
 * The event log as a stream worker sees it: reads go to the LMDB environment directly, up to the offsets that the front
 * has reported durable; appends travel to the front, the environment's only writer.
 */
import { Effect, Layer, Queue } from "effect"
import {
  type AppendedHint,
  EventLog,
  EventLogOverloaded,
  EventLogUnavailable,
  HINTS_MAX
} from "@dowser/log/event-log/event-log"
import { offsetAtOrAfter, readDurable } from "@dowser/log/event-log/lmdb"
import { openLogEnvironment } from "@dowser/log/event-log/lmdb-environment"
import type { PartitionEnd, StreamsPort, ToStreams } from "./messages.ts"

/** Appends that may wait for the front's answer; dead letters are rare, so a full table means something is wrong. */
const APPENDS_MAX = 1_024

type Stored = Extract<ToStreams, { kind: "stored" | "refused" }>

export const layerWorkerLog = (options: {
  readonly path: string
  readonly port: StreamsPort
  readonly ends: ReadonlyArray<PartitionEnd>
}): Layer.Layer<EventLog> =>
  Layer.effect(
    EventLog,
    Effect.gen(function* () {
      const environment = yield* Effect.acquireRelease(
        Effect.sync(() => openLogEnvironment(options.path)),
        (opened) => Effect.promise(() => opened.close())
      )
      const ends = new Map(options.ends.map((end) => [`${end.topic}/${end.partition}`, end.endOffset]))
      const subscribers = new Set<Queue.Queue<AppendedHint>>()
      const waiting = new Map<number, (answer: Stored) => void>()
      let appends = 0
      options.port.onMessage((message) => {
        if (message.kind === "appended") {
          for (const hint of message.ends) {
            ends.set(`${hint.topic}/${hint.partition}`, hint.endOffset)
            subscribers.forEach((queue) => Queue.offerUnsafe(queue, hint))
          }
        } else if (message.kind === "stored" || message.kind === "refused") {
          waiting.get(message.id)?.(message)
          waiting.delete(message.id)
        }
      })
      const endOf = (topic: string, partition: number) => ends.get(`${topic}/${partition}`) ?? 0
      const attempt = <A>(evaluate: () => A) =>
        Effect.try({
          try: evaluate,
          catch: (cause) => new EventLogUnavailable({ message: cause instanceof Error ? cause.message : String(cause) })
        })
      return EventLog.of({
        append: (records) =>
          Effect.callback((resume) => {
            if (waiting.size >= APPENDS_MAX)
              return resume(
                Effect.fail(
                  new EventLogOverloaded({ message: "too many appends wait for the front", retry_after_s: 1 })
                )
              )
            const id = appends++
            waiting.set(id, (answer) =>
              resume(
                answer.kind === "stored"
                  ? Effect.succeed(answer.offsets)
                  : answer.isOverloaded
                    ? Effect.fail(new EventLogOverloaded({ message: answer.message, retry_after_s: 1 }))
                    : Effect.fail(new EventLogUnavailable({ message: answer.message }))
              )
            )
            options.port.send({
              kind: "append",
              id,
              records: records.map(({ key, partition, topic, value }) => ({
                topic,
                partition,
                key,
                value: value.slice().buffer as ArrayBuffer
              }))
            })
          }),
        read: (request) => attempt(() => readDurable(environment, request, endOf(request.topic, request.partition))),
        bounds: (topic, partition) =>
          attempt(() => {
            environment.refresh()
            const endOffset = endOf(topic, partition)
            return { startOffset: Math.min(environment.bounds(topic, partition).startOffset, endOffset), endOffset }
          }),
        offsetAt: (topic, partition, time) =>
          attempt(() => offsetAtOrAfter(environment, topic, partition, time, endOf(topic, partition))),
        rewrite: (topic, partition, values) =>
          Effect.callback((resume) => {
            if (waiting.size >= APPENDS_MAX)
              return resume(Effect.fail(new EventLogUnavailable({ message: "too many writes wait for the front" })))
            const id = appends++
            waiting.set(id, (answer) =>
              resume(
                answer.kind === "stored"
                  ? Effect.succeed(true)
                  : Effect.fail(new EventLogUnavailable({ message: answer.message }))
              )
            )
            options.port.send({
              kind: "rewrite",
              id,
              topic,
              partition,
              values: values.map(({ offset, value }) => ({ offset, value: value.slice().buffer as ArrayBuffer }))
            })
          }),
        // Whether the log still takes anything, the front knows: an append that it refuses says so.
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
  )
