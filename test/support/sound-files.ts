/** Audio files that tests write: Ogg and WebM around Opus packets, FLAC without compression, tones and noise. */
import { readOgg } from "../../src/ports/audio-decoder/ogg.ts"

const u16 = (value: number) => Buffer.from([value & 255, value >> 8])
const u32 = (value: number) => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value >>> 0)
  return bytes
}
const crcTable = Array.from({ length: 256 }, (_, i) => {
  let r = i << 24
  for (let bit = 0; bit < 8; bit++) r = (r << 1) ^ (r & 0x8000_0000 ? 0x04c1_1db7 : 0)
  return r >>> 0
})
const oggCrc = (bytes: Uint8Array): number =>
  bytes.reduce((crc, byte) => ((crc << 8) ^ crcTable[((crc >>> 24) ^ byte) & 255]!) >>> 0, 0)

export const opusHeadOf = (channels = 1, preSkip = 0): Buffer =>
  Buffer.concat([
    Buffer.from("OpusHead"),
    Buffer.from([1, channels]),
    u16(preSkip),
    u32(16_000),
    Buffer.from([0, 0, 0])
  ])

const page = (packets: ReadonlyArray<Uint8Array>, sequence: number, granule: number, flags: number): Buffer => {
  const lacing = packets.flatMap(({ length }) => [
    ...new Array<number>(Math.floor(length / 255)).fill(255),
    length % 255
  ])
  const bytes = Buffer.concat([
    Buffer.from("OggS"),
    Buffer.from([0, flags]),
    u32(granule),
    u32(0),
    u32(77),
    u32(sequence),
    u32(0),
    Buffer.from([lacing.length]),
    Buffer.from(lacing),
    ...packets
  ])
  bytes.writeUInt32LE(oggCrc(bytes), 22)
  return bytes
}
/** From packets of 20 ms. */
export const oggOf = (packets: ReadonlyArray<Uint8Array>, head = opusHeadOf()): Buffer => {
  const tags = Buffer.concat([Buffer.from("OpusTags"), u32(4), Buffer.from("test"), u32(0)])
  const pages = [page([head], 0, 0, 2), page([tags], 1, 0, 0)]
  for (let at = 0; at < packets.length; at += 50) {
    const some = packets.slice(at, at + 50)
    pages.push(page(some, pages.length, 960 * (at + some.length), at + 50 >= packets.length ? 4 : 0))
  }
  return Buffer.concat(pages)
}
export const packetsOf = (ogg: Uint8Array): ReadonlyArray<Uint8Array> => readOgg(ogg).packets

const element = (id: ReadonlyArray<number>, content: Uint8Array, isOpen = false): Buffer => {
  const size = Buffer.alloc(8)
  size.writeUInt32BE(0x0100_0000, 0)
  size.writeUInt32BE(content.length, 4)
  return Buffer.concat([Buffer.from(id), isOpen ? Buffer.from([1, 255, 255, 255, 255, 255, 255, 255]) : size, content])
}
/** As a browser's recorder writes it: segment and clusters of unknown size. */
export const webmOf = (packets: ReadonlyArray<Uint8Array>, head = opusHeadOf()): Buffer => {
  const track = element(
    [0xae],
    Buffer.concat([
      element([0xd7], Buffer.from([1])),
      element([0x86], Buffer.from("A_OPUS")),
      element([0x63, 0xa2], head),
      element([0xe1], element([0xb5], Buffer.from([0x47, 0x3b, 0x80, 0])))
    ])
  )
  const blocks = packets.map((packet, i) => {
    const time = Buffer.alloc(2)
    time.writeInt16BE((20 * i) % 30_000)
    return element([0xa3], Buffer.concat([Buffer.from([0x81]), time, Buffer.from([0x80]), packet]))
  })
  const cluster = (some: ReadonlyArray<Uint8Array>) =>
    element([0x1f, 0x43, 0xb6, 0x75], Buffer.concat([element([0xe7], Buffer.from([0])), ...some]), true)
  const half = blocks.length >> 1
  return Buffer.concat([
    element([0x1a, 0x45, 0xdf, 0xa3], element([0x42, 0x82], Buffer.from("webm"))),
    element(
      [0x18, 0x53, 0x80, 0x67],
      Buffer.concat([
        element([0x16, 0x54, 0xae, 0x6b], track),
        cluster(blocks.slice(0, half)),
        cluster(blocks.slice(half))
      ]),
      true
    )
  ])
}

class Bits {
  readonly #bits: Array<number> = []
  put(value: number, count: number): this {
    for (let bit = count - 1; bit >= 0; bit--) this.#bits.push(Math.floor(value / 2 ** bit) % 2)
    return this
  }
  get bytes(): Buffer {
    const bytes = Buffer.alloc(Math.ceil(this.#bits.length / 8))
    for (const [i, bit] of this.#bits.entries()) bytes[i >> 3]! |= bit << (7 - (i & 7))
    return bytes
  }
}
const crc = (bytes: Uint8Array, polynomial: number, width: number): number =>
  bytes.reduce((value, byte) => {
    let r = value ^ (byte << (width - 8))
    for (let bit = 0; bit < 8; bit++) r = ((r << 1) ^ (r & (1 << (width - 1)) ? polynomial : 0)) & (2 ** width - 1)
    return r
  }, 0)
/** One channel of 16 bits at 16,000 samples a second. `isConstant`: each block is its first sample, in two bytes. */
export const flacOf = (samples: Float32Array, isConstant = false): Buffer => {
  const block = 4_096
  const info = new Bits().put(block, 16).put(block, 16).put(0, 24).put(0, 24).put(16_000, 20).put(0, 3).put(15, 5)
  const streamInfo = Buffer.concat([
    info.put(Math.floor(samples.length / 2 ** 32), 4).put(samples.length % 2 ** 32, 32).bytes,
    Buffer.alloc(16)
  ])
  const frames: Array<Buffer> = [Buffer.from("fLaC"), Buffer.from([0x80, 0, 0, 34]), streamInfo]
  for (let at = 0, number = 0; at < samples.length; at += block, number++) {
    const some = samples.subarray(at, at + block)
    const head = new Bits()
      .put(0b1111_1111_1111_1000, 16)
      .put(0b0111, 4)
      .put(0b0101, 4)
      .put(0, 4)
      .put(0b100, 3)
      .put(0, 1)
    if (number < 128) head.put(number, 8)
    else if (number < 2_048) head.put(0xc0 | (number >> 6), 8).put(0x80 | (number & 63), 8)
    else
      head
        .put(0xe0 | (number >> 12), 8)
        .put(0x80 | ((number >> 6) & 63), 8)
        .put(0x80 | (number & 63), 8)
    head.put(some.length - 1, 16)
    const start = Buffer.concat([head.bytes, Buffer.from([crc(head.bytes, 0x07, 8)])])
    const sound = new Bits().put(isConstant ? 0 : 2, 8)
    for (const sample of isConstant ? some.subarray(0, 1) : some)
      sound.put((Math.round(sample * 32_767) + 65_536) % 65_536, 16)
    const frame = Buffer.concat([start, sound.bytes])
    const sum = crc(frame, 0x8005, 16)
    frames.push(frame, Buffer.from([sum >> 8, sum & 255]))
  }
  return Buffer.concat(frames)
}

/** Numbers from a seed, between -1 and 1. */
export const noiseOf = (seed: number) => {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 31 - 1
  }
}
/** A voice's pitch with some overtones, louder and quieter like syllables, from one second to another. */
export const voiceLike = (seconds: number, from: number, to: number, rate = 16_000): Float32Array =>
  Float32Array.from({ length: Math.round(seconds * rate) }, (_, i) => {
    const t = i / rate
    if (t < from || t >= to) return 0
    const syllable = 0.55 + 0.45 * Math.cos(2 * Math.PI * 4 * (t - from))
    const tone = (n: number) => Math.sin(2 * Math.PI * 140 * n * t) / n
    return 0.15 * syllable * (tone(1) + tone(2) + tone(3) + tone(5))
  })
