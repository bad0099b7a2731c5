/**
 * How a long request of events uses its key's rate. Decision: a token for each part as large as a batch may be (1,000
 * lines, or a megabyte), so that a stream stores no more per minute than that many batches. While less than half of the
 * minute's tokens is left, parts are spread over the rest of the minute: the sender is held back by the connection, and
 * a stream of any length goes through at the key's rate without running dry. If there is no token all the same (other
 * requests of the key took them), it waits for the next minute if that is near, and ends otherwise. Pure.
 */
import type { Caller } from "../../identity/caller.ts"
import { BATCH_BYTES_MAX, EVENTS_PER_BATCH_MAX } from "@dowser/log/event-schema"

/** Longer than this a stream holds no sender back. */
export const PAUSE_MAX_MS = 10_000

/** Tokens that a stream has cost up to this point; the first came with the request. */
export const tokensOf = (lines: number, bytes: number): number =>
  Math.max(1, Math.ceil(lines / EVENTS_PER_BATCH_MAX), Math.ceil(bytes / BATCH_BYTES_MAX))

/** How long the next part waits, depending on what is left of the minute. */
export const pauseOf = (rate: Caller["rate"], now_ms: number): number => {
  if (rate === undefined || rate.remaining >= rate.limit / 2) return 0
  return Math.min(PAUSE_MAX_MS, Math.max(0, rate.resets_at - now_ms) / (rate.remaining + 1))
}
