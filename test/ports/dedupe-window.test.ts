/** Fingerprints, their table, and the window over both: exact within its bounds, honest past them, rebuilt from the log. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { DEDUPE_WINDOW_HOURS, DedupeWindow } from "../../src/ports/dedupe-window.ts"
import { EventLog } from "../../src/ports/event-log.ts"
import { FINGERPRINT_WORDS, fingerprintInto, type FingerprintKey, narrowKey } from "../../src/ports/fingerprint.ts"
import { FingerprintTable, SEGMENT_BYTES } from "../../src/ports/fingerprint-table.ts"

const key: FingerprintKey = [11, 22, 33, 44]
const print = (text: string, of: FingerprintKey = key) => {
  const words = new Uint32Array(FINGERPRINT_WORDS)
  fingerprintInto(of, text, words, 0)
  return words
}
const HOUR = 3_600_000
const START = Date.UTC(2026, 0, 1)

describe("a fingerprint", () => {
  it("depends on every character, its place, the length, the key and the organization", () => {
    const texts = ["", "\u0000", "\u0000\u0000", "a", "b", "ab", "ba", "a".repeat(8), "a".repeat(9), "a".repeat(16), "é", "\u00e9\u0000"]
    const prints = new Set([...texts.map((text) => print(text).join()), print("a", [1, 2, 3, 4]).join(), print("a", narrowKey(key, "one")).join(), print("a", narrowKey(key, "two")).join()])
    assert.strictEqual(prints.size, texts.length + 3)
  })
  it("spreads sequential ids evenly over each of its words", () => {
    for (let word = 0; word < FINGERPRINT_WORDS; word++) {
      const buckets = new Uint32Array(64)
      for (let i = 0; i < 64_000; i++) {
        const at = print(`event-${i}`)[word]! >>> 26
        buckets[at] = buckets[at]! + 1
      }
      assert.isTrue(Math.min(...buckets) > 800 && Math.max(...buckets) < 1_200, `word ${word}: ${Math.min(...buckets)} to ${Math.max(...buckets)}`)
    }
  })
})

describe("the table", () => {
  it("admits each of many ids once, through all its splits", () => {
    const table = new FingerprintTable({ windowHours: 720, bytesMax: 1e9 })
    for (let i = 0; i < 60_000; i++) assert.isTrue(table.admit(print(`id-${i}`), 0, START))
    for (let i = 0; i < 60_000; i++) assert.isFalse(table.admit(print(`id-${i}`), 0, START))
    assert.isTrue(table.bytes / 60_000 < 64)
    assert.strictEqual(table.dropped, 0)
  })
  it("forgets what is older than the window, measured from the first time it was seen", () => {
    const table = new FingerprintTable({ windowHours: 720, bytesMax: 1e9 })
    table.admit(print("a"), 0, START)
    assert.isFalse(table.admit(print("a"), 0, START + 720 * HOUR))
    assert.isTrue(table.admit(print("a"), 0, START + 721 * HOUR))
    assert.isFalse(table.admit(print("a"), 0, START + 722 * HOUR))
  })
  it("stays within its bytes, and drops the oldest first when it must", () => {
    const table = new FingerprintTable({ windowHours: 720, bytesMax: 4 * SEGMENT_BYTES })
    for (let i = 0; i < 40_000; i++) table.admit(print(`id-${i}`), 0, START + Math.floor(i / 100) * HOUR)
    assert.strictEqual(table.bytes, 4 * SEGMENT_BYTES)
    assert.isTrue(table.dropped > 20_000)
    for (let i = 39_500; i < 40_000; i++) assert.isFalse(table.admit(print(`id-${i}`), 0, START + 400 * HOUR), `id-${i}`)
  })
  it("takes an admission back", () => {
    const table = new FingerprintTable({ windowHours: 720, bytesMax: 1e9 })
    table.admit(print("a"), 0, START)
    table.admit(print("b"), 0, START)
    table.forget(print("a"), 0)
    assert.isFalse(table.admit(print("b"), 0, START))
    assert.isTrue(table.admit(print("a"), 0, START))
    assert.isFalse(table.admit(print("a"), 0, START))
  })
})

describe("the window", () => {
  const request = (organizationId: string, ...eventIds: ReadonlyArray<string>) => ({ organizationId, eventIds })
  it.effect("tells seen from new, within a call and across calls, apart for each organization", () =>
    Effect.gen(function*() {
      yield* TestClock.setTime(START)
      const window = yield* DedupeWindow
      const first = yield* window.admit([request("one", "a", "b", "a"), request("two", "a"), request("one", "b", "c")])
      assert.deepStrictEqual(first.seen.map((flags) => [...flags]), [[0, 0, 1], [0], [1, 0]])
      assert.strictEqual(first.block.byteLength, 4 * 16)
      yield* window.forget(first)
      const again = yield* window.admit([request("one", "a", "c"), request("two", "a")])
      assert.deepStrictEqual(again.seen.map((flags) => [...flags]), [[0, 0], [0]])
    }).pipe(Effect.provide(DedupeWindow.layerMemory({ key }))))

  it.effect("is rebuilt from the blocks in the log, without what is older than 30 days", () =>
    Effect.gen(function*() {
      const log = yield* EventLog
      yield* TestClock.setTime(START)
      const embedded = Layer.fresh(DedupeWindow.layerEmbedded({ key, topic: "blocks" }))
      const admit = (...ids: ReadonlyArray<string>) =>
        Effect.gen(function*() {
          const window = yield* DedupeWindow
          const admission = yield* window.admit([request("one", ...ids)])
          if (admission.block.length > 0) yield* log.append([{ topic: "blocks", partition: 0, value: admission.block }])
          return [...admission.seen[0]!]
        }).pipe(Effect.provide(embedded))
      assert.deepStrictEqual(yield* admit("old"), [0])
      yield* TestClock.adjust(DEDUPE_WINDOW_HOURS * HOUR)
      assert.deepStrictEqual(yield* admit("new", "old"), [0, 1])
      yield* TestClock.adjust(2 * HOUR)
      assert.deepStrictEqual(yield* admit("new", "old"), [1, 0])
    }).pipe(Effect.provide(EventLog.layerMemory)))

  it.live("is rebuilt from a log of many blocks, the last ones first", () =>
    Effect.gen(function*() {
      const log = yield* EventLog
      for (let block = 0; block < 700; block++) {
        const words = new Uint32Array(50 * FINGERPRINT_WORDS)
        for (let i = 0; i < 50; i++) fingerprintInto(narrowKey(key, "one"), `${block}-${i}`, words, i * FINGERPRINT_WORDS)
        yield* log.append([{ topic: "blocks", partition: 0, value: new Uint8Array(words.buffer) }])
      }
      yield* Effect.gen(function*() {
        const window = yield* DedupeWindow
        const ids = Array.from({ length: 700 }, (_, block) => `${block}-${block % 50}`)
        for (let waited = 0; waited < 3_000; waited += 20) {
          const admission = yield* window.admit([request("one", ...ids)])
          yield* window.forget(admission)
          if (!admission.seen[0]!.includes(0)) return
          yield* Effect.sleep(20)
        }
        assert.fail("the window never had all ids")
      }).pipe(Effect.provide(DedupeWindow.layerEmbedded({ key, topic: "blocks" })))
    }).pipe(Effect.provide(EventLog.layerMemory)))
})
