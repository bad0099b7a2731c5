/**
 * The behaviour of every event log, written once. Each adapter's test file passes its layer; adapters whose storage
 * survives a close also pass how to open the same storage again.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Queue } from "effect"
import { type AppendRecord, EventLog } from "../../log/event-log/event-log.ts"

const bytes = (text: string) => new TextEncoder().encode(text)
const text = (value: Uint8Array) => new TextDecoder().decode(value.slice())
const record = (value: string, over: Partial<AppendRecord> = {}): AppendRecord => ({
  topic: "t.v1",
  partition: 0,
  value: bytes(value),
  ...over
})
const all = { from: 0, recordsMax: 1_000_000, bytesMax: Number.MAX_SAFE_INTEGER }

export const eventLogSuite = <E>(name: string, fresh: () => Layer.Layer<EventLog, E>) => {
  describe(name, () => {
    const scenario = (
      title: string,
      body: (log: EventLog["Service"]) => Effect.Effect<void, unknown, import("effect").Scope.Scope>
    ) => it.live(title, () => Effect.scoped(Effect.flatMap(EventLog, body)).pipe(Effect.provide(fresh())))

    scenario("numbers records from zero in each partition and reads them back in order", (log) =>
      Effect.gen(function* () {
        assert.deepStrictEqual(
          yield* log.append([record("a"), record("b", { key: "k" }), record("c", { partition: 1 })]),
          [0, 1, 0]
        )
        assert.deepStrictEqual(yield* log.append([record("d")]), [2])
        const answer = yield* log.read({ topic: "t.v1", partition: 0, ...all })
        assert.deepStrictEqual(
          answer.records.map((r) => [r.offset, r.key, text(r.value)]),
          [
            [0, undefined, "a"],
            [1, "k", "b"],
            [2, undefined, "d"]
          ]
        )
        assert.strictEqual(answer.nextOffset, 3)
        assert.deepStrictEqual(yield* log.bounds("t.v1", 0), { startOffset: 0, endOffset: 3 })
        assert.deepStrictEqual(yield* log.bounds("t.v1", 1), { startOffset: 0, endOffset: 1 })
        assert.deepStrictEqual(yield* log.bounds("other.v1", 0), { startOffset: 0, endOffset: 0 })
      })
    )

    scenario("keeps bytes, empty values and empty keys unchanged, independent of the caller's buffer", (log) =>
      Effect.gen(function* () {
        const value = Uint8Array.from({ length: 70_000 }, (_, i) => i % 251)
        yield* log.append([record("", { value }), record("", { key: "" })])
        value.fill(0)
        const { records } = yield* log.read({ topic: "t.v1", partition: 0, ...all })
        assert.strictEqual(records[0]!.value.length, 70_000)
        assert.strictEqual(records[0]!.value[250], 250)
        assert.strictEqual(records[1]!.value.length, 0)
        assert.strictEqual(records[1]!.key, "")
      })
    )

    scenario("bounds a read by records and by bytes, and always lets one record through", (log) =>
      Effect.gen(function* () {
        yield* log.append(["aaaa", "bbbb", "cccc"].map((value) => record(value)))
        const one = yield* log.read({ topic: "t.v1", partition: 0, from: 1, recordsMax: 1, bytesMax: 1_000 })
        assert.deepStrictEqual([one.records.length, one.nextOffset], [1, 2])
        const tight = yield* log.read({ topic: "t.v1", partition: 0, from: 0, recordsMax: 10, bytesMax: 5 })
        assert.deepStrictEqual([tight.records.length, tight.nextOffset], [2, 2])
        const least = yield* log.read({ topic: "t.v1", partition: 0, from: 0, recordsMax: 10, bytesMax: 1 })
        assert.deepStrictEqual([least.records.length, least.nextOffset], [1, 1])
        const end = yield* log.read({ topic: "t.v1", partition: 0, from: 3, recordsMax: 10, bytesMax: 1_000 })
        assert.deepStrictEqual([end.records.length, end.nextOffset], [0, 3])
      })
    )

    scenario("gives concurrent appends distinct, gapless offsets", (log) =>
      Effect.gen(function* () {
        const answers = yield* Effect.all(
          Array.from({ length: 200 }, (_, i) => log.append([record(`${i}:0`), record(`${i}:1`)])),
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(
          answers.flat().sort((a, b) => a - b),
          Array.from({ length: 400 }, (_, i) => i)
        )
        const { records } = yield* log.read({ topic: "t.v1", partition: 0, ...all })
        answers.forEach(([first, second], i) => {
          assert.strictEqual(text(records[first!]!.value), `${i}:0`)
          assert.strictEqual(text(records[second!]!.value), `${i}:1`)
        })
      })
    )

    scenario("finds an offset by time", (log) =>
      Effect.gen(function* () {
        yield* log.append([record("a")])
        yield* Effect.sleep(5)
        yield* log.append([record("b"), record("c")])
        yield* Effect.sleep(5)
        yield* log.append([record("d")])
        const { records } = yield* log.read({ topic: "t.v1", partition: 0, ...all })
        assert.strictEqual(yield* log.offsetAt("t.v1", 0, records[1]!.appendedAt), 1)
        assert.strictEqual(yield* log.offsetAt("t.v1", 0, records[0]!.appendedAt + 1), 1)
        assert.strictEqual(yield* log.offsetAt("t.v1", 0, records[3]!.appendedAt + 1), 4)
        assert.strictEqual(yield* log.offsetAt("t.v1", 0, 0), 0)
      })
    )

    scenario("trims a prefix, keeps numbering, and starts late readers at the new start", (log) =>
      Effect.gen(function* () {
        yield* log.append(Array.from({ length: 1_300 }, (_, i) => record(String(i))))
        yield* log.trim("t.v1", 0, 1_200)
        yield* log.trim("t.v1", 0, 1_200)
        assert.deepStrictEqual(yield* log.bounds("t.v1", 0), { startOffset: 1_200, endOffset: 1_300 })
        const late = yield* log.read({ topic: "t.v1", partition: 0, from: 10, recordsMax: 1, bytesMax: 10 })
        assert.deepStrictEqual(
          [late.startOffset, late.nextOffset, text(late.records[0]!.value)],
          [1_200, 1_201, "1200"]
        )
        yield* log.trim("t.v1", 0, 9_999)
        assert.deepStrictEqual(yield* log.bounds("t.v1", 0), { startOffset: 1_300, endOffset: 1_300 })
        assert.deepStrictEqual(yield* log.append([record("next")]), [1_300])
      })
    )

    scenario("replaces values at their offsets if it can, or nothing at all", (log) =>
      Effect.gen(function* () {
        yield* log.append([record("a", { key: "k" }), record("b"), record("c")])
        yield* log.trim("t.v1", 0, 1)
        const read = log.read({ topic: "t.v1", partition: 0, ...all })
        const before = yield* read
        const can = yield* log.rewrite("t.v1", 0, [])
        assert.strictEqual(
          yield* log.rewrite("t.v1", 0, [
            { offset: 0, value: bytes("gone") },
            { offset: 1, value: bytes("a longer one") },
            { offset: 7, value: bytes("never") }
          ]),
          can
        )
        const after = yield* read
        assert.deepStrictEqual(
          after.records.map((r) => [r.offset, r.appendedAt, r.key, text(r.value)]),
          before.records.map((r) => [
            r.offset,
            r.appendedAt,
            r.key,
            r.offset === 1 && can ? "a longer one" : text(r.value)
          ])
        )
        assert.deepStrictEqual(yield* log.bounds("t.v1", 0), { startOffset: before.startOffset, endOffset: 3 })
        const fresh = yield* log.append([record("d")])
        assert.deepStrictEqual(fresh, [3])
      })
    )

    scenario("sends hints about appended records", (log) =>
      Effect.gen(function* () {
        const hints = yield* log.subscribe
        yield* log.append([record("a"), record("b", { partition: 3 })])
        const seen = yield* Queue.takeBetween(hints, 2, 2)
        assert.deepStrictEqual(
          [...seen].sort((a, b) => a.partition - b.partition),
          [
            { topic: "t.v1", partition: 0, endOffset: 1 },
            { topic: "t.v1", partition: 3, endOffset: 1 }
          ]
        )
      })
    )
  })
}
