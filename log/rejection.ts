/**
 * Refused entries, which are kept for seven days: the sender's own text with the reason, so that they can be inspected
 * and sent again after a fix. They are in the log, next to the events of their request.
 *
 * Decision: what is kept is bounded, because anybody with a search key can send garbage. An organization may have
 * 10,000 entries at first and 2,000 an hour after that, 8 kB of text each. Entries beyond that are refused and answered
 * as usual, but not kept.
 */
import { storable } from "./normalize-query.ts"
import { IDENTIFIER_BYTES_MAX } from "./event-schema.ts"

export const REJECTIONS_KEPT_MS = 7 * 86_400_000
const TEXT_CHARACTERS_MAX = 8_192
const BURST_MAX = 10_000
const REFILL_PER_MS = 2_000 / 3_600_000

export interface KeptRejection {
  /** JSON text of the entry, or the original line if it was not JSON; cut to 8,192 characters. */
  readonly entry: string
  /** The text is truncated, or was not JSON: it can be read but not sent again. */
  readonly isUnreadable: boolean
  readonly collection?: string
  readonly reason: string
}

/** Payload of `behaviour.rejected.v1`, schema version 1: refused entries of one request, null where one was erased. */
export interface RejectionsPayload {
  readonly rejections: ReadonlyArray<KeptRejection | null>
}
export const REJECTIONS_SCHEMA_VERSION = 1

const collectionOf = (entry: unknown): string | undefined => {
  const name =
    typeof entry === "object" && entry !== null ? (entry as { readonly collection?: unknown }).collection : undefined
  return typeof name === "string" && name !== "" && Buffer.byteLength(name) <= IDENTIFIER_BYTES_MAX
    ? storable(name)
    : undefined
}

/** O(size of the entry). */
export const keptEntry = (entry: unknown, reason: string): KeptRejection => {
  const text = JSON.stringify(entry)
  const collection = collectionOf(entry)
  return {
    entry: storable(text.slice(0, TEXT_CHARACTERS_MAX)),
    isUnreadable: text.length > TEXT_CHARACTERS_MAX,
    ...(collection === undefined ? {} : { collection }),
    reason
  }
}
/** For a line that is not an entry at all. */
export const keptLine = (line: string, reason: string): KeptRejection => ({
  entry: storable(line.slice(0, TEXT_CHARACTERS_MAX)),
  isUnreadable: true,
  reason
})

interface Bucket {
  tokens: number
  at: number
}
/** How many more refused entries of each organization may be kept. Memory: the organizations that recently had any. */
export class RejectionBudget {
  readonly #buckets = new Map<string, Bucket>()

  /** Takes up to `wanted` tokens and returns how many. */
  take(organizationId: string, wanted: number, now: number): number {
    const bucket = this.#buckets.get(organizationId) ?? { tokens: BURST_MAX, at: now }
    const tokens = Math.min(BURST_MAX, bucket.tokens + Math.max(0, now - bucket.at) * REFILL_PER_MS)
    const taken = Math.min(wanted, Math.floor(tokens))
    // Moved to the end: those at the front have been quiet longest, and are forgotten once they are full again.
    this.#buckets.delete(organizationId)
    this.#buckets.set(organizationId, { tokens: tokens - taken, at: now })
    for (const [id, { at, tokens: left }] of this.#buckets) {
      if (left + (now - at) * REFILL_PER_MS < BURST_MAX) break
      this.#buckets.delete(id)
    }
    return taken
  }
}
