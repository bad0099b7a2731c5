/**
 * The processors as seen by a process that runs none: what their owners wrote alongside their leases, at most a second
 * old. Lag is measured against the log itself, so it also grows if nobody runs a processor.
 */
import { Clock, Effect, Layer } from "effect"
import type { SqlClient } from "effect/sql"
import { EventLog } from "@dowser/log/event-log/event-log"
import { StreamWorker } from "./host.ts"
import { readLeases } from "../ownership/leases.ts"
import { readersOf } from "../processors/runnable.ts"
import { partitionsOf, TOPICS } from "@dowser/log/topics"

const LOOK_EVERY_MS = 1_000

const make = Effect.fnUntraced(function* (visitorPartitions: number) {
  const log = yield* EventLog
  const clock = yield* Clock.Clock
  const look = Effect.map(readLeases, (leases) =>
    leases.flatMap(({ progress }) => (progress === undefined ? [] : [progress]))
  )
  let progress = yield* Effect.orDie(look)
  yield* Effect.forkScoped(
    Effect.forever(
      Effect.andThen(
        Effect.sleep(LOOK_EVERY_MS),
        look.pipe(
          Effect.map((found) => {
            progress = found
          }),
          Effect.catch((error) => Effect.logWarning("How far the processors are could not be read", error))
        )
      )
    )
  )

  const lag_ms = Effect.gen(function* () {
    const now = clock.currentTimeMillisUnsafe()
    let oldestAt = now
    for (const topic of TOPICS) {
      if (!topic.waitsForConsumers) continue
      for (let partition = 0; partition < partitionsOf(topic, visitorPartitions); partition++) {
        const reached = readersOf(topic).map(
          (group) =>
            progress.find((report) => report.group === group && report.partition === partition)?.committed[
              topic.name
            ] ?? 0
        )
        const from = Math.min(...reached)
        if ((yield* log.bounds(topic.name, partition)).endOffset <= from) continue
        const { records } = yield* log.read({ topic: topic.name, partition, from, recordsMax: 1, bytesMax: 1 })
        if (records[0] !== undefined) oldestAt = Math.min(oldestAt, records[0].appendedAt)
      }
    }
    // The brokers' clock may be ahead of ours.
    return Math.max(0, now - oldestAt)
  })
  // Threads are managed by the owners; their restarts show in the counts of their processors.
  return StreamWorker.of({ progress: Effect.sync(() => progress), restarts: Effect.succeed(0), lag_ms })
})

export const layerObserved = (options: {
  readonly visitorPartitions: number
}): Layer.Layer<StreamWorker, never, EventLog | SqlClient.SqlClient> =>
  Layer.effect(StreamWorker, make(options.visitorPartitions))
