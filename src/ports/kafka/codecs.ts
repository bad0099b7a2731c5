/** How batches are compressed, on both sides: by us when writing (`record-batch.ts`), by the client, with the same functions, when reading. */
import { constants, gunzipSync, gzipSync } from "node:zlib"
import * as zlib from "node:zlib"
import kafkajs from "kafkajs"

export type Compression = "zstd" | "gzip" | "none"

/** Of `node:zlib`, absent before Node 22.15 (and from the typings of older ones). */
const { zstdCompressSync, zstdDecompressSync } = zlib as { zstdCompressSync?: (bytes: Uint8Array) => Buffer; zstdDecompressSync?: (bytes: Uint8Array) => Buffer }
export const hasZstd = zstdCompressSync !== undefined && zstdDecompressSync !== undefined

/** Level 1 costs a sixth of level 6 and gives 7.6-9.5 KB instead of 6.8 for a record of 100 events. */
const gzipFast = (bytes: Uint8Array): Buffer => gzipSync(bytes, { level: constants.Z_BEST_SPEED })

/** Undefined for none. */
export const compressorOf = (compression: Compression): ((bytes: Uint8Array) => Buffer) | undefined =>
  compression === "zstd" ? zstdCompressSync : compression === "gzip" ? gzipFast : undefined

/** zstd where the runtime has it: as small as gzip for a fifth of the processor time. Throws when it was asked for and is not there. */
export const compressionOf = (wanted: Compression = hasZstd ? "zstd" : "gzip"): Compression => {
  if (wanted === "zstd" && !hasZstd) throw new Error("This runtime has no zstd; choose gzip or none, or run on Deno or Node 22.15 and later.")
  return wanted
}

/** Both are read whatever is written: topics keep what older settings wrote. The client writes nothing. */
export const registerCodecs = (): void => {
  kafkajs.CompressionCodecs[kafkajs.CompressionTypes.GZIP] = () => ({
    compress: async ({ buffer }: { readonly buffer: Buffer }) => gzipFast(buffer),
    decompress: async (bytes: Buffer) => gunzipSync(bytes)
  })
  if (zstdCompressSync === undefined || zstdDecompressSync === undefined) return
  kafkajs.CompressionCodecs[kafkajs.CompressionTypes.ZSTD] = () => ({
    compress: async ({ buffer }: { readonly buffer: Buffer }) => zstdCompressSync(buffer),
    decompress: async (bytes: Buffer) => zstdDecompressSync(bytes)
  })
}
