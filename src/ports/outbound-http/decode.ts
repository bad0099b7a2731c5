/**
 * Decodes an answer's body (`content-encoding`, or a gzip file), chunk by chunk. A few bytes can expand to gigabytes,
 * so the output is bounded in bytes, and in its ratio to the input.
 */
import { Stream } from "effect"
import { Readable, type Transform } from "node:stream"
import * as zlib from "node:zlib"
import { OutboundFailure } from "./outbound-http.ts"

const RATIO_MAX = 100
/** A short text of one repeated letter can have any ratio; up to this size that does no harm. */
const RATIO_FROM_BYTES = 1_000_000

/** Bytes by which a format is recognized. */
const MARK_BYTES = 2

/** Value of `accept-encoding`. */
export const ACCEPTED_ENCODINGS = "gzip, deflate, br"

/** Some senders use `deflate` for the raw format, others for the one with a header (RFC 9110, 8.4.1.2). */
const inflaterOf = (first: Uint8Array): Transform =>
  first.length > 1 && (first[0]! & 0x0f) === 8 && ((first[0]! << 8) | first[1]!) % 31 === 0
    ? zlib.createInflate()
    : zlib.createInflateRaw()
const DECODERS: ReadonlyMap<string, (first: Uint8Array) => Transform> = new Map<
  string,
  (first: Uint8Array) => Transform
>([
  ["gzip", () => zlib.createGunzip()],
  ["x-gzip", () => zlib.createGunzip()],
  ["deflate", inflaterOf],
  ["br", () => zlib.createBrotliDecompress()]
])

const undecodable = (message: string) => new OutboundFailure({ kind: "undecodable", message })
const isGzip = (first: Uint8Array): boolean => first[0] === 0x1f && first[1] === 0x8b

interface DecodeOptions {
  /** The answer's `content-encoding`. */ readonly encoding: string | undefined
  /** Maximum size of the output. */ readonly bytesMax: number
  /** Also decompresses a body whose first two bytes mark a gzip file (`sitemap.xml.gz`). */
  readonly unpacksFiles?: boolean | undefined
}

/** Reads at least this many bytes if they exist (a sender may split anywhere); returns all from the beginning. */
export const started = async (pieces: AsyncIterable<Uint8Array>, bytes: number) => {
  const reader = pieces[Symbol.asyncIterator]()
  const kept: Array<Uint8Array> = []
  let size = 0
  while (size < bytes) {
    const piece = await reader.next()
    if (piece.done === true) break
    kept.push(piece.value)
    size += piece.value.length
  }
  const all = async function* () {
    try {
      yield* kept
      for (let piece = await reader.next(); piece.done !== true; piece = await reader.next()) yield piece.value
    } finally {
      await reader.return?.()
    }
  }
  return { first: Buffer.concat(kept), all }
}

/** Yields the decompressed chunks, within both bounds. */
async function* unpacked(
  pieces: AsyncIterable<Uint8Array>,
  makeDecoder: (first: Uint8Array) => Transform,
  bytesMax: number
): AsyncGenerator<Uint8Array> {
  const { all, first } = await started(pieces, MARK_BYTES)
  if (first.length === 0) return
  let bytesIn = 0,
    bytesOut = 0
  const counted = async function* () {
    for await (const piece of all()) {
      bytesIn += piece.length
      yield piece
    }
  }
  const source = Readable.from(counted(), { objectMode: false })
  const decoder = makeDecoder(first)
  source.on("error", (error) => decoder.destroy(error))
  try {
    for await (const piece of source.pipe(decoder) as AsyncIterable<Buffer>) {
      bytesOut += piece.length
      if (bytesOut > bytesMax)
        throw new OutboundFailure({
          kind: "too_large",
          message: `Unpacked, the answer has more than ${bytesMax} bytes`
        })
      if (bytesOut > RATIO_FROM_BYTES && bytesOut > RATIO_MAX * bytesIn)
        throw new OutboundFailure({
          kind: "too_large",
          message: `The answer is more than ${RATIO_MAX} times as long unpacked as it was sent`
        })
      yield piece
    }
  } catch (error) {
    throw error instanceof OutboundFailure
      ? error
      : undecodable(`The answer cannot be unpacked: ${(error as Error).message}`)
  } finally {
    source.destroy()
    decoder.destroy()
  }
}

/** Decompresses a body whose first two bytes mark a gzip file. */
async function* unpackedFile(pieces: AsyncIterable<Uint8Array>, bytesMax: number): AsyncGenerator<Uint8Array> {
  const { all, first } = await started(pieces, MARK_BYTES)
  yield* isGzip(first) ? unpacked(all(), () => zlib.createGunzip(), bytesMax) : all()
}
/** Bytes that were not compressed have the same bound. */
async function* bounded(pieces: AsyncIterable<Uint8Array>, bytesMax: number): AsyncGenerator<Uint8Array> {
  let size = 0
  for await (const piece of pieces) {
    size += piece.length
    if (size > bytesMax)
      throw new OutboundFailure({ kind: "too_large", message: `The answer has more than ${bytesMax} bytes` })
    yield piece
  }
}

/** The decoded body. One coding is decoded; two, or an unknown one, are a failure. */
export const decoded = (
  body: Stream.Stream<Uint8Array, OutboundFailure>,
  { bytesMax, encoding, unpacksFiles = false }: DecodeOptions
): Stream.Stream<Uint8Array, OutboundFailure> => {
  const name = (encoding ?? "").trim().toLowerCase()
  const decoder = DECODERS.get(name)
  if (name !== "" && name !== "identity" && decoder === undefined)
    return Stream.fail(undecodable(`The answer is packed as ${name.slice(0, 40)}, which is not understood`))
  return Stream.suspend(() => {
    const pieces = Stream.toAsyncIterable(body)
    const plain = decoder === undefined ? pieces : unpacked(pieces, decoder, bytesMax)
    const whole = unpacksFiles ? unpackedFile(plain, bytesMax) : plain
    return Stream.fromAsyncIterable(bounded(whole, bytesMax), (error) =>
      error instanceof OutboundFailure ? error : undecodable(`The answer cannot be read: ${String(error)}`)
    )
  })
}
