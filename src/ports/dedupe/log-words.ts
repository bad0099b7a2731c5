/** Blocks of fingerprints as the log stores them, and how the window awaits promises. */
import { Effect } from "effect"
import { EventLogUnavailable, type LogRecord } from "@dowser/log/event-log/event-log"
import { FINGERPRINT_WORDS } from "@dowser/log/fingerprint"
import { hourOf } from "@dowser/log/fingerprint-table"

export const READ_RECORDS = 256

export const failed = (cause: unknown) =>
  new EventLogUnavailable({ message: cause instanceof Error ? cause.message : String(cause) })
export const waitFor = <A>(promise: () => Promise<A>): Effect.Effect<A, EventLogUnavailable> =>
  Effect.tryPromise({ try: promise, catch: failed })
/** One turn of the event loop, in which sockets and timers are served. */
export const turn = Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))

/** Records as one buffer of words for the thread, with what it needs to split them again. */
export const packRecords = (
  records: ReadonlyArray<LogRecord>
): { readonly buffer: Uint32Array; readonly parts: Array<number> } => {
  const lengths = records.map(({ value }) => Math.floor(value.length / (4 * FINGERPRINT_WORDS)) * FINGERPRINT_WORDS)
  const buffer = new Uint32Array(lengths.reduce((sum, length) => sum + length, 0))
  const bytes = new Uint8Array(buffer.buffer)
  const parts: Array<number> = []
  let at = 0
  records.forEach(({ appendedAt, value }, i) => {
    bytes.set(value.subarray(0, lengths[i]! * 4), at * 4)
    parts.push(Math.max(0, hourOf(appendedAt)), lengths[i]!)
    at += lengths[i]!
  })
  return { buffer, parts }
}
