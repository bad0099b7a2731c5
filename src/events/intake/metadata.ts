/**
 * How much a sender may add to an event beyond the defined fields. Decision: 16,384 characters of JSON, some hundred
 * fields; the log keeps events for years, and one event may not take a megabyte of it.
 */
export const METADATA_CHARACTERS_MAX = 16_384

/** About how much of `room` is left after a value as JSON; below 0 it does not fit, and the rest is not examined. */
const roomBehind = (value: unknown, room: number): number => {
  if (typeof value === "string") return room - value.length - 2
  if (typeof value !== "object" || value === null) return room - 4
  let left = room - 2
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length && left >= 0; i++) left = roomBehind(value[i], left - 1)
    return left
  }
  for (const key in value) {
    if (left < 0) return left
    left = roomBehind((value as Record<string, unknown>)[key], left - key.length - 4)
  }
  return left
}
/** O(what fits), without allocating. */
export const isMetadataBounded = (metadata: object): boolean => roomBehind(metadata, METADATA_CHARACTERS_MAX) >= 0
