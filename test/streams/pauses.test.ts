import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Latch, Layer } from "effect"
import { Events } from "../../src/events/intake/service.ts"
import type { EventsPayload } from "../../log/event-schema.ts"
import { DedupeWindow } from "../../src/ports/dedupe/dedupe-window.ts"
import { EventLog } from "../../log/event-log/event-log.ts"
import { OffsetStore } from "../../streams/offsets/offset-store.ts"
import { OK } from "../../streams/processor/outcome.ts"
import { listed, type Processor } from "../../streams/processor/processor.ts"
import { decodeRecord, encodeRecord } from "../../log/record.ts"
import { runPartition } from "../../streams/runner/runner.ts"
import { memoryStore, type Positions } from "../../streams/state/state.ts"
import { BEHAVIOUR_EVENTS, type Topic } from "../../log/topics.ts"

const topic: Topic = {
  name: "paused.v1",
  partitioning: "one",
  retentionHours: 1,
  compaction: false,
  waitsForConsumers: true,
  writtenBy: "this test"
}

/** A processor that records the entries of each transaction. */
const counting = (flushes: Array<ReadonlyArray<number>>): Processor<number, object, Array<number>, never> => ({
  name: "paused",
  inputs: [topic],
  entriesOf: (_, { payload }) => listed([{ key: "k", body: payload as number }]),
  open: () => ({}),
  step: (_, body, __, emitted) => {
    emitted.push(body)
    return OK
  },
  newEmitted: () => [],
  sizeOf: ({ length }) => length,
  write: (emitted) => Effect.sync(() => void flushes.push(emitted)),
  snapshot: () => ({ writes: [], stored: () => {} })
})
/** A store whose transactions take this long. */
const slowStore = (transaction_ms: number) => {
  let offsets: Positions = {}
  return Layer.succeed(
    OffsetStore,
    OffsetStore.of({
      offsets: () => Effect.sync(() => offsets),
      skipped: () => Effect.succeed(new Map()),
      lock: () => Effect.void,
      holdsFence: () => Effect.succeed(true),
      skip: () => Effect.void,
      transaction: (body) => Effect.andThen(Effect.sleep(transaction_ms), body),
      moveOffsets: (_, to) =>
        Effect.sync(() => {
          offsets = to
        })
    })
  )
}
const RECORDS = 300

const flushesOf = Effect.fnUntraced(
  function* (flushPauseMax_ms: number) {
    const log = yield* EventLog
    const flushes: Array<ReadonlyArray<number>> = []
    const runner = yield* Effect.forkChild(
      runPartition(counting(flushes), { partition: 0, openStore: memoryStore, flushPauseMax_ms })
    )
    for (let id = 0; id < RECORDS; id++) {
      yield* log.append([
        {
          topic: topic.name,
          partition: 0,
          value: encodeRecord({ schema_version: 1, organization_id: "o", occurred_at: 0, payload: id })
        }
      ])
      yield* Effect.sleep(2)
    }
    for (let waited = 0; waited < 60_000 && flushes.flat().length < RECORDS; waited += 10) yield* Effect.sleep(10)
    yield* Fiber.interrupt(runner)
    assert.deepStrictEqual(
      flushes.flat(),
      Array.from({ length: RECORDS }, (_, id) => id)
    )
    return flushes.length
  },
  (effect) =>
    Effect.provide(
      effect,
      [EventLog.layerMemory, slowStore(10)].reduce(
        (all, layer) => Layer.merge(all, Layer.fresh(layer as Layer.Layer<never>)),
        Layer.empty as Layer.Layer<never>
      )
    ) as Effect.Effect<number>
)

describe("pauses under load", () => {
  it.live("a partition with a steady inflow flushes less often, in order and each record once", () =>
    Effect.gen(function* () {
      const without = yield* flushesOf(0)
      const withPauses = yield* flushesOf(300)
      assert.isBelow(withPauses, without / 2, `${withPauses} flushes with pauses, ${without} without`)
    })
  )

  it.live("senders that wait for their answers share the next commit with those that came meanwhile", () =>
    Effect.gen(function* () {
      const real = yield* EventLog
      const commits: Array<number> = []
      const gate = yield* Latch.make()
      const log = Layer.succeed(
        EventLog,
        EventLog.of({
          ...real,
          append: (records) =>
            Effect.gen(function* () {
              commits.push(
                records
                  .filter((record) => record.topic === BEHAVIOUR_EVENTS.name)
                  .reduce((sum, { value }) => sum + (decodeRecord(value).payload as EventsPayload).events.length, 0)
              )
              yield* gate.await
              return yield* real.append(records)
            })
        })
      )
      yield* Effect.gen(function* () {
        const events = yield* Events
        let serial = 0
        const send = Effect.suspend(() =>
          events.ingestEvents("o", [{ type: "view", collection: "c", document_id: "d", event_id: `e${serial++}` }])
        )
        const committing = (count: number) =>
          Effect.gen(function* () {
            while (commits.length < count) yield* Effect.sleep(1)
          })
        const first = yield* Effect.forkChild(send)
        yield* committing(1)
        // Five senders send again as soon as they are answered, and one comes while their commit is in progress.
        const again = yield* Effect.forEach([1, 2, 3, 4, 5], () => Effect.forkChild(Effect.andThen(send, send)))
        yield* Effect.sleep(5)
        gate.openUnsafe()
        gate.closeUnsafe()
        yield* committing(2)
        const last = yield* Effect.forkChild(send)
        yield* Effect.sleep(5)
        gate.openUnsafe()
        for (const fiber of [first, last, ...again])
          assert.deepInclude(yield* Fiber.join(fiber), { accepted: 1, deduplicated: 0 })
        assert.deepStrictEqual(commits, [1, 5, 6])
      }).pipe(
        Effect.provide(
          Events.layer({ visitorPartitions: 1 }).pipe(
            Layer.provide([DedupeWindow.layerMemory({ key: [1, 2, 3, 4] }), log])
          )
        )
      )
    }).pipe(Effect.provide(EventLog.layerMemory))
  )
})
