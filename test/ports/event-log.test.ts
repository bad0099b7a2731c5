/**
 * The event log suite in memory and on LMDB, and what only the LMDB adapter promises: survival, sync before the answer,
 * bounds, space.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Scope } from "effect"
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { type EmbeddedLogOptions, layerEmbedded } from "../../log/event-log/lmdb.ts"
import { type LogEnvironment, openLogEnvironment } from "../../log/event-log/lmdb-environment.ts"
import { EventLog } from "../../log/event-log/event-log.ts"
import { cutsOf, imageAt, simulatedDiskMissing, traceDisk } from "../support/simulated-disk.ts"
import { eventLogSuite } from "./event-log.suite.ts"

const folder = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "dowser-log-"))),
  (path) => Effect.promise(() => rm(path, { recursive: true, force: true }))
)
const layerFresh = Layer.unwrap(Effect.map(folder, (path) => layerEmbedded({ path })))

eventLogSuite("event log in memory", () => EventLog.layerMemory)
eventLogSuite("event log on LMDB", () => layerFresh)

const withLog = <A, E>(
  options: EmbeddedLogOptions,
  body: (log: EventLog["Service"]) => Effect.Effect<A, E, Scope.Scope>
) => Effect.scoped(Effect.flatMap(EventLog, body)).pipe(Effect.provide(layerEmbedded(options)))
const record = (size: number, fill = 1) => ({ topic: "t.v1", partition: 0, value: new Uint8Array(size).fill(fill) })

describe("the LMDB log", () => {
  it.live("continues its numbering after a restart, even when retention left nothing", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const path = yield* folder
        yield* withLog({ path }, (log) => log.append([record(10), record(10)]))
        yield* withLog({ path }, (log) => Effect.andThen(log.append([record(10)]), log.trim("t.v1", 0, 3)))
        yield* withLog({ path }, (log) =>
          Effect.gen(function* () {
            assert.deepStrictEqual(yield* log.bounds("t.v1", 0), { startOffset: 3, endOffset: 3 })
            assert.deepStrictEqual(yield* log.append([record(10)]), [3])
          })
        )
      })
    )
  )

  it.live("refuses when too much waits, and takes appends again afterwards", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const path = yield* folder
        yield* withLog({ path, pendingBytesMax: 10_000, groupBytesMax: 4_000 }, (log) =>
          Effect.gen(function* () {
            const results = yield* Effect.all(
              Array.from({ length: 30 }, () => Effect.result(log.append([record(1_000)]))),
              { concurrency: "unbounded" }
            )
            const refused = results.filter((result) => result._tag === "Failure")
            assert.isTrue(refused.length > 0 && refused.every((result) => result.failure._tag === "EventLogOverloaded"))
            const { endOffset } = yield* log.bounds("t.v1", 0)
            assert.strictEqual(endOffset, results.length - refused.length)
            assert.deepStrictEqual(yield* log.append([record(1_000)]), [endOffset])
          })
        )
      })
    )
  )

  it.live("stays broken after a failed sync, and shows readers none of what was not synced", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const path = yield* folder
        let disk: "good" | "bad" = "good"
        const failing = (at: string): LogEnvironment => {
          const real = openLogEnvironment(at)
          return {
            ...real,
            synced: () => (disk === "good" ? real.synced() : Promise.reject(new Error("input/output error")))
          }
        }
        yield* withLog({ path, open: failing }, (log) =>
          Effect.gen(function* () {
            yield* log.append([record(10)])
            yield* log.health
            disk = "bad"
            assert.strictEqual((yield* Effect.flip(log.append([record(10)])))._tag, "EventLogUnavailable")
            disk = "good"
            const refused = yield* Effect.flip(log.append([record(10)]))
            assert.strictEqual(refused._tag, "EventLogUnavailable")
            assert.match(refused.message, /input\/output error.*until Dowser is restarted/)
            assert.deepStrictEqual(yield* Effect.flip(log.health), refused)
            assert.strictEqual((yield* log.bounds("t.v1", 0)).endOffset, 1)
            assert.strictEqual(
              (yield* log.read({ topic: "t.v1", partition: 0, from: 0, recordsMax: 9, bytesMax: 999 })).records.length,
              1
            )
          })
        )
      })
    )
  )

  it.live("is intact again once it is reopened after a failed sync", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const path = yield* folder
        let syncs = 0
        const failing = (at: string): LogEnvironment => {
          const real = openLogEnvironment(at)
          return {
            ...real,
            synced: () => (++syncs === 2 ? Promise.reject(new Error("input/output error")) : real.synced())
          }
        }
        yield* withLog({ path, open: failing }, (log) =>
          Effect.andThen(log.append([record(10, 3)]), Effect.flip(log.append([record(10, 4)])))
        )
        yield* withLog({ path }, (log) =>
          Effect.gen(function* () {
            yield* log.health
            // The refused record may or may not be stored; acknowledged ones are, and numbering continues after the
            // last stored one.
            const { endOffset } = yield* log.bounds("t.v1", 0)
            assert.deepStrictEqual(yield* log.append([record(10, 5)]), [endOffset])
            const { records } = yield* log.read({ topic: "t.v1", partition: 0, from: 0, recordsMax: 9, bytesMax: 999 })
            assert.deepStrictEqual([records[0]!.value[0], records.at(-1)!.value[0]], [3, 5])
          })
        )
      })
    )
  )

  it.live("retention frees space while a slow reader keeps reading", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const path = yield* folder
        const sizeOf = Effect.promise(() => stat(join(path, "data.mdb")).then((found) => found.size))
        yield* withLog({ path }, (log) =>
          Effect.gen(function* () {
            // The reader stays a thousand records behind and never stops reading; the log holds at most that much.
            let position = 0
            let sizeAtHalf = 0
            for (let round = 0; round < 120; round++) {
              yield* log.append(Array.from({ length: 50 }, () => record(20_000)))
              const answer = yield* log.read({
                topic: "t.v1",
                partition: 0,
                from: position,
                recordsMax: round < 20 ? 1 : 50,
                bytesMax: 1e9
              })
              position = answer.nextOffset
              yield* log.trim("t.v1", 0, position)
              if (round === 60) sizeAtHalf = yield* sizeOf
            }
            const size = yield* sizeOf
            assert.isTrue(size < 60 * 1024 * 1024, `120 MB passed through, ${size} bytes kept`)
            assert.isTrue(size <= sizeAtHalf * 1.1, `grew from ${sizeAtHalf} to ${size}`)
          })
        )
      })
    )
  )
})

const seeded = (seed: number) => () => {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0
  return seed / 2 ** 32
}
/** How many of the acknowledged records (offset → fill byte) the log in `path` lacks or holds damaged. */
const lostIn = (path: string, acknowledged: ReadonlyMap<number, number>) =>
  withLog({ path }, (log) =>
    Effect.map(log.read({ topic: "t.v1", partition: 0, from: 0, recordsMax: 1e6, bytesMax: 1e12 }), ({ records }) => {
      const found = new Map(records.map((r) => [r.offset, r.value]))
      return [...acknowledged].filter(([offset, fill]) => found.get(offset)?.every((byte) => byte === fill) !== true)
        .length
    })
  )

/**
 * Simulates, above LMDB and without a compiler, a disk that loses every byte written since its last sync: `durable` is
 * the data file as of the latest reported sync, and a crash right after a commit leaves only that. `lying` reports a
 * sync without performing one. The traced disk below covers pages that were partly written.
 */
const lostAfterCrash = (lying: boolean, seed: number) =>
  Effect.scoped(
    Effect.gen(function* () {
      const path = yield* folder
      const after = yield* folder
      const random = seeded(seed)
      const file = join(path, "data.mdb")
      const crashAtCommit = 2 + Math.floor(random() * 5)
      const acknowledged = new Map<number, number>()
      let survivors: ReadonlyMap<number, number> | undefined
      const open = (at: string): LogEnvironment => {
        const real = openLogEnvironment(at)
        let durable = Buffer.alloc(0)
        let commits = 0
        return {
          ...real,
          commit: async (writes) => {
            await real.commit(writes)
            if (++commits !== crashAtCommit) return
            // Written and visible, but not synced as far as the log knows: the worst moment for a power failure.
            survivors = new Map(acknowledged)
            await writeFile(join(after, "data.mdb"), durable)
          },
          synced: async () => {
            if (lying && commits > 0) return
            await real.synced()
            durable = await readFile(file)
          }
        }
      }
      yield* withLog({ path, open }, (log) => {
        const writer = (id: number) =>
          Effect.gen(function* () {
            for (let i = 0; i < 8; i++) {
              const fill = (id * 31 + i) % 251
              const [offset] = yield* log.append([record(200 + Math.floor(random() * 9_000), fill)])
              acknowledged.set(offset!, fill)
            }
          })
        // The first commit creates the partition's database, so that the lying disk has something to lose.
        return Effect.andThen(
          log.append([record(10, 9)]),
          Effect.all(
            Array.from({ length: 8 }, (_, id) => writer(id)),
            { concurrency: "unbounded" }
          )
        )
      })
      assert.isDefined(survivors)
      return { acknowledged: survivors!.size, lost: yield* lostIn(after, survivors!) }
    })
  )

/**
 * Runs the appender on a traced disk, then cuts the power at random moments and counts the acknowledged records that
 * are lost.
 */
const lostInTrace = (mode: "waiting" | "lying", cuts: number) =>
  Effect.gen(function* () {
    const work = yield* folder
    const trace = traceDisk(work, fileURLToPath(new URL("../support/log-appender.ts", import.meta.url)), [
      join(work, "log"),
      join(work, "acknowledged"),
      "400",
      mode
    ])
    assert.isTrue(
      trace.findIndex(({ kind }) => kind === "A") > 0 && trace.some(({ kind }) => kind === "E"),
      "the shim saw no disk traffic"
    )
    const random = seeded(7)
    let lost = 0
    for (const cut of cutsOf(trace, cuts, random)) {
      const { acknowledged, image } = imageAt(trace, cut, random)
      const after = yield* folder
      yield* Effect.promise(() => writeFile(join(after, "data.mdb"), image))
      lost += yield* lostIn(after, new Map(acknowledged.map((line) => line.split(" ").map(Number) as [number, number])))
    }
    return lost
  })

describe("a disk that drops what was not synced", () => {
  it.live("loses no acknowledged record with it", () =>
    Effect.gen(function* () {
      for (let seed = 1; seed <= 20; seed++)
        assert.strictEqual((yield* lostAfterCrash(false, seed)).lost, 0, `seed ${seed}`)
    })
  )

  it.live("would be caught if appends were acknowledged before the sync", () =>
    Effect.gen(function* () {
      const rounds = yield* Effect.all(Array.from({ length: 6 }, (_, seed) => lostAfterCrash(true, seed + 1)))
      assert.isTrue(rounds.some(({ lost }) => lost > 0))
    })
  )

  it.live("at the level of system calls: no power failure loses an acknowledged record", (ctx) =>
    Effect.scoped(
      Effect.gen(function* () {
        const reason = simulatedDiskMissing()
        if (reason !== undefined) return ctx.skip(reason)
        assert.strictEqual(yield* lostInTrace("waiting", 60), 0)
      })
    )
  )

  it.live("at the level of system calls: an appender that does not wait for the sync is caught", (ctx) =>
    Effect.scoped(
      Effect.gen(function* () {
        const reason = simulatedDiskMissing()
        if (reason !== undefined) return ctx.skip(reason)
        assert.isTrue((yield* lostInTrace("lying", 60)) > 0)
      })
    )
  )
})
