/**
 * Pictures in their process: what is kept of each format, what is refused, what ends the process but not the program,
 * and whose turn is next.
 */
import { deflateSync, crc32 } from "node:zlib"
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import sharp from "sharp"
import { describe, it as test } from "vitest"
import { FrameReader, frameOf } from "../../src/ports/image-process/frames.ts"
import { layerChildren } from "../../src/ports/image-process/children.ts"
import { formatOf } from "../../src/ports/image-process/format.ts"
import { type ImageFailure, ImageProcess } from "../../src/ports/image-process/image-process.ts"
import { Turns } from "../../src/ports/image-process/turns.ts"

const picture = (width = 60, height = 40) => sharp({ create: { width, height, channels: 3, background: "#a03020" } })
const keep = (bytes: Uint8Array, organization = "org_a") =>
  Effect.flatMap(ImageProcess, (images) => images.keep(organization, bytes))
const outcome = <A>(effect: Effect.Effect<A, ImageFailure, ImageProcess>) =>
  Effect.match(effect, { onFailure: ({ kind, message }) => `${kind}: ${message}`, onSuccess: () => "kept" })

/** A PNG whose header claims any size, with only the given number of rows. */
const claimed = (width: number, height: number, rows = 1): Buffer => {
  const chunk = (name: string, data: Uint8Array) => {
    const whole = Buffer.alloc(data.length + 12)
    whole.writeUInt32BE(data.length, 0)
    whole.write(name, 4, "latin1")
    whole.set(data, 8)
    whole.writeUInt32BE(crc32(whole.subarray(4, data.length + 8)), data.length + 8)
    return whole
  }
  const head = Buffer.alloc(13)
  head.writeUInt32BE(width, 0)
  head.writeUInt32BE(height, 4)
  head.set([8, 2, 0, 0, 0], 8)
  const data = deflateSync(Buffer.alloc(rows * (width * 3 + 1)))
  return Buffer.concat([
    Buffer.from("\x89PNG\r\n\x1a\n", "latin1"),
    chunk("IHDR", head),
    chunk("IDAT", data),
    chunk("IEND", Buffer.alloc(0))
  ])
}

layer(layerChildren(), { excludeTestServices: true })("a picture", (it) => {
  it.effect("of each format keeps only its pixels, upright and of one frame", () =>
    Effect.gen(function* () {
      const upright = yield* Effect.promise(() =>
        picture()
          .withExifMerge({ IFD0: { Copyright: "secret place" } })
          .withMetadata({ orientation: 6 })
          .jpeg()
          .toBuffer()
      )
      expect(upright.includes("secret place")).toBe(true)
      const jpeg = yield* keep(Buffer.concat([upright, Buffer.from("<script>hidden</script>")]))
      expect(jpeg).toMatchObject({ contentType: "image/jpeg", width: 40, height: 60 })
      for (const word of ["secret place", "Exif", "script"]) expect(Buffer.from(jpeg.bytes).includes(word)).toBe(false)
      const kept = new Map<string, string>()
      for (const format of ["png", "webp", "avif", "gif"] as const) {
        const bytes = yield* Effect.promise(() => picture()[format]().toBuffer())
        const image = yield* keep(bytes)
        expect([formatOf(bytes), image.width, image.height]).toEqual([format, 60, 40])
        kept.set(format, image.contentType)
      }
      expect(Object.fromEntries(kept)).toEqual({
        png: "image/png",
        webp: "image/webp",
        avif: "image/webp",
        gif: "image/png"
      })
      const frames = yield* Effect.promise(async () => {
        const each = [0, 1, 2].map((n) =>
          sharp({ create: { width: 20, height: 10, channels: 3, background: { r: n * 90, g: 0, b: 0 } } })
            .png()
            .toBuffer()
        )
        return sharp(await Promise.all(each), { join: { animated: true } })
          .gif()
          .toBuffer()
      })
      expect(yield* keep(frames)).toMatchObject({ width: 20, height: 10 })
      const large = yield* Effect.promise(() => picture(6_000, 3_000).jpeg().toBuffer())
      expect(yield* keep(large)).toMatchObject({ width: 4_096, height: 2_048 })
    })
  )
  it.effect("that is not one, ends early or is too large is refused, and the next one is accepted", () =>
    Effect.gen(function* () {
      const whole = yield* Effect.promise(() =>
        sharp({
          create: {
            width: 400,
            height: 400,
            channels: 3,
            background: "#fff",
            noise: { type: "gaussian", mean: 128, sigma: 40 }
          }
        })
          .jpeg()
          .toBuffer()
      )
      const svg = Buffer.from(
        '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="9" height="9"/></svg>'
      )
      for (const none of [svg, Buffer.from("BM......"), Buffer.from("II*\0"), Buffer.from("%PDF-1.7"), Buffer.alloc(0)])
        expect(yield* outcome(keep(none))).toBe("refused: An image is one of jpeg, png, webp, avif, gif.")
      for (const broken of [
        whole.subarray(0, whole.length / 2),
        Buffer.concat([Buffer.from("\xff\xd8\xff", "latin1"), svg]),
        Buffer.from("GIF89a"),
        Buffer.concat([Buffer.from("\0\0\0 ftypavif", "latin1"), Buffer.alloc(500, 7)])
      ])
        expect(yield* outcome(keep(broken))).toMatch(/^refused: The (image is broken|bytes are not)/)
      expect(yield* outcome(keep(claimed(50_000, 50_000)))).toMatch(/^refused: The image has/)
      expect(yield* outcome(keep(claimed(6_400, 6_400)))).toMatch(/^refused: The image has/)
      expect(yield* outcome(keep(whole))).toBe("kept")
      const { counts } = yield* ImageProcess
      expect([counts.processesLost, counts.waiting]).toEqual([0, 0])
    })
  )
})
layer(layerChildren(1), { excludeTestServices: true })("a picture that takes too long", (it) => {
  it.effect("is refused and its process ended; others continue in another process", () =>
    Effect.gen(function* () {
      const slow = yield* Effect.promise(() => picture(5_000, 5_000).webp().toBuffer())
      expect(yield* outcome(keep(slow))).toBe("refused: The image takes more than 0.001 s to decode.")
      expect((yield* ImageProcess).counts.processesLost).toBe(1)
    })
  )
})

describe("turns", () => {
  test("go to the organization that used least, one job of each at a time", () => {
    const turns = new Turns<string>()
    for (const n of [1, 2, 3]) turns.put("many", `many ${n}`)
    turns.put("few", "few 1")
    expect([turns.take()!.entry, turns.take()!.entry, turns.take()]).toEqual(["many 1", "few 1", undefined])
    turns.done("many", 900)
    turns.put("late", "late 1")
    turns.done("few", 10)
    turns.put("few", "few 2")
    expect([turns.take()!.entry, turns.take()!.entry, turns.take()!.entry]).toEqual(["late 1", "few 2", "many 2"])
    expect(turns.size).toBe(1)
  })
})
describe("messages", () => {
  test("are complete again, however they were split", () => {
    const sent = [1, 2, 3].map((n) => ({ head: { n }, bytes: Uint8Array.from({ length: n * 10 }, (_, i) => i) }))
    const stream = Buffer.concat(sent.flatMap(frameOf))
    for (const size of [1, 7, 11, 1_000]) {
      const reader = new FrameReader()
      const read = []
      for (let at = 0; at < stream.length; at += size) read.push(...reader.push(stream.subarray(at, at + size)))
      expect(read.map(({ bytes, head }) => ({ head, bytes: Uint8Array.from(bytes) }))).toEqual(sent)
    }
    expect(() => new FrameReader().push(Buffer.alloc(8, 0xff))).toThrow("too long")
  })
})
