/**
 * The event log suite on a real Kafka broker, the requirements for topics, and faults that only brokers have: lost
 * answers, a killed broker, a frozen one.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Queue, type Scope } from "effect"
import kafkajs from "kafkajs"
import { EventLog } from "../../log/event-log/event-log.ts"
import { type KafkaLogOptions, layerKafka } from "../../log/event-log/kafka.ts"
import { makeKafka } from "../../log/event-log/kafka/client.ts"
import { hasZstd } from "../../log/event-log/kafka/codecs.ts"
import { differencesOf, type TopicSpec } from "../../log/event-log/kafka/topics.ts"
import { kafkaMissing, kafkaVersion, startTestBroker, type TestBroker } from "../support/kafka.ts"
import { openWire } from "../support/kafka-wire.ts"
import { eventLogSuite } from "./event-log.suite.ts"

const HOUR_MS = 3_600_000
const PARTITIONS = 4
const topics: ReadonlyArray<TopicSpec> = [
  { name: "t.v1", partitions: PARTITIONS, retention_ms: HOUR_MS, compaction: false },
  { name: "other.v1", partitions: 1, retention_ms: HOUR_MS, compaction: false }
]
let prefixes = 0
const optionsFor = (broker: TestBroker, over: Partial<KafkaLogOptions> = {}): KafkaLogOptions => ({
  brokers: [broker.address()],
  clientId: "test",
  prefix: `s${prefixes++}.`,
  topics,
  ...over
})

const bytes = (text: string) => new TextEncoder().encode(text)
const text = (value: Uint8Array) => new TextDecoder().decode(value)

/** The ids of all records in order, by partition. */
const readAll = (log: EventLog["Service"]) =>
  Effect.forEach(
    Array.from({ length: PARTITIONS }, (_, partition) => partition),
    (partition) =>
      Effect.gen(function* () {
        const { endOffset } = yield* log.bounds("t.v1", partition)
        const ids: Array<readonly [number, string]> = []
        for (let from = 0; from < endOffset;) {
          const answer = yield* log.read({ topic: "t.v1", partition, from, recordsMax: 500, bytesMax: 1_000_000 })
          ids.push(...answer.records.map(({ offset, value }) => [offset, text(value)] as const))
          from = answer.nextOffset
        }
        return ids
      })
  )

/**
 * Eight writers append as fast as they are answered, a follower reads behind them, and `disturb` interferes. Returns
 * acknowledged records that are missing, duplicates, and what the follower missed or saw twice.
 */
const underLoad = <E>(log: EventLog["Service"], disturb: Effect.Effect<void, E>) =>
  Effect.gen(function* () {
    const acknowledged = new Map<string, string>()
    let isOver = false
    let isWritten = false
    let failed = 0
    const writer = (id: number) =>
      Effect.gen(function* () {
        for (let i = 0; !isOver; i++) {
          // Batches of equal and unequal sizes, since the sequence trap accepts only equal batches.
          const records = Array.from({ length: 1 + (i % 2) * (id % 3) }, (_, j) => ({
            topic: "t.v1",
            partition: (id + j) % PARTITIONS,
            value: bytes(`${id}:${i}:${j}`)
          }))
          const result = yield* Effect.result(log.append(records))
          if (result._tag === "Failure") failed++
          else
            records.forEach(({ partition, value }, j) =>
              acknowledged.set(text(value), `${partition}/${result.success[j]}`)
            )
          yield* Effect.sleep(5)
        }
      })
    const followed: Array<string> = []
    const follower = Effect.gen(function* () {
      for (let from = 0; ;) {
        const answer = yield* log.read({ topic: "t.v1", partition: 0, from, recordsMax: 100, bytesMax: 1_000_000 })
        followed.push(...answer.records.map(({ value }) => text(value)))
        from = answer.nextOffset
        if (answer.records.length === 0) {
          if (isWritten && from >= (yield* log.bounds("t.v1", 0)).endOffset) return
          yield* Effect.sleep(20)
        }
      }
    })
    const writers = yield* Effect.forkChild(
      Effect.all(
        Array.from({ length: 8 }, (_, id) => writer(id)),
        { concurrency: "unbounded", discard: true }
      )
    )
    const reading = yield* Effect.forkChild(follower)
    yield* Effect.sleep(300)
    yield* disturb
    yield* Effect.sleep(700)
    isOver = true
    yield* Fiber.join(writers)
    isWritten = true
    yield* Fiber.join(reading)
    const stored = yield* readAll(log)
    const places = new Map<string, string>(
      stored.flatMap((ids, partition) => ids.map(([offset, id]) => [`${partition}/${offset}`, id] as const))
    )
    const ids = stored.flatMap((found) => found.map(([, id]) => id))
    return {
      acknowledged: acknowledged.size,
      failed,
      lost: [...acknowledged].filter(([id, place]) => places.get(place) !== id).length,
      twice: ids.length - new Set(ids).size,
      followerDiffers: followed.join() === stored[0]!.map(([, id]) => id).join() ? 0 : 1
    }
  })

describe("what topics must be", () => {
  const spec: TopicSpec = { name: "a.v1", partitions: 4, retention_ms: 1_000, compaction: false }
  const good = {
    partitions: 4,
    settings: {
      "cleanup.policy": "delete",
      "retention.ms": "1000",
      "message.timestamp.type": "LogAppendTime",
      "max.message.bytes": String(16 * 1024 * 1024)
    }
  }
  it("accepts what the table requires and more", () => {
    assert.deepStrictEqual(differencesOf(spec, good), [])
    assert.deepStrictEqual(differencesOf(spec, { ...good, settings: { ...good.settings, "retention.ms": "-1" } }), [])
  })
  it("states every difference in words", () => {
    assert.deepStrictEqual(
      differencesOf(spec, {
        partitions: 1,
        settings: { ...good.settings, "retention.ms": "999", "cleanup.policy": "compact" }
      }),
      ["it has 1 partition, not 4", "cleanup.policy is compact, not delete", "retention.ms is 999, not 1000"]
    )
  })
})

const missing = kafkaMissing()
if (missing !== undefined) it("the event log on Kafka", (ctx) => ctx.skip(missing))
else {
  let broker: TestBroker
  beforeAll(async () => {
    broker = await startTestBroker()
  })
  afterAll(() => broker.stop())
  const withLog = <A, E>(
    over: Partial<KafkaLogOptions>,
    body: (log: EventLog["Service"]) => Effect.Effect<A, E, Scope.Scope>
  ) =>
    Effect.scoped(Effect.flatMap(EventLog, body)).pipe(
      Effect.provide(Layer.suspend(() => layerKafka(optionsFor(broker, over))))
    )

  eventLogSuite(`event log on Kafka ${kafkaVersion}`, () => Layer.suspend(() => layerKafka(optionsFor(broker))))

  describe("the Kafka log", () => {
    it.live("reads what was written with any compression", () =>
      Effect.gen(function* () {
        const prefix = `c${prefixes++}.`
        const kinds = hasZstd ? (["gzip", "none", "zstd"] as const) : (["gzip", "none"] as const)
        for (const compression of kinds)
          yield* withLog({ prefix, compression }, (log) =>
            log.append([{ topic: "t.v1", partition: 0, key: compression, value: bytes("long ".repeat(1_000)) }])
          )
        const { records } = yield* withLog({ prefix }, (log) =>
          log.read({ topic: "t.v1", partition: 0, from: 0, recordsMax: 10, bytesMax: 1e6 })
        )
        assert.deepStrictEqual(
          records.map(({ key, value }) => [key, value.length]),
          kinds.map((kind) => [kind, 5_000])
        )
      })
    )

    it.live("names the topic and what differs when it cannot be used", () =>
      Effect.gen(function* () {
        const prefix = `d${prefixes++}.`
        yield* withLog({ prefix }, () => Effect.void)
        const refused = yield* Effect.flip(
          withLog(
            { prefix, topics: [{ ...topics[0]!, partitions: 8, retention_ms: 2 * HOUR_MS }, topics[1]!] },
            () => Effect.void
          )
        )
        assert.strictEqual(refused.name, "KafkaTopicsDiffer")
        assert.strictEqual(
          refused.message,
          `Topic ${prefix}t.v1 is not as this program needs it: it has 4 partitions, not 8; retention.ms is 3600000, not 7200000.`
        )
      })
    )

    it.live("notifies a subscriber of what another process appends", () =>
      Effect.gen(function* () {
        const prefix = `h${prefixes++}.`
        yield* withLog({ prefix }, (log) =>
          Effect.gen(function* () {
            const hints = yield* log.subscribe
            yield* log.bounds("t.v1", 2)
            yield* withLog({ prefix }, (other) => other.append([{ topic: "t.v1", partition: 2, value: bytes("x") }]))
            assert.deepStrictEqual(yield* Queue.take(hints), { topic: "t.v1", partition: 2, endOffset: 1 })
          })
        )
      })
    )

    it.live("sends what waits for all partitions in one request, and answers each append separately", () =>
      Effect.gen(function* () {
        const wire = yield* Effect.acquireRelease(
          Effect.promise(() => openWire(broker.port())),
          (opened) => Effect.promise(opened.close)
        )
        yield* withLog({ requestTimeout_ms: 20_000, socketFactory: wire.socketFactory }, (log) =>
          Effect.gen(function* () {
            const before = wire.answers().seen
            const one = (partition: number) => log.append([{ topic: "t.v1", partition, value: bytes("x") }])
            assert.deepStrictEqual(
              yield* Effect.all([one(0), one(1), one(2), one(3), one(0)], { concurrency: "unbounded" }),
              [[0], [0], [0], [0], [1]]
            )
            assert.strictEqual(wire.answers().seen - before, 1)
            // The answer is lost although the records were stored: when they are sent again unchanged, every partition
            // recognises the repetition.
            wire.lose = (answer) => (answer === before + 1 ? "cut" : "no")
            assert.deepStrictEqual(yield* Effect.all([one(0), one(1), one(2), one(3)], { concurrency: "unbounded" }), [
              [2],
              [1],
              [1],
              [1]
            ])
            assert.strictEqual(wire.answers().lost, 1)
            for (const [partition, endOffset] of [
              [0, 3],
              [1, 2],
              [2, 2],
              [3, 2]
            ] as const)
              assert.strictEqual((yield* log.bounds("t.v1", partition)).endOffset, endOffset)
          })
        )
      }).pipe(Effect.scoped)
    )

    it.live("refuses when too much waits, reports an unreachable broker, and stores what waited", () =>
      Effect.gen(function* () {
        const wire = yield* Effect.acquireRelease(
          Effect.promise(() => openWire(broker.port())),
          (opened) => Effect.promise(opened.close)
        )
        yield* withLog(
          {
            pendingBytesMax: 10_000,
            requestTimeout_ms: 500,
            appendWithin_ms: 1_500,
            socketFactory: wire.socketFactory
          },
          (log) =>
            Effect.gen(function* () {
              const one = { topic: "t.v1", partition: 0, value: new Uint8Array(4_000) }
              yield* log.append([one])
              wire.lose = () => "silent"
              const results = yield* Effect.all(
                Array.from({ length: 5 }, () => Effect.result(log.append([one]))),
                { concurrency: "unbounded" }
              )
              assert.deepStrictEqual(
                results.map((result) => (result._tag === "Failure" ? result.failure._tag : "stored")),
                [
                  "EventLogUnavailable",
                  "EventLogUnavailable",
                  "EventLogOverloaded",
                  "EventLogOverloaded",
                  "EventLogOverloaded"
                ]
              )
              wire.lose = () => "no"
              yield* log.append([{ ...one, value: bytes("after") }])
              // Both abandoned appends were in progress, and neither is stored twice.
              assert.deepStrictEqual(yield* log.bounds("t.v1", 0), { startOffset: 0, endOffset: 4 })
              yield* log.health
            })
        )
      }).pipe(Effect.scoped)
    )
  })

  describe("the Kafka log under load", () => {
    const expectWhole = (found: Effect.Success<ReturnType<typeof underLoad>>, acknowledgedMin: number) => {
      assert.deepStrictEqual(
        { ...found, acknowledged: 0 },
        { acknowledged: 0, failed: 0, lost: 0, twice: 0, followerDiffers: 0 }
      )
      assert.isTrue(found.acknowledged >= acknowledgedMin, `only ${found.acknowledged} were acknowledged`)
    }

    it.live("loses and repeats nothing when answers are dropped on the way back", () =>
      Effect.gen(function* () {
        const wire = yield* Effect.acquireRelease(
          Effect.promise(() => openWire(broker.port())),
          (opened) => Effect.promise(opened.close)
        )
        const found = yield* withLog({ requestTimeout_ms: 500, socketFactory: wire.socketFactory }, (log) =>
          underLoad(
            log,
            Effect.gen(function* () {
              wire.lose = (answer) => (answer % 11 === 3 ? "cut" : answer % 23 === 5 ? "silent" : "no")
              yield* Effect.sleep(8_000)
              wire.cutAll()
              wire.lose = () => "no"
            })
          )
        )
        assert.isTrue(wire.answers().lost >= 10, `${wire.answers().lost} answers were lost`)
        expectWhole(found, 100)
      }).pipe(Effect.scoped)
    )

    it.live("would be caught if sends of one producer overlapped", () =>
      Effect.gen(function* () {
        const wire = yield* Effect.acquireRelease(
          Effect.promise(() => openWire(broker.port())),
          (opened) => Effect.promise(opened.close)
        )
        yield* withLog({ prefix: "overlap." }, (log) =>
          Effect.gen(function* () {
            const kafka = makeKafka({
              brokers: [broker.address()],
              clientId: "overlapping",
              requestTimeout_ms: 500,
              socketFactory: wire.socketFactory
            })
            const producer = kafka.producer({
              idempotent: true,
              retry: { retries: 20, initialRetryTime: 50, maxRetryTime: 200 },
              createPartitioner: kafkajs.Partitioners.DefaultPartitioner
            })
            yield* Effect.promise(() => producer.connect())
            wire.lose = (answer) => (answer % 11 === 3 ? "cut" : "no")
            const acknowledged: Array<string> = []
            yield* Effect.promise(() =>
              Promise.all(
                Array.from({ length: 4 }, async (_, id) => {
                  for (let i = 0; i < 50; i++) {
                    const value = `${id}:${String(i).padStart(3, "0")}`
                    // A send that fails proves the same fault.
                    await producer.send({ acks: -1, topic: "overlap.t.v1", messages: [{ partition: 0, value }] }).then(
                      () => acknowledged.push(value),
                      () => acknowledged.push(`${value} failed`)
                    )
                  }
                })
              )
            )
            yield* Effect.promise(() => producer.disconnect())
            const stored = (yield* readAll(log))[0]!.map(([, id]) => id)
            const lost = acknowledged.filter((id) => !stored.includes(id)).length
            assert.isTrue(
              lost + stored.length - new Set(stored).size > 0,
              "neither lost nor repeated: the wire shows nothing"
            )
          })
        )
      }).pipe(Effect.scoped)
    )

    it.live("loses and repeats nothing when the broker is killed and started again, twice", () =>
      Effect.gen(function* () {
        const again = Effect.andThen(
          Effect.promise(broker.kill),
          Effect.andThen(Effect.sleep(1_000), Effect.promise(broker.restart))
        )
        expectWhole(
          yield* withLog({ requestTimeout_ms: 2_000 }, (log) =>
            underLoad(log, Effect.andThen(again, Effect.andThen(Effect.sleep(1_500), again)))
          ),
          100
        )
      })
    )

    it.live("loses and repeats nothing when the broker is frozen for 20 s", () =>
      Effect.gen(function* () {
        const freeze = Effect.andThen(
          Effect.sync(broker.freeze),
          Effect.andThen(Effect.sleep(20_000), Effect.sync(broker.thaw))
        )
        expectWhole(
          yield* withLog({ requestTimeout_ms: 5_000 }, (log) =>
            underLoad(log, Effect.andThen(Effect.sleep(1_500), freeze))
          ),
          50
        )
      })
    )
  })
}
