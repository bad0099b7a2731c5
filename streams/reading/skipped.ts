/** Places that a consumer group skips: stored in the transaction whose offsets pass them, read before a replay. */
import type { Place } from "../processor/processor.ts"

export interface Skipped extends Pick<Place, "topic" | "offset" | "index"> {
  readonly reason: string
}

/** `index` of a skip that covers the entire record. */
export const WHOLE_RECORD = -1
export const placeKey = ({ index, offset, topic }: Pick<Place, "topic" | "offset" | "index">): string =>
  `${topic}/${offset}/${index}`
