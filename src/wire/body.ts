/**
 * Request bodies: any content type, `gzip`, `br` and `zstd` decoded, and a bound on the decoded bytes (contract part 0).
 * Works on the node request itself, because a framework's body reader would decide by content type.
 */
import type { IncomingMessage } from "node:http"
import type { Readable, Transform } from "node:stream"
import * as zlib from "node:zlib"
import { Effect } from "effect"
import { type InputInvalid, inputInvalid } from "./errors.ts"

const decoderFor = (encoding: string): Transform | undefined => {
  switch (encoding) {
    case "gzip": case "x-gzip": return zlib.createGunzip()
    case "deflate": return zlib.createInflate()
    case "br": return zlib.createBrotliDecompress()
    case "zstd": {
      const create = (zlib as { readonly createZstdDecompress?: () => Transform }).createZstdDecompress
      return create?.()
    }
    default: return undefined
  }
}

/** The decoded body as a stream, unbounded: for imports and NDJSON, which bound what they hold at once. */
export const bodyStream = (request: IncomingMessage): Effect.Effect<Readable, InputInvalid> => {
  const encoding = (request.headers["content-encoding"] ?? "identity").trim().toLowerCase()
  if (encoding === "identity" || encoding === "") return Effect.succeed(request)
  const decoder = decoderFor(encoding)
  if (decoder === undefined) return Effect.fail(inputInvalid("content-encoding", `\`${encoding.slice(0, 40)}\` is not supported; gzip, br and zstd are`))
  request.on("error", (error) => decoder.destroy(error))
  return Effect.succeed(request.pipe(decoder))
}

/** The whole decoded body, at most `bytes_max`. Over it, the rest is discarded and the answer is 400. */
export const bodyBytes = (request: IncomingMessage, bytes_max: number): Effect.Effect<Buffer, InputInvalid> =>
  Effect.flatMap(bodyStream(request), (stream) =>
    Effect.callback<Buffer, InputInvalid>((resume) => {
      const chunks: Array<Buffer> = []
      let size = 0
      let isDone = false
      const finish = (effect: Effect.Effect<Buffer, InputInvalid>) => {
        if (isDone) return
        isDone = true
        resume(effect)
      }
      const tooLarge = () => {
        finish(Effect.fail(inputInvalid("body", `The body is larger than ${bytes_max} bytes`)))
        chunks.length = 0
        request.resume()
      }
      if (Number(request.headers["content-length"] ?? 0) > bytes_max && stream === request) return tooLarge()
      stream.on("data", (chunk: Buffer) => {
        if (isDone) return
        size += chunk.length
        if (size > bytes_max) return tooLarge()
        chunks.push(chunk)
      })
      stream.on("end", () => finish(Effect.succeed(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks, size))))
      stream.on("error", (error) => finish(Effect.fail(inputInvalid("body", `The body could not be read: ${error.message}`))))
      stream.on("close", () => finish(Effect.fail(inputInvalid("body", "The body ended early"))))
    }))

/** Deepest nesting accepted: a parser's recursion and ours stay far from the stack's end. */
export const jsonDepthMax = 64

/** True when the text nests deeper than `jsonDepthMax`; one pass over the bytes, strings skipped. */
export const nestsTooDeep = (bytes: Uint8Array): boolean => {
  let depth = 0
  let inString = false
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]
    if (inString) {
      if (byte === 0x5c) i++
      else if (byte === 0x22) inString = false
    } else if (byte === 0x22) inString = true
    else if (byte === 0x7b || byte === 0x5b) { if (++depth > jsonDepthMax) return true }
    else if (byte === 0x7d || byte === 0x5d) depth--
  }
  return false
}
