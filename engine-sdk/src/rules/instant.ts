/** Parses instants in rules: ISO 8601 dates and date-times; without an offset they are UTC. */

const ISO = /^(\d{4})-(\d{2})-(\d{2})(?:T(\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)(Z|[+-]\d{2}:?\d{2})?)?$/

/**
 * Unix milliseconds; undefined for anything that is not an instant (including 30 February).
 *
 * @example
 * ```ts
 * import { parseInstant } from "@dowser/engine-sdk/rules"
 *
 * parseInstant("2026-11-27T12:00Z") // 1795780800000
 * parseInstant("2026-02-30") // undefined
 * ```
 */
export const parseInstant = (text: string): number | undefined => {
  const parts = ISO.exec(text)
  if (parts === null) return undefined
  const [, year, month, day, time = "00:00", offset = "Z"] = parts
  const days = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)))
  if (days.getUTCMonth() !== Number(month) - 1 || days.getUTCDate() !== Number(day)) return undefined
  const instant = Date.parse(
    `${year}-${month}-${day}T${time}${offset.length === 5 ? `${offset.slice(0, 3)}:${offset.slice(3)}` : offset}`
  )
  return Number.isNaN(instant) ? undefined : instant
}
