/**
 * How a long request of events uses its key's rate. Decision: one token for each part as large as a batch may be
 * (1,000 lines, or a megabyte), so that a stream stores no more per minute than that many batches. While less than
 * half of the minute's tokens is left, parts are spread over the rest of the minute: the connection holds the sender
 * back, and a stream of any length proceeds at the key's rate without running dry. If there is still no token (other
 * requests of the key took them), it waits for the next minute if that is near, and ends otherwise. Pure.
 */
import type { Caller } from "../../identity/caller.ts"
import { BATCH_BYTES_MAX, EVENTS_PER_BATCH_MAX } from "@dowser/log/event-schema"

/** A stream never holds its sender back for longer than this. */
export const PAUSE_MAX_MS = 10_000

/** Tokens that a stream has used up to this point; the first was taken with the request. */
export const tokensOf = (lines: number, bytes: number): number =>
  Math.max(1, Math.ceil(lines / EVENTS_PER_BATCH_MAX), Math.ceil(bytes / BATCH_BYTES_MAX))

/** How long the next part waits, depending on what is left of the minute. */
export const pauseOf = (rate: Caller["rate"], now_ms: number): number => {
  if (rate === undefined || rate.remaining >= rate.limit / 2) return 0
  return Math.min(PAUSE_MAX_MS, Math.max(0, rate.resets_at - now_ms) / (rate.remaining + 1))
}
