/**
 * Ends of zstd frames, compared with a real encoder: the end of every frame is found wherever the bytes are split, and
 * no other place is taken for an end.
 */
import * as zlib from "node:zlib"
import { describe, expect, it } from "vitest"
import { makeRandom } from "../../fixtures/random.ts"
import { contentCoding } from "../../src/http/content-coding.ts"
import { makeZstdFrames } from "../../src/http/zstd-frames.ts"

const { constants, zstdCompressSync } = zlib as unknown as {
  readonly zstdCompressSync?: (bytes: Buffer, options?: object) => Buffer
  readonly constants: Record<string, number>
}
const skippable = (bytes: number) => {
  const head = Buffer.alloc(8)
  head.writeUInt32LE(0x184d2a5b, 0)
  head.writeUInt32LE(bytes, 4)
  return Buffer.concat([head, Buffer.alloc(bytes, 0x28)])
}

describe.skipIf(zstdCompressSync === undefined)("zstd frames", () => {
  it("end where the encoder ended them, however the bytes come", () => {
    for (let round = 0; round < 300; round++) {
      const random = makeRandom(`zstd/${round}`)
      const plains: Array<Buffer> = [],
        parts: Array<Buffer> = []
      for (let i = 1 + random.below(4); i > 0; i--) {
        if (random.chance(0.2)) {
          parts.push(skippable(random.below(30)))
          continue
        }
        // Nothing, words, one byte repeated (which has its own kind of block), noise (a raw block), or more than one
        // block holds.
        const plain = random.pick([
          () => Buffer.alloc(0),
          () => Buffer.from("a few words ".repeat(1 + random.below(60))),
          () => Buffer.alloc(random.below(300_000), 7),
          () => Buffer.from(Array.from({ length: random.below(2_000) }, () => random.below(256)))
        ])()
        plains.push(plain)
        parts.push(
          zstdCompressSync!(plain, {
            params: {
              [constants.ZSTD_c_checksumFlag!]: random.below(2),
              [constants.ZSTD_c_contentSizeFlag!]: random.below(2),
              [constants.ZSTD_c_compressionLevel!]: 1 + random.below(5)
            }
          })
        )
      }
      const bytes = Buffer.concat(parts)
      const ends = parts.map((_, i) => parts.slice(0, i + 1).reduce((sum, { length }) => sum + length, 0))
      const frames = makeZstdFrames()
      const found: Array<number> = []
      for (let at = 0; at < bytes.length;) {
        const piece = bytes.subarray(at, at + 1 + random.below(random.pick([1, 5, 400_000])))
        for (let within = 0; within < piece.length;) {
          within = frames.next(piece, within)
          if (frames.isWhole()) found.push(at + within)
          else expect(within).toBe(piece.length)
        }
        at += piece.length
      }
      expect(found).toEqual(ends)
      if (plains.length > 0)
        expect(contentCoding("zstd")!.decode([bytes], bytes.length, 2_000_000).equals(Buffer.concat(plains))).toBe(true)
      const cut = random.below(bytes.length)
      if (!ends.includes(cut))
        expect(() => contentCoding("zstd")!.decode([bytes.subarray(0, cut)], cut, 2_000_000)).toThrow(/no end/)
    }
  })
  it("are bounded in number and in decoded size", () => {
    const empty = zstdCompressSync!(Buffer.alloc(0))
    const many = (count: number) => Buffer.concat(Array.from({ length: count }, () => empty))
    expect(contentCoding("zstd")!.decode([many(64)], 64 * empty.length, 10)).toHaveLength(0)
    expect(() => contentCoding("zstd")!.decode([many(65)], 65 * empty.length, 10)).toThrow(/more than 64 frames/)
    const ten = zstdCompressSync!(Buffer.alloc(10))
    const both = Buffer.concat([ten, ten])
    expect(contentCoding("zstd")!.decode([both], both.length, 20)).toHaveLength(20)
    expect(() => contentCoding("zstd")!.decode([both], both.length, 19)).toThrow(
      expect.objectContaining({ code: "ERR_BUFFER_TOO_LARGE" })
    )
  })
})
