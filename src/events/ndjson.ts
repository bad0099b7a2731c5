/** Lines of a long request in constant memory: at most one chunk of lines and one unfinished line are held. */
import { Effect } from "effect"
import type { Readable } from "node:stream"
import { type InputInvalid, inputInvalid } from "../wire/errors.ts"

export interface LineLimits {
  readonly linesPerChunk: number
  readonly bytesPerChunk: number
  /** A longer line is handed on as `undefined`, its bytes skipped. */
  readonly lineBytesMax: number
}

/**
 * Calls `each` with chunks of non-empty lines, in order, one chunk at a time: the stream waits meanwhile, and with it
 * the sender. A stream that breaks off fails after what came before it was handed on.
 */
export const eachChunk = Effect.fnUntraced(function*<E, R>(
  stream: Readable,
  limits: LineLimits,
  each: (lines: ReadonlyArray<string | undefined>) => Effect.Effect<void, E, R>
): Effect.fn.Return<void, E | InputInvalid, R> {
  const iterator = stream[Symbol.asyncIterator]() as AsyncIterator<Buffer>
  let lines: Array<string | undefined> = []
  let bytes = 0
  let unfinished: Array<Buffer> = []
  let unfinishedBytes = 0
  const finishLine = () => {
    const isTooLong = unfinishedBytes > limits.lineBytesMax
    const line = isTooLong ? undefined : (unfinished.length === 1 ? unfinished[0]! : Buffer.concat(unfinished)).toString("utf8").trim()
    if (line !== "") {
      lines.push(line)
      bytes += isTooLong ? 0 : unfinishedBytes
    }
    unfinished = []
    unfinishedBytes = 0
  }
  const keep = (part: Buffer) => {
    unfinishedBytes += part.length
    // Beyond the limit only the length matters.
    if (unfinishedBytes <= limits.lineBytesMax) unfinished.push(part)
    else unfinished = []
  }
  for (;;) {
    const next = yield* Effect.tryPromise({ try: () => iterator.next(), catch: (error) => inputInvalid("body", `The body could not be read: ${error instanceof Error ? error.message : String(error)}`) })
    if (next.done === true) break
    let from = 0
    for (let at = next.value.indexOf(10); at >= 0; at = next.value.indexOf(10, from)) {
      keep(next.value.subarray(from, at))
      finishLine()
      from = at + 1
      if (lines.length >= limits.linesPerChunk || bytes >= limits.bytesPerChunk) {
        yield* each(lines)
        lines = []
        bytes = 0
      }
    }
    if (from < next.value.length) keep(next.value.subarray(from))
  }
  if (unfinishedBytes > 0) finishLine()
  if (lines.length > 0) yield* each(lines)
})

