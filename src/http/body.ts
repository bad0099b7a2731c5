/**
 * Request bodies: any content type, `gzip`, `br` and `zstd` decoded, with a limit on the decoded bytes. Works on the
 * node request itself, because a framework's body reader would decide by content type.
 */
import type { IncomingMessage } from "node:http"
import { pipeline, type Readable, Transform } from "node:stream"
import { Effect } from "effect"
import { CONTAINERS_MAX, parseBounded as parseWithin } from "@dowser/engine-sdk/documents"
import { type ContentCoding, contentCoding } from "./content-coding.ts"
import { type InputInvalid, inputInvalid, Throttled } from "./errors.ts"
import { FREE_BYTES, type HeldMemory } from "./request-memory.ts"

/**
 * Short bodies are decoded in one call: a stream for each leaves some 30 KB of native memory to the garbage
 * collector, which does not know about it. The decoded size is limited as for every body.
 */
const WHOLE_BYTES_MAX = 65_536
const encodingOf = (request: IncomingMessage): string =>
  (request.headers["content-encoding"] ?? "identity").trim().toLowerCase()
const wholeCodingOf = (request: IncomingMessage): ContentCoding | undefined =>
  Number(request.headers["content-length"] ?? Infinity) <= WHOLE_BYTES_MAX
    ? contentCoding(encodingOf(request))
    : undefined

/**
 * Time for a body that is read completely. Each `BODY_BYTES_A_SECOND_MIN` bytes received add a second, so an honest
 * slow connection gets the time that it needs, and a sender that trickles is cut off like a silent one.
 */
const BODY_TIME_MS = 30_000
const BODY_BYTES_A_SECOND_MIN = 16_384
/** For a streamed body, which may take any total time: the longest silence between two chunks while a reader waits. */
const STREAM_SILENCE_MS = 30_000
/** How long a sender that continues after a refusal has to read the response. */
const LINGERING_MS = 30_000

/** Requests hold more memory than allowed (`request-memory.ts`). */
export const outOfMemory = (): Throttled =>
  new Throttled({
    message: "Too much is held in memory for this organization's requests at this moment; send it again later.",
    kind: "backpressure",
    retry_after_s: 1
  })
/** Why a body cannot be read. */
export const unreadable = (error: unknown): InputInvalid | Throttled =>
  error instanceof Throttled
    ? error
    : inputInvalid("body", `The body could not be read: ${error instanceof Error ? error.message : String(error)}`)

/**
 * Decision: texts of real catalogues and events decode to ten to forty times what was sent. More than a hundred
 * times, beyond the first megabyte, is an attempt to cost us more than the sender.
 */
const DECODED_FREE_BYTES = 1_000_000
const DECODED_PER_SENT_MAX = 100
const boundedRatio = (request: IncomingMessage): Transform => {
  let sent = 0,
    decoded = 0
  request.on("data", (chunk: Buffer) => {
    sent += chunk.length
  })
  return new Transform({
    transform: (chunk: Buffer, _, done) => {
      decoded += chunk.length
      if (decoded <= DECODED_FREE_BYTES + DECODED_PER_SENT_MAX * sent) done(null, chunk)
      else done(new Error(`the compressed text decodes to more than ${DECODED_PER_SENT_MAX} times what was sent`))
    }
  })
}

const decodedStream = (request: IncomingMessage, held: () => HeldMemory): Effect.Effect<Readable, InputInvalid> =>
  Effect.suspend((): Effect.Effect<Readable, InputInvalid> => {
    const encoding = encodingOf(request)
    if (encoding === "identity" || encoding === "") return Effect.succeed(request)
    const coding = contentCoding(encoding)
    if (coding === undefined)
      return Effect.fail(
        inputInvalid("content-encoding", `\`${encoding.slice(0, 40)}\` is not supported; gzip, br and zstd are`)
      )
    const { input, output } = coding.stream((bytes) => (held().reserveForDecoder(bytes) ? undefined : outOfMemory()))
    request.on("error", (error) => input.destroy(error))
    request.on("close", () => {
      if (!request.complete) input.destroy(new Error("it ended early"))
    })
    const bounded = boundedRatio(request)
    pipeline(output, bounded, () => {})
    request.pipe(input)
    return Effect.succeed(bounded)
  })

/** For a body that is no longer read: the rest is not decoded, and the sender has some time to read the reason. */
export const discardRest = (request: IncomingMessage, stream: Readable, lingers_ms = LINGERING_MS): void => {
  if (stream !== request) {
    request.unpipe()
    stream.destroy()
  }
  if (request.complete || request.destroyed) return
  request.resume()
  const linger = setTimeout(() => {
    request.destroy()
  }, lingers_ms)
  request.once("end", () => clearTimeout(linger)).once("close", () => clearTimeout(linger))
}

interface Ending {
  at: number
  end: () => void
}
/**
 * Bodies being received. They share one timer, because a timer for each takes 2 % of a small request. Removing one
 * must empty it (`ARCHITECTURE.md`).
 */
const endings = new Set<Ending>()
const isOver = () => {}
let look: { readonly at: number; readonly timer: NodeJS.Timeout } | undefined
/** The minimum time between two checks of all bodies, and thus how much later than its deadline a body may end. */
const LOOK_EVERY_MS = 100
const lookAt = (at: number, now: number): void => {
  if (look !== undefined && look.at <= at) return
  clearTimeout(look?.timer)
  // Unreferenced, because waiting for a body keeps its socket open, which keeps the program alive.
  look = { at, timer: setTimeout(endLate, at - now).unref() }
}
const endLate = (): void => {
  look = undefined
  const now = performance.now()
  let next = Infinity
  for (const ending of endings) {
    if (ending.at <= now) ending.end()
    // A body that has received data since has a new deadline.
    if (ending.at > now) next = Math.min(next, ending.at)
  }
  if (next < Infinity) lookAt(Math.max(next, now + LOOK_EVERY_MS), now)
}

/** Ends a body that received nothing for this long although its reader has taken everything. */
const endInSilence = (request: IncomingMessage, silence_ms: number): void => {
  let seen = request.socket.bytesRead
  const look = () => {
    const { bytesRead } = request.socket
    const now = performance.now()
    if (request.complete || request.destroyed) return void over()
    if (bytesRead > seen || request.readableLength > 0) {
      seen = bytesRead
      ending.at = now + silence_ms
    } else {
      over()
      request.destroy(new Error(`no more of it arrived within ${silence_ms / 1_000} seconds`))
    }
  }
  const ending: Ending = { at: performance.now() + silence_ms, end: look }
  const over = () => {
    endings.delete(ending)
    ending.at = 0
    ending.end = isOver
  }
  endings.add(ending)
  lookAt(ending.at, performance.now())
  request.once("close", over)
}

/**
 * The decoded body as a stream without a size limit: for imports and NDJSON, which limit what they hold. It fails if
 * the compressed text is truncated, and its connection is closed if the sender goes silent.
 */
export const bodyStream = (
  request: IncomingMessage,
  held: () => HeldMemory,
  { silence_ms = STREAM_SILENCE_MS } = {}
): Effect.Effect<Readable, InputInvalid> =>
  Effect.suspend(() => {
    endInSilence(request, silence_ms)
    return decodedStream(request, held)
  })

/**
 * The complete decoded body, at most `bytes_max`. Beyond that, or beyond its time, the rest is discarded and the
 * response is 400; 429 if memory is short. `held` accounts for the body until it is closed.
 */
export const bodyBytes = (
  request: IncomingMessage,
  bytes_max: number,
  held: () => HeldMemory,
  { lingers_ms = LINGERING_MS, time_ms = BODY_TIME_MS } = {}
): Effect.Effect<Buffer, InputInvalid | Throttled> => {
  const coding = wholeCodingOf(request)
  return Effect.flatMap(
    coding === undefined ? decodedStream(request, held) : Effect.succeed<Readable>(request),
    (stream) =>
      Effect.callback<Buffer, InputInvalid | Throttled>((resume) => {
        const chunks: Array<Buffer> = []
        let size = 0
        let isDone = false
        const finish = (effect: Effect.Effect<Buffer, InputInvalid | Throttled>) => {
          if (isDone) return
          isDone = true
          endings.delete(ending)
          ending.end = isOver
          resume(effect)
        }
        const abandon = (failure: InputInvalid | Throttled) => {
          finish(Effect.fail(failure))
          chunks.length = 0
          discardRest(request, stream, lingers_ms)
        }
        const now = performance.now(),
          before = request.socket.bytesRead
        const late = () => {
          const until = now + time_ms + ((request.socket.bytesRead - before) * 1_000) / BODY_BYTES_A_SECOND_MIN
          if (until > performance.now() + 1) ending.at = until
          else
            abandon(
              inputInvalid(
                "body",
                `The body did not arrive within ${time_ms / 1_000} seconds, with a second more for each ${BODY_BYTES_A_SECOND_MIN} bytes`
              )
            )
        }
        const ending: Ending = { at: now + time_ms, end: late }
        endings.add(ending)
        lookAt(ending.at, now)
        const tooLarge = () => abandon(inputInvalid("body", `The body is larger than ${bytes_max} bytes`))
        const broken = (error: Error) => finish(Effect.fail(unreadable(error)))
        const arrived = () => {
          if (coding === undefined)
            return finish(Effect.succeed(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, size)))
          try {
            const decoded = coding.decode(chunks, size, bytes_max)
            finish(
              decoded.length <= FREE_BYTES || held().reserve(decoded.length)
                ? Effect.succeed(decoded)
                : Effect.fail(outOfMemory())
            )
          } catch (error) {
            if ((error as { readonly code?: unknown }).code === "ERR_BUFFER_TOO_LARGE") tooLarge()
            else broken(error as Error)
          }
        }
        if (stream.errored) return broken(stream.errored)
        if (stream.destroyed) return finish(Effect.fail(inputInvalid("body", "The body ended early")))
        if (Number(request.headers["content-length"] ?? 0) > bytes_max && stream === request) return tooLarge()
        stream.on("data", (chunk: Buffer) => {
          if (isDone) return
          size += chunk.length
          if (size > bytes_max) return tooLarge()
          if (size > FREE_BYTES && !held().reserve(size)) return abandon(outOfMemory())
          chunks.push(chunk)
        })
        stream.on("end", () => {
          if (!isDone) arrived()
        })
        stream.on("error", broken)
        // Creating an error captures the stack, so it is not done at the close of every body.
        stream.on("close", () => {
          if (!isDone) finish(Effect.fail(inputInvalid("body", "The body ended early")))
        })
      })
  )
}

/** `toString` is avoided because it takes Deno twenty times as long. A byte order mark is kept, as `toString` does. */
const decoder = new TextDecoder("utf-8", { ignoreBOM: true })
/** UTF-8 as text; invalid bytes become U+FFFD. 28 kB of ASCII take about 5 µs. */
export const textOf = (bytes: Uint8Array): string => decoder.decode(bytes)

/** The deepest accepted nesting, so that our recursion stays far from the stack limit. */
const JSON_DEPTH_MAX = 64
/** Parses a request's JSON with the bounded parser that the engine package uses for all bodies. */
export const parseBounded = (text: string) => parseWithin(text, JSON_DEPTH_MAX)
export const parseRefusals = {
  invalid: "The body is not valid JSON",
  "too deep": `The body nests deeper than ${JSON_DEPTH_MAX} levels`,
  "too many": `The body has more than ${CONTAINERS_MAX} objects and lists`
} as const

/** Postgres stores neither NUL nor half a surrogate pair in a text; JSON and percent encoding can express both. */
export const isStorable = (text: string): boolean => !text.includes("\u0000") && text.isWellFormed()
/**
 * The path of a text or number that cannot be stored in a JSON value, `""` for the value itself; undefined if there
 * is none.
 */
export const unstorablePath = (value: unknown): string | undefined => {
  if (typeof value === "string") return isStorable(value) ? undefined : ""
  if (typeof value === "number") return Number.isFinite(value) ? undefined : ""
  if (typeof value !== "object" || value === null) return undefined
  for (const [key, each] of Object.entries(value)) {
    if (!isStorable(key)) return Array.isArray(value) ? "" : key.replaceAll("\u0000", "\ufffd").toWellFormed()
    const below = unstorablePath(each)
    if (below !== undefined)
      return `${Array.isArray(value) ? `[${key}]` : key}${below === "" || below.startsWith("[") ? below : `.${below}`}`
  }
  return undefined
}
