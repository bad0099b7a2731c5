/**
 * Record batches as brokers store them (Kafka protocol, record batch, magic 2), written in one pass into one buffer and
 * encoded once, so that a retry sends the same bytes. The client's own encoder creates a growing buffer for each
 * record, batch, partition and topic, and copies each into the next.
 */
import { compressorOf, type Compression } from "./codecs.ts"

export interface BatchRecord {
  readonly key: Uint8Array | undefined
  readonly value: Uint8Array
}

/**
 * Identifies a producer and the sequence number of the batch's first record among all that it sent to the partition; by
 * these the broker recognizes repetitions.
 */
interface ProducerStamp {
  readonly producerId: bigint
  readonly producerEpoch: number
  readonly firstSequence: number
}

const HEADER_BYTES = 61
/** Where the checksummed part begins. */
const CHECKED_FROM = 21
const MAGIC = 2
const ATTRIBUTES: Readonly<Record<Compression, number>> = { none: 0, gzip: 1, zstd: 4 }
/** Setting up a compressor takes some 40 µs, which is not worth it for fewer bytes. */
const COMPRESSED_FROM_BYTES = 1_024

/** CRC-32C (Castagnoli, reflected 0x1EDC6F41) with four tables: each step processes four bytes. */
const TABLES = (() => {
  const tables = Array.from({ length: 4 }, () => new Uint32Array(256))
  for (let byte = 0; byte < 256; byte++) {
    let c = byte
    for (let bit = 0; bit < 8; bit++) c = c & 1 ? (c >>> 1) ^ 0x82f63b78 : c >>> 1
    tables[0]![byte] = c
  }
  for (let byte = 0; byte < 256; byte++)
    for (let t = 1; t < 4; t++)
      tables[t]![byte] = (tables[t - 1]![byte]! >>> 8) ^ tables[0]![tables[t - 1]![byte]! & 0xff]!
  return tables
})()

/** The checksum of `bytes` from `from` to `to`. O(bytes), under a nanosecond each. */
export const crc32c = (bytes: Uint8Array, from = 0, to = bytes.length): number => {
  const [t0, t1, t2, t3] = TABLES as [Uint32Array, Uint32Array, Uint32Array, Uint32Array]
  let c = -1
  let at = from
  for (; at + 4 <= to; at += 4) {
    c ^= bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)
    c = t3[c & 0xff]! ^ t2[(c >>> 8) & 0xff]! ^ t1[(c >>> 16) & 0xff]! ^ t0[c >>> 24]!
  }
  for (; at < to; at++) c = (c >>> 8) ^ t0[(c ^ bytes[at]!) & 0xff]!
  return (c ^ -1) >>> 0
}

/** Zigzag, seven bits per byte; returns the position after it. */
const writeVarint = (into: Uint8Array, at: number, value: number): number => {
  let rest = ((value << 1) ^ (value >> 31)) >>> 0
  for (; rest > 0x7f; rest >>>= 7) into[at++] = (rest & 0x7f) | 0x80
  into[at++] = rest
  return at
}
const sizeOfVarint = (value: number): number => {
  let size = 1
  for (let rest = (((value << 1) ^ (value >> 31)) >>> 0) >>> 7; rest > 0; rest >>>= 7) size++
  return size
}

/** Size of a record without its own length: attributes, time and offset as differences, key, value, no headers. */
const sizeOfRecord = ({ key, value }: BatchRecord, offsetDelta: number): number =>
  2 +
  sizeOfVarint(offsetDelta) +
  (key === undefined ? 1 : sizeOfVarint(key.length) + key.length) +
  sizeOfVarint(value.length) +
  value.length +
  1

const writeRecord = (
  into: Uint8Array,
  from: number,
  { key, value }: BatchRecord,
  offsetDelta: number,
  size: number
): number => {
  let at = writeVarint(into, from, size)
  into[at++] = 0
  into[at++] = 0
  at = writeVarint(into, at, offsetDelta)
  if (key === undefined) at = writeVarint(into, at, -1)
  else {
    at = writeVarint(into, at, key.length)
    into.set(key, at)
    at += key.length
  }
  at = writeVarint(into, at, value.length)
  into.set(value, at)
  at += value.length
  into[at++] = 0
  return at
}

/**
 * Encodes one batch of at least one record, copying their bytes. It contains `now` (ms), although topics keep the
 * broker's time. Compressed if that makes it smaller.
 */
export const encodeBatch = (
  records: ReadonlyArray<BatchRecord>,
  stamp: ProducerStamp,
  compression: Compression,
  now: number
): Buffer => {
  const sizes = records.map(sizeOfRecord)
  let bytes = 0
  for (const size of sizes) bytes += sizeOfVarint(size) + size
  let batch = Buffer.allocUnsafeSlow(HEADER_BYTES + bytes)
  let at = HEADER_BYTES
  for (let i = 0; i < records.length; i++) at = writeRecord(batch, at, records[i]!, i, sizes[i]!)
  const compress = bytes < COMPRESSED_FROM_BYTES ? undefined : compressorOf(compression)
  let attributes = ATTRIBUTES.none
  if (compress !== undefined) {
    const compressed = compress(batch.subarray(HEADER_BYTES))
    // Fingerprints, which are as good as random, stay uncompressed.
    if (compressed.length < bytes) {
      attributes = ATTRIBUTES[compression]
      batch = Buffer.allocUnsafeSlow(HEADER_BYTES + compressed.length)
      batch.set(compressed, HEADER_BYTES)
    }
  }
  batch.writeBigInt64BE(0n, 0)
  batch.writeInt32BE(batch.length - 12, 8)
  batch.writeInt32BE(-1, 12)
  batch.writeInt8(MAGIC, 16)
  batch.writeInt16BE(attributes, 21)
  batch.writeInt32BE(records.length - 1, 23)
  batch.writeBigInt64BE(BigInt(now), 27)
  batch.writeBigInt64BE(BigInt(now), 35)
  batch.writeBigInt64BE(stamp.producerId, 43)
  batch.writeInt16BE(stamp.producerEpoch, 51)
  batch.writeInt32BE(stamp.firstSequence, 53)
  batch.writeInt32BE(records.length, 57)
  batch.writeUInt32BE(crc32c(batch, CHECKED_FROM), 17)
  return batch
}
