/**
 * How much a sender may say of an event beside what is defined. Decision: 16,384 characters of JSON, some hundred
 * fields; the log keeps what it is given for years, and one event may not become a megabyte of it.
 */
export const METADATA_CHARACTERS_MAX = 16_384

/** What is left of `room` behind a value as JSON, at least; below 0 it does not fit, and nothing more is looked at. */
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
/** O(what fits); nothing is made. */
export const isMetadataBounded = (metadata: object): boolean => roomBehind(metadata, METADATA_CHARACTERS_MAX) >= 0
