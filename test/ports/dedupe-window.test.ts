/**
 * Fingerprints, their table, and the windows of every kind: exact within their bounds, predictable beyond them, and
 * rebuilt from the log.
 */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Layer, type Scope } from "effect"
import { spawn } from "node:child_process"
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { makeRandom } from "../../fixtures/random.ts"
import { type SealedWindowOptions } from "../../src/ports/dedupe/sealed-window.ts"
import { RUN_SUFFIX } from "../../src/ports/dedupe/run-format.ts"
import { DedupeWindow } from "../../src/ports/dedupe/dedupe-window.ts"
import { EventLog } from "../../log/event-log/event-log.ts"
import { layerEmbedded as layerLog } from "../../log/event-log/lmdb.ts"
import { FINGERPRINT_WORDS, fingerprintInto, type FingerprintKey, narrowKey } from "../../log/fingerprint.ts"
import { FingerprintTable, SEGMENT_BYTES } from "../../log/fingerprint-table.ts"
import { runtimeCommand } from "../../bench/harness/program.ts"
import { makeSetClock } from "../support/clock.ts"
import { temporaryFolder } from "../support/postgres.ts"
import {
  admitAndStore,
  againstModel,
  dedupeWindowSuite,
  HOUR,
  Model,
  request,
  START,
  TOPIC
} from "./dedupe-window.suite.ts"

const key: FingerprintKey = [11, 22, 33, 44]
const print = (text: string, of: FingerprintKey = key) => {
  const words = new Uint32Array(FINGERPRINT_WORDS)
  fingerprintInto(of, text, words, 0)
  return words
}

describe("a fingerprint", () => {
  it("depends on every character, its place, the length, the key and the organization", () => {
    const texts = [
      "",
      "\u0000",
      "\u0000\u0000",
      "a",
      "b",
      "ab",
      "ba",
      "a".repeat(8),
      "a".repeat(9),
      "a".repeat(16),
      "é",
      "\u00e9\u0000"
    ]
    const prints = new Set([
      ...texts.map((text) => print(text).join()),
      print("a", [1, 2, 3, 4]).join(),
      print("a", narrowKey(key, "one")).join(),
      print("a", narrowKey(key, "two")).join()
    ])
    assert.strictEqual(prints.size, texts.length + 3)
  })
  it("spreads sequential ids evenly over each of its words", () => {
    for (let word = 0; word < FINGERPRINT_WORDS; word++) {
      const buckets = new Uint32Array(64)
      for (let i = 0; i < 64_000; i++) {
        const at = print(`event-${i}`)[word]! >>> 26
        buckets[at] = buckets[at]! + 1
      }
      assert.isTrue(
        Math.min(...buckets) > 800 && Math.max(...buckets) < 1_200,
        `word ${word}: ${Math.min(...buckets)} to ${Math.max(...buckets)}`
      )
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
  it("forgets what is older than the window, measured from when it was first seen", () => {
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
    for (let i = 39_500; i < 40_000; i++)
      assert.isFalse(table.admit(print(`id-${i}`), 0, START + 400 * HOUR), `id-${i}`)
  })
  it("at its bound still knows recent ids, though all of them came within one hour", () => {
    const table = new FingerprintTable({ windowHours: 720, bytesMax: 4 * SEGMENT_BYTES })
    for (let i = 0; i < 60_000; i++) {
      assert.isTrue(table.admit(print(`id-${i}`), 0, START), `id-${i}`)
      // Checked at any point between two removals.
      if (i % 7 === 0 && i > 6_000)
        assert.isFalse(table.admit(print(`id-${i - 6_000}`), 0, START), `id-${i - 6_000} at ${i}`)
    }
    assert.isAtMost(table.bytes, 4 * SEGMENT_BYTES)
    assert.isAbove(table.dropped, 40_000)
  })
  it("splits nothing up to the number of ids that it was made for, and is empty but as large when cleared", () => {
    const table = new FingerprintTable({ windowHours: 720, bytesMax: 1e9, ids: 20_000 })
    assert.strictEqual(table.bytes, 0)
    table.prepare(3)
    assert.strictEqual(table.bytes, 3 * SEGMENT_BYTES)
    for (const prefix of ["first", "second"]) {
      for (let i = 0; i < 20_000; i++) assert.isTrue(table.admit(print(`${prefix}-${i}`), 0, START))
      for (let i = 0; i < 20_000; i++) assert.isTrue(table.has(print(`${prefix}-${i}`), 0, START))
      assert.strictEqual(table.bytes, 8 * SEGMENT_BYTES)
      table.clear()
      assert.strictEqual(table.bytes, 8 * SEGMENT_BYTES)
      assert.isFalse(table.has(print(`${prefix}-0`), 0, START))
      table.forget(print(`${prefix}-0`), 0)
    }
    table.prepare(3)
    table.prepare(100)
    assert.strictEqual(table.bytes, 8 * SEGMENT_BYTES)
    for (let i = 0; i < 60_000; i++) table.admit(print(`third-${i}`), 0, START)
    assert.isAbove(table.bytes, 8 * SEGMENT_BYTES)
    table.clear()
    assert.strictEqual(table.bytes, 8 * SEGMENT_BYTES)
    for (let i = 0; i < 60_000; i++) assert.isTrue(table.admit(print(`third-${i}`), 0, START))
  })
  it("keeps fingerprints whose words are zeros", () => {
    const table = new FingerprintTable({ windowHours: 720, bytesMax: 1e9 })
    const rows = [
      [0, 0, 0, 0],
      [1, 0, 0, 0],
      [0, 1, 0, 0],
      [0, 0, 1, 0],
      [0, 0, 0, 2]
    ]
    for (const row of rows) assert.isTrue(table.admit(Uint32Array.from(row), 0, START), row.join())
    for (const row of rows) assert.isFalse(table.admit(Uint32Array.from(row), 0, START), row.join())
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

/** Small enough for a test to cross every boundary. */
const SMALL = { key, topic: TOPIC, sealIds: 64, fanout: 2, runIdsMax: 1_500 }
const sealed = (folder: string, over: Partial<SealedWindowOptions> = {}) =>
  Layer.fresh(DedupeWindow.layerSealed({ ...SMALL, folder, ...over }))

dedupeWindowSuite("the window in memory", Effect.succeed(DedupeWindow.layerMemory({ key })))
dedupeWindowSuite(
  "the window over sealed runs",
  Effect.map(temporaryFolder("dedupe"), (folder) => sealed(folder))
)
dedupeWindowSuite(
  "the window over runs of the size they have",
  Effect.map(temporaryFolder("dedupe"), (folder) => DedupeWindow.layerSealed({ key, topic: TOPIC, folder }))
)

const runsIn = (folder: string) =>
  readdirSync(folder)
    .filter((name) => name.endsWith(RUN_SUFFIX))
    .sort((a, b) => Number.parseInt(a) - Number.parseInt(b))
/** The offset up to which runs cover the log. */
const coveredIn = (folder: string) =>
  Math.max(0, ...runsIn(folder).map((name) => Number(name.split("-")[1]!.split(".")[0])))
const generationOf = (name: string) => Number(name.split(".")[1])
const until = (isSo: () => boolean, what: string) =>
  Effect.gen(function* () {
    for (let waited = 0; waited < 60_000; waited += 5) {
      if (isSo()) return
      yield* Effect.sleep(5)
    }
    assert.fail(what)
  })
const ids = (prefix: string, count: number) => Array.from({ length: count }, (_, i) => `${prefix}-${i}`)
const seenOf = (window: DedupeWindow["Service"], organizationId: string, asked: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const admission = yield* window.admit([request(organizationId, ...asked)])
    yield* window.forget(admission)
    return admission.seen[0]!.reduce((sum, flag) => sum + flag, 0)
  })
/** Waits until the window has read again what it must. */
const untilSeen = (window: DedupeWindow["Service"], organizationId: string, asked: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    for (let waited = 0; waited < 60_000; waited += 10) {
      if ((yield* seenOf(window, organizationId, asked)) === asked.length) return
      yield* Effect.sleep(10)
    }
    assert.fail(`the window knows ${yield* seenOf(window, organizationId, asked)} of ${asked.length}`)
  })
/** Stores ids in calls of 50, so that seals happen in between. */
const store = Effect.fnUntraced(function* (
  window: DedupeWindow["Service"],
  organizationId: string,
  all: ReadonlyArray<string>
) {
  for (let from = 0; from < all.length; from += 50)
    yield* admitAndStore(window, [request(organizationId, ...all.slice(from, from + 50))])
})
const withWindow = <A, E, R>(
  folder: string,
  body: (window: DedupeWindow["Service"]) => Effect.Effect<A, E, R>,
  over: Partial<SealedWindowOptions> = {}
) => Effect.flatMap(DedupeWindow, body).pipe(Effect.provide(sealed(folder, over)))
const overMemoryLog = <A, E>(
  body: (time: {
    readonly now: () => number
    readonly forward: (ms: number) => void
  }) => Effect.Effect<A, E, EventLog | Scope.Scope>
) =>
  Effect.scoped(
    Effect.flatMap(makeSetClock(START), (time) =>
      body(time).pipe(Effect.provide(EventLog.layerMemory), Effect.provideService(Clock.Clock, time.clock))
    )
  )

describe("sealed runs", () => {
  it.live("answer as a map of times does through seals, merges, expiry and restarts", () =>
    overMemoryLog((time) =>
      Effect.gen(function* () {
        for (const seed of [1, 2, 3, 4]) {
          const folder = yield* temporaryFolder("dedupe")
          const log = yield* EventLog
          // Each seed uses ids of its own: those of earlier ones are no longer in the log.
          yield* log.trim(TOPIC, 0, (yield* log.bounds(TOPIC, 0)).endOffset)
          const model = new Model()
          let checked = 0
          const names = new Set<string>()
          for (let life = 0; life < 5; life++) {
            yield* withWindow(folder, (window) =>
              againstModel({
                seed: seed * 100 + life,
                calls: 60,
                ids: 8_000,
                ...time,
                model,
                window: Effect.succeed(window),
                between: (call) =>
                  Effect.gen(function* () {
                    // Some calls bring more rows than a seal takes; then the next calls find the seal done or in
                    // progress.
                    if (call % 12 === 11) {
                      yield* until(() => coveredIn(folder) >= checked, "no run was made of what was stored")
                      checked = (yield* log.bounds(TOPIC, 0)).endOffset - 3
                    }
                    for (const name of runsIn(folder)) names.add(name)
                  })
              })
            )
            // Hours also pass between two runs of the program.
            time.forward(40 * HOUR)
          }
          // Merging yields to calls, so on a busy machine it may lag behind calls that come without a pause.
          yield* withWindow(folder, () =>
            until(() => {
              for (const name of runsIn(folder)) names.add(name)
              return [...names].some((name) => generationOf(name) > 1)
            }, `seed ${seed}: no merge of merges`)
          )
        }
      })
    )
  )

  it.live("are opened again: after a restart only what follows the last run is read from the log", () =>
    overMemoryLog(() =>
      Effect.gen(function* () {
        const folder = yield* temporaryFolder("dedupe")
        const log = yield* EventLog
        yield* withWindow(folder, (window) =>
          Effect.gen(function* () {
            yield* store(window, "one", ids("a", 1_000))
            yield* until(() => runsIn(folder).length > 0, "no run")
          })
        )
        const covered = coveredIn(folder)
        // One record of each run is read, to check that the run belongs to this log.
        const reads: Array<number> = []
        const watched = EventLog.of({
          ...log,
          read: (asked) =>
            Effect.suspend(() => {
              reads.push(asked.from)
              return log.read(asked)
            })
        })
        yield* withWindow(folder, (window) =>
          Effect.gen(function* () {
            assert.strictEqual(yield* seenOf(window, "one", ids("a", 1_000)), 1_000)
            assert.strictEqual(yield* seenOf(window, "two", ids("a", 1_000)), 0)
          })
        ).pipe(Effect.provideService(EventLog, watched))
        const runs = runsIn(folder).length
        assert.isTrue(
          reads.length > 0 && reads.filter((from) => from < covered - 1).length <= runs + 4,
          `reads from ${reads.join(" ")}, covered up to ${covered}`
        )
      })
    )
  )

  it.live("keep what was admitted and taken back out of the runs, also when a seal comes in between", () =>
    overMemoryLog(() =>
      Effect.gen(function* () {
        const folder = yield* temporaryFolder("dedupe")
        yield* withWindow(folder, (window) =>
          Effect.gen(function* () {
            const log = yield* EventLog
            const refused = yield* window.admit([request("one", ...ids("refused", 30))])
            const slow = yield* window.admit([request("one", ...ids("slow", 30))])
            // Neither of the two is part of these seals, since the log has neither.
            yield* store(window, "one", ids("other", 500))
            yield* until(() => runsIn(folder).length > 0, "no run")
            assert.strictEqual(yield* seenOf(window, "one", ids("refused", 30)), 30)
            assert.strictEqual(yield* seenOf(window, "one", ids("slow", 30)), 30)
            yield* window.forget(refused)
            yield* log.append([{ topic: TOPIC, partition: 0, value: slow.block }])
            yield* store(window, "one", ids("more", 500))
            assert.strictEqual(yield* seenOf(window, "one", ids("refused", 30)), 0)
            assert.strictEqual(yield* seenOf(window, "one", ids("slow", 30)), 30)
          })
        )
        yield* withWindow(folder, (window) =>
          Effect.gen(function* () {
            assert.strictEqual(yield* seenOf(window, "one", ids("refused", 30)), 0)
            assert.strictEqual(
              yield* seenOf(window, "one", [...ids("slow", 30), ...ids("other", 500), ...ids("more", 500)]),
              1_030
            )
          })
        )
      })
    )
  )

  it.live("are rebuilt from the log when the folder is lost", () =>
    overMemoryLog(() =>
      Effect.gen(function* () {
        const folder = yield* temporaryFolder("dedupe")
        const all = ids("a", 3_000)
        yield* withWindow(folder, (window) =>
          Effect.andThen(
            store(window, "one", all),
            until(() => runsIn(folder).length > 0, "no run")
          )
        )
        rmSync(folder, { recursive: true })
        yield* withWindow(folder, (window) =>
          Effect.gen(function* () {
            // The newest ids at once, the rest in the background.
            assert.strictEqual(yield* seenOf(window, "one", all.slice(-50)), 50)
            yield* untilSeen(window, "one", all)
            assert.strictEqual(yield* seenOf(window, "one", ids("b", 3_000)), 0)
          })
        )
      })
    )
  )

  it.live("that are damaged anywhere are discarded and rebuilt, and never answer wrongly", () =>
    overMemoryLog(() =>
      Effect.gen(function* () {
        const folder = yield* temporaryFolder("dedupe")
        const all = ids("a", 2_000)
        yield* withWindow(folder, (window) =>
          Effect.andThen(
            store(window, "one", all),
            until(() => runsIn(folder).length > 0, "no run")
          )
        )
        const chance = makeRandom(5)
        for (let round = 0; round < 16; round++) {
          const name = chance.pick(runsIn(folder))
          const bytes = readFileSync(join(folder, name))
          // A page that never reached the disk, a changed byte, a missing end, or a whole page from another place.
          const at = chance.below(bytes.length)
          const page = Math.floor(at / 4_096) * 4_096
          if (round % 4 === 0) bytes.fill(0, page, Math.min(bytes.length, page + 4_096))
          else if (round % 4 === 1) bytes[at] = bytes[at]! ^ 0x10
          else if (round % 4 === 3)
            bytes.copyWithin(4_096, page === 4_096 ? 8_192 : page, (page === 4_096 ? 8_192 : page) + 4_096)
          writeFileSync(join(folder, name), round % 4 === 2 ? bytes.subarray(0, at) : bytes)
          yield* withWindow(folder, (window) =>
            Effect.gen(function* () {
              assert.strictEqual(yield* seenOf(window, "one", ids("b", 2_000)), 0, `round ${round}`)
              yield* untilSeen(window, "one", all)
              yield* until(() => runsIn(folder).length > 0, "no run")
            })
          )
        }
      })
    )
  )

  it.live("of another log, another key or another topic are discarded", () =>
    overMemoryLog(() =>
      Effect.gen(function* () {
        const folder = yield* temporaryFolder("dedupe")
        const log = yield* EventLog
        const kept = ids("kept", 200),
          lost = ids("lost", 500)
        const fill = (all: ReadonlyArray<string>) => (window: DedupeWindow["Service"]) =>
          Effect.andThen(
            store(window, "one", all),
            until(() => runsIn(folder).length > 0, "no run")
          )
        yield* withWindow(folder, fill([...kept, ...lost]))
        const records = (yield* log.read({ topic: TOPIC, partition: 0, from: 0, recordsMax: 1_000, bytesMax: 1e9 }))
          .records
        /** A log restored from a backup: its first records, then others. */
        const restored = (others: number) =>
          Effect.gen(function* () {
            const again = yield* EventLog
            for (const { value } of records.slice(0, 4)) yield* again.append([{ topic: TOPIC, partition: 0, value }])
            yield* withWindow(yield* temporaryFolder("dedupe"), (window) => store(window, "two", ids("others", others)))
            yield* withWindow(folder, (window) =>
              Effect.gen(function* () {
                yield* untilSeen(window, "one", kept)
                yield* untilSeen(window, "two", ids("others", others))
                assert.strictEqual(yield* seenOf(window, "one", lost), 0)
              })
            )
          }).pipe(Effect.provide(Layer.fresh(EventLog.layerMemory)))
        yield* restored(0)
        yield* withWindow(folder, (window) => untilSeen(window, "one", [...kept, ...lost]))
        yield* restored(3_000)
        yield* withWindow(folder, (window) => untilSeen(window, "one", [...kept, ...lost]))
        yield* withWindow(
          folder,
          (window) =>
            Effect.gen(function* () {
              assert.strictEqual(yield* seenOf(window, "one", kept), 0)
            }),
          { key: [5, 6, 7, 8] }
        )
        yield* withWindow(
          folder,
          (window) =>
            Effect.gen(function* () {
              assert.strictEqual(yield* seenOf(window, "one", kept), 0)
            }),
          { topic: "others" }
        )
      })
    )
  )

  it.live("past the bound lose ids of the organization that floods, its oldest first, and of nobody else", () =>
    overMemoryLog(() =>
      Effect.gen(function* () {
        const folder = yield* temporaryFolder("dedupe")
        const small = ids("small", 500),
          flood = ids("flood", 12_000)
        yield* withWindow(
          folder,
          (window) =>
            Effect.gen(function* () {
              yield* store(window, "small", small)
              yield* store(window, "flood", flood)
              yield* store(window, "late", small)
              for (let waited = 0; (yield* seenOf(window, "flood", flood.slice(0, 6_000))) > 0; waited += 20) {
                assert.isTrue(waited < 60_000, "the oldest of the flood stay")
                yield* Effect.sleep(20)
              }
              assert.strictEqual(yield* seenOf(window, "small", small), 500)
              assert.strictEqual(yield* seenOf(window, "late", small), 500)
              // An even share is removed from the run in which the bound falls; after merges, this may be a large one.
              assert.isAbove(yield* seenOf(window, "flood", flood.slice(-1_500)), 300)
            }),
          { idsMax: 4_000 }
        )
      })
    )
  )

  it.live("recognise what another process admitted to the same log, each with a folder of its own", () =>
    overMemoryLog(() =>
      Effect.gen(function* () {
        const [left, right] = [yield* temporaryFolder("dedupe"), yield* temporaryFolder("dedupe")]
        yield* withWindow(left, (a) =>
          withWindow(right, (b) =>
            Effect.gen(function* () {
              for (let round = 0; round < 10; round++) {
                const mine = ids(`a${round}`, 100),
                  theirs = ids(`b${round}`, 100)
                yield* store(a, "one", mine)
                yield* store(b, "one", theirs)
                yield* untilSeen(b, "one", mine)
                yield* untilSeen(a, "one", theirs)
                assert.strictEqual(yield* seenOf(a, "two", theirs), 0)
              }
              yield* until(() => runsIn(left).length > 0 && runsIn(right).length > 0, "no run")
              // Both admitted the same ids before either could know of the other: later calls to both recognise them,
              // and the log contains the rows twice.
              const raced = ids("raced", 100)
              const [first, second] = [
                yield* a.admit([request("one", ...raced)]),
                yield* b.admit([request("one", ...raced)])
              ]
              assert.strictEqual(first.seen[0]!.includes(1) || second.seen[0]!.includes(1), false)
              const log = yield* EventLog
              yield* log.append([
                { topic: TOPIC, partition: 0, value: first.block },
                { topic: TOPIC, partition: 0, value: second.block }
              ])
              for (const window of [a, b]) assert.strictEqual(yield* seenOf(window, "one", raced), 100)
            })
          )
        )
      })
    )
  )

  it.live("use no more memory than they are allowed, and report what they use", () =>
    overMemoryLog(() =>
      Effect.gen(function* () {
        const folder = yield* temporaryFolder("dedupe")
        yield* withWindow(folder, (window) =>
          Effect.gen(function* () {
            const empty = yield* window.bytes
            yield* store(window, "one", ids("a", 20_000))
            const full = yield* window.bytes
            assert.isTrue(full > empty && full < empty + 20_000 * 64 + 4 * SEGMENT_BYTES, `${empty} to ${full}`)
          })
        )
      })
    )
  )
})

describe("a program that is killed", () => {
  it.live("in the middle of seals and merges loses no id that was stored, and invents none", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const folder = yield* temporaryFolder("dedupe-kill")
        const stored = new Set<string>()
        const chance = makeRandom(9)
        for (let life = 0; life < 6; life++) {
          const [binary, ...flags] = runtimeCommand()
          const child = spawn(
            binary!,
            [...flags, fileURLToPath(new URL("../support/dedupe-appender.ts", import.meta.url)), folder, String(life)],
            { stdio: ["ignore", "pipe", "inherit"] }
          )
          let text = ""
          let lines = 0
          const killAfter = 20 + chance.below(150)
          yield* Effect.callback<void>((resume) => {
            child.stdout.on("data", (bytes: Buffer) => {
              text += bytes.toString()
              for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n")) {
                const [from, to] = text.slice(0, end).split(" ").map(Number)
                for (let i = from!; i < to!; i++) stored.add(`${life}-${i}`)
                text = text.slice(end + 1)
                if (++lines === killAfter) child.kill("SIGKILL")
              }
            })
            child.on("exit", () => resume(Effect.void))
          })
          assert.isTrue(lines >= killAfter, `life ${life} ended by itself after ${lines} batches`)
          yield* Effect.flatMap(DedupeWindow, (window) =>
            Effect.gen(function* () {
              yield* untilSeen(window, "one", [...stored])
              assert.strictEqual(yield* seenOf(window, "one", ids("never", 5_000)), 0)
            })
          ).pipe(
            Effect.provide(sealed(join(folder, "runs"))),
            Effect.provide(Layer.fresh(layerLog({ path: join(folder, "log") })))
          )
        }
        assert.isTrue(
          runsIn(join(folder, "runs")).some((name) => generationOf(name) > 1),
          "nothing was merged"
        )
      })
    )
  )
})
