/** The behaviour of every blob store, whatever holds the bytes. */
import { createHash } from "node:crypto"
import { expect, layer } from "@effect/vitest"
import { Effect, type Layer } from "effect"
import { type BlobFailure, BlobStore } from "../../src/ports/blob-store/blob-store.ts"

export const bytesOf = (n: number, from = 0) => Uint8Array.from({ length: n }, (_, i) => (from + i * 7) % 251)
export async function* piecesOf(whole: Uint8Array, size: number, breaksAt = Infinity) {
  for (let at = 0; at < whole.length; at += size) {
    if (at >= breaksAt) throw new Error("the line is gone")
    yield whole.subarray(at, at + size)
  }
}
const readAll = async (stream: AsyncIterable<Uint8Array>) => {
  const read: Array<Uint8Array> = []
  for await (const piece of stream) read.push(piece)
  return Buffer.concat(read)
}
export const kindOf = (effect: Effect.Effect<unknown, BlobFailure>) =>
  Effect.match(effect, { onFailure: ({ kind }) => kind, onSuccess: () => "success" })
const read = (key: { readonly organizationId: string; readonly id: string }, range?: { start: number; end: number }) =>
  Effect.flatMap(BlobStore, (blobs) =>
    Effect.flatMap(blobs.get(key, range), (stream) =>
      Effect.promise(() => readAll(stream as AsyncIterable<Uint8Array>))
    )
  )

export const blobStoreSuite = (name: string, store: Layer.Layer<BlobStore>) =>
  layer(store, { excludeTestServices: true })(`blobs as ${name}`, (it) => {
    const one = { organizationId: "org_a", id: "med_1" }
    it.effect("are stored in pieces, identified by their digest, and read whole and in part", () =>
      Effect.gen(function* () {
        const blobs = yield* BlobStore
        const whole = bytesOf(2_500_003)
        const { sha256 } = yield* blobs.put(one, { length: whole.length, pieces: piecesOf(whole, 65_536) })
        expect(sha256).toBe(createHash("sha256").update(whole).digest("hex"))
        expect((yield* read(one)).equals(whole)).toBe(true)
        for (const [start, end] of [
          [0, 0],
          [1_000_000, 1_999_999],
          [2_500_002, 2_500_002]
        ] as const)
          expect((yield* read(one, { start, end })).equals(whole.subarray(start, end + 1))).toBe(true)
        yield* blobs.put({ ...one, id: "med_0" }, { length: 0, pieces: piecesOf(new Uint8Array(), 1) })
        expect((yield* read({ ...one, id: "med_0" })).length).toBe(0)
      })
    )
    it.effect("are not stored when they are shorter or longer than declared, or their sender breaks off", () =>
      Effect.gen(function* () {
        const blobs = yield* BlobStore
        const key = { ...one, id: "med_2" }
        const put = (length: number, breaksAt = Infinity) =>
          kindOf(blobs.put(key, { length, pieces: piecesOf(bytesOf(200_000), 10_000, breaksAt) }))
        expect([yield* put(200_001), yield* put(199_999), yield* put(200_000, 50_000)]).toEqual([
          "length",
          "length",
          "source"
        ])
        expect(yield* kindOf(blobs.get(key))).toBe("missing")
        expect(yield* blobs.ids("org_a", "")).toEqual(["med_0", "med_1"])
        // A failed upload leaves the earlier blob unchanged.
        expect(yield* kindOf(blobs.put(one, { length: 5, pieces: piecesOf(bytesOf(4), 1) }))).toBe("length")
        expect((yield* read(one)).length).toBe(2_500_003)
      })
    )
    it.effect("of two organizations are separate, and listed in order, page by page", () =>
      Effect.gen(function* () {
        const blobs = yield* BlobStore
        for (const [organizationId, id] of [
          ["org_b", "med_1"],
          ["org_b", "med_3"],
          ["org_c", "med_9"]
        ] as const)
          yield* blobs.put({ organizationId, id }, { length: 3, pieces: piecesOf(bytesOf(3, id.length), 2) })
        expect(yield* blobs.organizations("")).toEqual(["org_a", "org_b", "org_c"])
        expect(yield* blobs.organizations("org_a")).toEqual(["org_b", "org_c"])
        expect(yield* blobs.ids("org_b", "")).toEqual(["med_1", "med_3"])
        expect(yield* blobs.ids("org_b", "med_1")).toEqual(["med_3"])
        expect(yield* blobs.ids("org_z", "")).toEqual([])
        yield* blobs.remove({ organizationId: "org_b", id: "med_1" })
        expect(yield* blobs.ids("org_b", "")).toEqual(["med_3"])
        expect((yield* read(one)).length).toBe(2_500_003)
      })
    )
    it.effect("are gone when removed; removing a missing one does nothing", () =>
      Effect.gen(function* () {
        const blobs = yield* BlobStore
        for (const id of ["med_0", "med_1", "med_7"]) yield* blobs.remove({ ...one, id })
        expect(yield* kindOf(blobs.get(one))).toBe("missing")
        expect(yield* blobs.ids("org_a", "")).toEqual([])
        expect(yield* kindOf(blobs.get({ organizationId: "..", id: "x" }))).toBe("store")
        expect(yield* kindOf(blobs.remove({ organizationId: "org_a", id: "../org_b/med_3" }))).toBe("store")
      })
    )
    it.effect("that are removed during a read are read to their end, or are missing", () =>
      Effect.gen(function* () {
        const blobs = yield* BlobStore
        for (let round = 0; round < 100; round++) {
          const key = { ...one, id: "med_6" }
          yield* blobs.put(key, { length: 5, pieces: piecesOf(bytesOf(5), 5) })
          const [seen] = yield* Effect.all([Effect.result(read(key)), blobs.remove(key)], { concurrency: 2 })
          if (seen._tag === "Success") expect(seen.success).toEqual(Buffer.from(bytesOf(5)))
          else expect(seen.failure.kind).toBe("missing")
        }
      })
    )
    it.effect("are read no faster than their consumer reads, and nothing stays open when one breaks off", () =>
      Effect.gen(function* () {
        const blobs = yield* BlobStore
        let sent = 0
        const endless = async function* () {
          for (;;) {
            sent += 65_536
            yield new Uint8Array(65_536)
          }
        }
        expect(yield* kindOf(blobs.put({ ...one, id: "med_4" }, { length: 1_000_000, pieces: endless() }))).toBe(
          "length"
        )
        expect(sent).toBeLessThan(1_200_000)
        const large = { ...one, id: "med_5" }
        yield* blobs.put(large, { length: 3_000_000, pieces: piecesOf(bytesOf(3_000_000), 100_000) })
        const stream = yield* blobs.get(large)
        yield* Effect.promise(() => new Promise((resolve) => void stream.once("data", resolve)))
        stream.destroy()
        yield* blobs.remove(large)
      })
    )
  })
