/** Splits a long request into lines in constant memory: at most one chunk of lines and one incomplete line are held. */
import { Effect } from "effect"
import type { Readable } from "node:stream"
import { outOfMemory, textOf, unreadable } from "../../http/body.ts"
import type { InputInvalid, Throttled } from "../../http/errors.ts"
import type { HeldMemory } from "../../http/request-memory.ts"

interface LineLimits {
  readonly linesPerChunk: number
  readonly bytesPerChunk: number
  /** A longer line is passed on as `undefined`, and its bytes are skipped. */
  readonly lineBytesMax: number
}

/**
 * Calls `each` with chunks of non-empty lines and their bytes, in order, one chunk at a time; the stream, and with it
 * the sender, waits meanwhile. An interrupted stream fails after everything before the interruption was passed on.
 * When memory is short, chunks are passed on early; if not even the incomplete line fits, it fails.
 */
export const eachChunk = Effect.fnUntraced(function* <E, R>(
  stream: Readable,
  held: HeldMemory,
  limits: LineLimits,
  each: (lines: ReadonlyArray<string | undefined>, bytes: number) => Effect.Effect<void, E, R>
): Effect.fn.Return<void, E | InputInvalid | Throttled, R> {
  const iterator = stream[Symbol.asyncIterator]() as AsyncIterator<Buffer>
  let lines: Array<string | undefined> = []
  let bytes = 0
  let unfinished: Array<Buffer> = []
  let unfinishedBytes = 0
  const finishLine = () => {
    const isTooLong = unfinishedBytes > limits.lineBytesMax
    const line = isTooLong
      ? undefined
      : textOf(unfinished.length === 1 ? unfinished[0]! : Buffer.concat(unfinished)).trim()
    if (line !== "") {
      lines.push(line)
      bytes += isTooLong ? 0 : unfinishedBytes
    }
    unfinished = []
    unfinishedBytes = 0
  }
  const handOn = Effect.fnUntraced(function* () {
    yield* each(lines, bytes)
    lines = []
    bytes = 0
  })
  const keep = (part: Buffer) => {
    unfinishedBytes += part.length
    // Beyond the limit, only the length matters.
    if (unfinishedBytes <= limits.lineBytesMax) unfinished.push(part)
    else unfinished = []
  }
  for (;;) {
    const next = yield* Effect.tryPromise({ try: () => iterator.next(), catch: unreadable })
    if (next.done === true) break
    let from = 0
    for (let at = next.value.indexOf(10); at >= 0; at = next.value.indexOf(10, from)) {
      keep(next.value.subarray(from, at))
      finishLine()
      from = at + 1
      if (lines.length >= limits.linesPerChunk || bytes >= limits.bytesPerChunk) {
        yield* handOn()
      }
    }
    if (from < next.value.length) keep(next.value.subarray(from))
    const open = unfinished.length === 0 ? 0 : unfinishedBytes
    if (held.reserve(bytes + open)) continue
    if (lines.length > 0) yield* handOn()
    if (!(yield* Effect.promise(() => held.reserveOrWait(open)))) return yield* outOfMemory()
  }
  if (unfinishedBytes > 0) finishLine()
  if (lines.length > 0) yield* each(lines, bytes)
})
