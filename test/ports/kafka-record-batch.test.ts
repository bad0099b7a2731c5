/** Our batches, decoded by the client's decoder, which is the one that reads what brokers send. */
import { createRequire } from "node:module"
import { describe, expect, it } from "vitest"
import { hasZstd, registerCodecs } from "../../log/event-log/kafka/codecs.ts"
import { decodeProduced, encodeProduce } from "../../log/event-log/kafka/produce.ts"
import { type BatchRecord, crc32c, encodeBatch } from "../../log/event-log/kafka/record-batch.ts"

const require = createRequire(import.meta.url)
const Decoder = require("kafkajs/src/protocol/decoder.js") as new (bytes: Buffer) => {
  readInt32(): number
  readInt16(): number
  readString(): string
  readBytes(length: number): Buffer
}
const decodeBatch = require("kafkajs/src/protocol/recordBatch/v0/decoder.js") as (decoder: unknown) => Promise<{
  readonly lastOffsetDelta: number
  readonly producerId: string
  readonly producerEpoch: number
  readonly firstSequence: number
  readonly maxTimestamp: string
  readonly records: ReadonlyArray<{ readonly offset: string; readonly key: Buffer | null; readonly value: Buffer }>
}>
const clientsCrc = require("kafkajs/src/protocol/recordBatch/crc32C/index.js") as (bytes: Buffer) => number
registerCodecs()

const stamp = { producerId: 123_456_789_012n, producerEpoch: 3, firstSequence: 2 ** 31 - 2 }
/**
 * Generates records from a seed: sizes around the boundaries of a varint, compressible texts and incompressible bytes.
 */
const records = (seed: number, count: number): ReadonlyArray<BatchRecord> => {
  let state = seed
  const next = (below: number) => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) % below
  const sizes = [0, 1, 62, 63, 64, 65, 127, 128, 300, 8_191, 8_192, 70_000]
  return Array.from({ length: count }, () => {
    const size = sizes[next(sizes.length)]!
    const value =
      next(2) === 0
        ? Buffer.from("event ".repeat(size / 6 + 1)).subarray(0, size)
        : Buffer.from(Array.from({ length: size }, () => next(256)))
    return { key: next(3) === 0 ? undefined : Buffer.from("k".repeat(next(200))), value }
  })
}

describe("record batches", () => {
  it.each(hasZstd ? (["none", "gzip", "zstd"] as const) : (["none", "gzip"] as const))(
    "are decoded by the client without a difference: %s",
    async (compression) => {
      for (let seed = 1; seed <= 12; seed++) {
        const given = records(seed, 1 + seed * seed)
        const bytes = encodeBatch(given, stamp, compression, 1_700_000_000_123)
        expect(bytes.readUInt32BE(17)).toBe(clientsCrc(bytes.subarray(21)))
        const read = await decodeBatch(new Decoder(bytes))
        expect({ ...read, records: 0 }).toMatchObject({
          lastOffsetDelta: given.length - 1,
          producerId: "123456789012",
          producerEpoch: 3,
          firstSequence: 2 ** 31 - 2,
          maxTimestamp: "1700000000123"
        })
        expect(
          read.records.map(({ key, offset, value }) => [offset, key?.toString("hex"), value.toString("hex")])
        ).toEqual(
          given.map(({ key, value }, i) => [
            String(i),
            key === undefined ? undefined : Buffer.from(key).toString("hex"),
            Buffer.from(value).toString("hex")
          ])
        )
      }
    }
  )
  it("are compressed where that makes them smaller", () => {
    const [text, noise] = [
      Buffer.alloc(10_000, "event "),
      Buffer.from(Array.from({ length: 10_000 }, (_, i) => Math.imul(i, 2_654_435_761) >>> 13))
    ]
    expect(encodeBatch([{ key: undefined, value: text }], stamp, "gzip", 0).length).toBeLessThan(300)
    for (const [value, attributes] of [
      [text, 1],
      [Buffer.from("few"), 0],
      [noise, undefined]
    ] as const) {
      const bytes = encodeBatch([{ key: undefined, value }], stamp, "gzip", 0)
      expect(bytes.length).toBeLessThanOrEqual(value.length + 80)
      if (attributes !== undefined) expect(bytes.readInt16BE(21)).toBe(attributes)
    }
  })
  it("have Castagnoli's checksum", () => {
    expect(crc32c(Buffer.from("123456789"))).toBe(0xe3069283)
    expect(crc32c(Buffer.alloc(0))).toBe(0)
    expect(crc32c(Buffer.from("xx123456789x"), 2, 11)).toBe(0xe3069283)
  })
})

describe("a produce request", () => {
  it("names each topic once, with its partitions", () => {
    const decoder = new Decoder(
      encodeProduce(
        [
          { topic: "a", partition: 2, bytes: Buffer.from("xyz") },
          { topic: "ü", partition: 0, bytes: Buffer.from("") },
          { topic: "a", partition: 1, bytes: Buffer.from("q") }
        ],
        5_000
      )
    )
    expect([decoder.readInt16(), decoder.readInt16(), decoder.readInt32(), decoder.readInt32()]).toEqual([
      -1, -1, 5_000, 2
    ])
    const partition = () => [decoder.readInt32(), decoder.readBytes(decoder.readInt32()).toString()]
    expect([decoder.readString(), decoder.readInt32(), partition(), partition()]).toEqual([
      "a",
      2,
      [2, "xyz"],
      [1, "q"]
    ])
    expect([decoder.readString(), decoder.readInt32(), partition()]).toEqual(["ü", 1, [0, ""]])
  })
  it("reports each partition's result separately", () => {
    const answer = Buffer.alloc(4 + 3 + 4 + 60 + 4)
    answer.writeInt32BE(1, 0)
    answer.writeInt16BE(1, 4)
    answer.write("t", 6)
    answer.writeInt32BE(2, 7)
    for (const [i, [partition, error, offset]] of (
      [
        [0, 0, 77n],
        [3, 6, -1n]
      ] as const
    ).entries()) {
      answer.writeInt32BE(partition, 11 + 30 * i)
      answer.writeInt16BE(error, 15 + 30 * i)
      answer.writeBigInt64BE(offset, 17 + 30 * i)
    }
    answer.writeInt32BE(9, 71)
    expect(decodeProduced(answer)).toEqual({
      answers: [
        { topic: "t", partition: 0, error: 0, baseOffset: 77 },
        { topic: "t", partition: 3, error: 6, baseOffset: -1 }
      ],
      throttle_ms: 9
    })
  })
})
