/** A push that is not applied yet stays in the log, however old it is. */
import { it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { expect } from "vitest"
import { ConsumedElsewhere, consumedKey } from "../../../log/consumed.ts"
import { EventLog } from "../../../log/event-log/event-log.ts"
import { CATALOG_PUSHES } from "../../../log/topics.ts"
import { makeRetention } from "../../../streams/host/retention.ts"
import { makeShiftedClock } from "../../support/clock.ts"

const topic = CATALOG_PUSHES
it.live("pushes that are not applied outlive their topic's retention, applied ones do not", () =>
  Effect.gen(function* () {
    const { clock, forward } = yield* makeShiftedClock
    const consumed = new Map<string, number>()
    const startOffset = yield* Effect.scoped(
      Effect.gen(function* () {
        const log = yield* EventLog
        for (let i = 0; i < 3; i++) yield* log.append([{ topic: topic.name, partition: 0, value: new Uint8Array([i]) }])
        forward(8 * 24 * 3_600_000)
        const partitions = [{ topic, partition: 0 }]
        const { every } = yield* makeRetention({ partitions, readersOf: () => [], committedOf: () => undefined })
        yield* Effect.forkScoped(every(5))
        const start = Effect.andThen(
          Effect.sleep(60),
          Effect.map(log.bounds(topic.name, 0), (bounds) => bounds.startOffset)
        )
        const before = yield* start
        consumed.set(consumedKey(topic.name, 0), 2)
        return [before, yield* start]
      })
    ).pipe(
      Effect.provideService(ConsumedElsewhere, consumed),
      Effect.provideService(Clock.Clock, clock),
      Effect.provide(EventLog.layerMemory)
    )
    expect(startOffset).toEqual([0, 2])
  })
)
