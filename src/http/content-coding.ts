/**
 * Content codings of requests: gzip, deflate, br and, if the runtime has it, zstd (Node from 22.15). A truncated text
 * is refused, and so is anything after its end, because undecoded data would be lost unnoticed: decoders of several
 * runtimes accept half a text of br or zstd as complete, and drop what follows the first. Several members of gzip or
 * frames of zstd may follow one another, as their formats allow.
 */
import { pipeline, type Readable, Transform, type Writable } from "node:stream"
import * as zlib from "node:zlib"
import { makeZstdFrames } from "./zstd-frames.ts"

export interface ContentCoding {
  /** In one call, for `size` bytes. Throws why they are unreadable, or an error with code `ERR_BUFFER_TOO_LARGE`. */
  readonly decode: (chunks: ReadonlyArray<Uint8Array>, size: number, bytes_max: number) => Buffer
  /**
   * As a stream without a size limit, with the native memory of one decoder until it ends, fails or is destroyed.
   * `holds` is called with how much decoded data the decoder keeps, as it grows; an error that it returns ends the
   * stream.
   */
  readonly stream: (holds: HoldsDecoded) => { readonly input: Writable; readonly output: Readable }
}
type HoldsDecoded = (bytes: number) => Error | undefined

type Decoder = Transform & { /** Bytes of the input used so far. */ readonly bytesWritten: number }
type DecodeSync = (
  bytes: Uint8Array,
  options: { readonly maxOutputLength: number; readonly info: true }
) => { readonly buffer: Buffer; readonly engine: { readonly bytesWritten: number } }

const NO_END = "the compressed text has no end"
/**
 * Stages that fail and end together. An unhandled failure must not end the program; a later reader still receives it.
 */
const joined = (...stages: ReadonlyArray<Transform>) => {
  if (stages.length === 1) stages[0]!.on("error", () => {})
  else pipeline(stages as ReadonlyArray<NodeJS.ReadWriteStream>, () => {})
  return { input: stages[0]!, output: stages.at(-1)! }
}

/**
 * How far back a reference may reach, which is the decoded data that a decoder keeps. For zstd it is what RFC 8878
 * requires of every decoder, for the others what their formats allow.
 */
const WINDOW_BYTES = { deflate: 32 * 1024, br: 16 * 1024 * 1024, zstd: 8 * 1024 * 1024 } as const
const ZSTD_WINDOW_LOG = 23
/** Memory is reserved in steps of this size. */
const WINDOW_STEP = 256 * 1024
/** Follows a decoder whose window counts towards memory. */
const kept = (window_bytes: number, holds: HoldsDecoded) => {
  let decoded = 0,
    held = 0
  return (chunk: Uint8Array): Error | undefined => {
    if (held === window_bytes) return undefined
    decoded += chunk.length
    if (decoded <= held) return undefined
    held = Math.min(window_bytes, Math.ceil(decoded / WINDOW_STEP) * WINDOW_STEP)
    return holds(held)
  }
}

/** A decoder that detects missing or surplus data itself. */
const sure = (create: () => Transform, decodeSync: DecodeSync): ContentCoding => ({
  decode: (chunks, _, bytes_max) =>
    decodeSync(Buffer.concat(chunks), { maxOutputLength: bytes_max, info: true }).buffer,
  stream: () => joined(create())
})

/**
 * A decoder that reports how much of the input it used. `guard` comes last: data reaches it when it leaves the
 * decoder, before the decoder ends or fails.
 */
const counted = (
  create: () => Transform,
  decodeSync: DecodeSync,
  guard: Uint8Array,
  window_bytes: number
): ContentCoding => {
  const check = (used: number, sent: number): void => {
    if (used !== sent) throw new Error(used > sent ? NO_END : "there is data after the end of the compressed body")
  }
  return {
    decode: (chunks, size, bytes_max) => {
      const { buffer, engine } = decodeSync(Buffer.concat([...chunks, guard]), {
        maxOutputLength: bytes_max,
        info: true
      })
      check(engine.bytesWritten, size)
      return buffer
    },
    stream: (holds) => {
      let sent = 0
      const keeps = kept(window_bytes, holds)
      const decoder = create() as Decoder
      const count = new Transform({
        transform: (chunk: Uint8Array, _, done) => {
          sent += chunk.length
          done(null, chunk)
        },
        flush: (done) => done(null, guard.length === 0 ? undefined : guard)
      })
      const ended = new Transform({
        transform: (chunk: Uint8Array, _, done) => done(keeps(chunk) ?? null, chunk),
        flush: attempted(() => check(decoder.bytesWritten, sent))
      })
      return joined(count, decoder, ended)
    }
  }
}
const attempted =
  (run: () => void) =>
  (done: (error: Error | null) => void): void => {
    try {
      run()
    } catch (error) {
      return done(error as Error)
    }
    done(null)
  }

/** Limit for text decoded in one call, where each frame occupies a decoder and the thread for its duration. */
const FRAMES_MAX = 64
/** Each frame is passed to a decoder separately, because a decoder drops whatever follows it in the same chunk. */
const framed = (create: () => Transform, decodeSync: DecodeSync, window_bytes: number): ContentCoding => ({
  decode: (chunks, size, bytes_max) => {
    const bytes = Buffer.concat(chunks)
    const frames = makeZstdFrames()
    const decoded: Array<Buffer> = []
    for (let at = 0, left = bytes_max; at < size;) {
      const end = frames.next(bytes, at)
      if (end === size && !frames.isWhole()) break
      if (decoded.length === FRAMES_MAX)
        throw new Error(`the compressed text is short and has more than ${FRAMES_MAX} frames`)
      const { buffer } = decodeSync(bytes.subarray(at, end), { maxOutputLength: Math.max(1, left), info: true })
      left -= buffer.length
      if (left < 0) throw Object.assign(new Error("too large"), { code: "ERR_BUFFER_TOO_LARGE" })
      decoded.push(buffer)
      at = end
    }
    if (!frames.isWhole()) throw new Error(NO_END)
    return decoded.length === 1 ? decoded[0]! : Buffer.concat(decoded)
  },
  stream: (holds) => {
    const frames = makeZstdFrames()
    const keeps = kept(window_bytes, holds)
    const cut = new Transform({
      transform(chunk: Uint8Array, _, done) {
        attempted(() => {
          for (let at = 0; at < chunk.length;) {
            const end = frames.next(chunk, at)
            this.push(chunk.subarray(at, end))
            at = end
          }
        })(done)
      },
      flush: (done) => done(frames.isWhole() ? null : new Error(NO_END))
    })
    return joined(
      cut,
      create(),
      new Transform({ transform: (chunk: Uint8Array, _, done) => done(keeps(chunk) ?? null, chunk) })
    )
  }
})

interface Zstd {
  readonly createZstdDecompress?: (options: object) => Transform
  readonly zstdDecompressSync?: (bytes: Uint8Array, options: object) => unknown
  readonly constants: { readonly ZSTD_d_windowLogMax?: number }
}
const {
  constants: { ZSTD_d_windowLogMax = 100 },
  createZstdDecompress,
  zstdDecompressSync
} = zlib as Zstd
const zstdParameters = { params: { [ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG } }
const zstd =
  createZstdDecompress === undefined || zstdDecompressSync === undefined
    ? undefined
    : framed(
        () => createZstdDecompress(zstdParameters),
        ((bytes, options) => zstdDecompressSync(bytes, { ...zstdParameters, ...options })) as DecodeSync,
        WINDOW_BYTES.zstd
      )
const gzip = sure(() => zlib.createGunzip(), zlib.gunzipSync as unknown as DecodeSync)
const codings: ReadonlyMap<string, ContentCoding> = new Map([
  ["gzip", gzip],
  ["x-gzip", gzip],
  [
    "deflate",
    counted(
      () => zlib.createInflate(),
      zlib.inflateSync as unknown as DecodeSync,
      Buffer.alloc(0),
      WINDOW_BYTES.deflate
    )
  ],
  [
    "br",
    counted(
      () => zlib.createBrotliDecompress(),
      zlib.brotliDecompressSync as unknown as DecodeSync,
      Buffer.alloc(1),
      WINDOW_BYTES.br
    )
  ],
  ...(zstd === undefined ? [] : [["zstd", zstd] as const])
])
/** Looked up by its name in lower case; undefined if it cannot be decoded here. */
export const contentCoding = (name: string): ContentCoding | undefined => codings.get(name)
