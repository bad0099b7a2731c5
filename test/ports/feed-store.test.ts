/** Every store of feeds by the same suite: files of one process, and rows of a database that several share. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { FeedStore, type FeedStoreFailure } from "../../src/ports/feed-store/feed-store.ts"
import { layerFiles } from "../../src/ports/feed-store/files.ts"
import { layerPostgresFeeds } from "../../src/ports/feed-store/postgres.ts"
import { layerTestSql } from "../support/postgres.ts"

const layerTemporaryFiles = Layer.unwrap(
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => mkdtempSync(join(tmpdir(), "dowser-feeds-"))),
      (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
    ),
    (folder) => layerFiles(join(folder, "feeds"))
  )
)
const bytes = (n: number, from = 0) => Uint8Array.from({ length: n }, (_, i) => (from + i * 7) % 251)
async function* pieces(whole: Uint8Array, size: number, breaksAt = Infinity) {
  for (let at = 0; at < whole.length; at += size) {
    if (at >= breaksAt) throw new Error("the line is gone")
    yield whole.subarray(at, at + size)
  }
}
const all = async (iterable: AsyncIterable<Uint8Array>) => {
  const read: Array<Uint8Array> = []
  for await (const piece of iterable) read.push(piece)
  return Buffer.concat(read)
}
const kindOf = (effect: Effect.Effect<unknown, FeedStoreFailure>) =>
  Effect.match(effect, { onFailure: ({ kind }) => kind, onSuccess: () => "success" })

for (const [name, store] of [
  ["files", layerTemporaryFiles],
  ["rows of Postgres", Layer.provide(layerPostgresFeeds, layerTestSql)]
] as const)
  layer(Layer.fresh(store), { excludeTestServices: true })(`feeds as ${name}`, (it) => {
    it.effect("are appended at their end, and read as they were sent", () =>
      Effect.gen(function* () {
        const feeds = yield* FeedStore
        const whole = bytes(2_500_003)
        const first = {
          id: "fed_1",
          offset: 0,
          pieces: pieces(whole.subarray(0, 1_200_000), 65_536),
          bytesMax: 3_000_000
        }
        expect(yield* feeds.append(first)).toBe(1_200_000)
        expect(
          yield* feeds.append({ ...first, offset: 1_200_000, pieces: pieces(whole.subarray(1_200_000), 900_001) })
        ).toBe(2_500_003)
        expect(yield* feeds.length("fed_1")).toBe(2_500_003)
        expect((yield* Effect.promise(() => all(feeds.read("fed_1")))).equals(whole)).toBe(true)
        expect(yield* feeds.ids).toEqual(["fed_1"])
      })
    )
    it.effect("keep what came before their sender broke off, and nothing beyond their bound", () =>
      Effect.gen(function* () {
        const feeds = yield* FeedStore
        const broken = { id: "fed_2", offset: 0, pieces: pieces(bytes(10_000), 1_000, 5_000), bytesMax: 20_000 }
        expect(yield* kindOf(feeds.append(broken))).toBe("source")
        expect(yield* feeds.length("fed_2")).toBe(5_000)
        expect(yield* kindOf(feeds.append({ ...broken, offset: 4_000, pieces: pieces(bytes(10), 10) }))).toBe("offset")
        expect(yield* kindOf(feeds.append({ ...broken, offset: 5_000, pieces: pieces(bytes(20_000), 6_000) }))).toBe(
          "too large"
        )
        expect(yield* feeds.length("fed_2")).toBeLessThanOrEqual(20_000)
        yield* feeds.truncate("fed_2", 5_000)
        expect(yield* feeds.length("fed_2")).toBe(5_000)
        expect((yield* Effect.promise(() => all(feeds.read("fed_2")))).equals(bytes(5_000))).toBe(true)
      })
    )
    it.effect("are gone when removed; removing a missing one does nothing", () =>
      Effect.gen(function* () {
        const feeds = yield* FeedStore
        yield* feeds.remove("fed_2")
        yield* feeds.remove("fed_9")
        expect([yield* feeds.length("fed_2"), yield* feeds.length("fed_9")]).toEqual([0, 0])
        expect(
          yield* Effect.promise(() =>
            all(feeds.read("fed_9")).then(
              () => "read",
              () => "failed"
            )
          )
        ).toBe("failed")
        expect(yield* feeds.ids).toEqual(["fed_1"])
      })
    )
    it.effect("are not read further than their consumer reads", () =>
      Effect.gen(function* () {
        const feeds = yield* FeedStore
        let sent = 0
        const endless = async function* () {
          for (;;) {
            sent += 65_536
            yield new Uint8Array(65_536)
          }
        }
        expect(yield* kindOf(feeds.append({ id: "fed_3", offset: 0, pieces: endless(), bytesMax: 1_000_000 }))).toBe(
          "too large"
        )
        expect(sent).toBeLessThan(1_200_000)
        for (const _ of [1, 2]) {
          const iterator = feeds.read("fed_1")[Symbol.asyncIterator]()
          yield* Effect.promise(() => iterator.next())
          yield* Effect.promise(() => iterator.return!())
        }
      })
    )
  })
