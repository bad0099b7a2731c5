/**
 * `from` and `to` of analytics: ISO 8601 dates or date-times, both inclusive, at most 366 days. A date means the
 * entire day in UTC; a date-time without an offset is UTC too. Pure.
 */
import { DAY_MS } from "@dowser/streams/figures/grain"

const RANGE_DAYS_MAX = 366

export interface DateRange {
  /** First instant, ms. */
  readonly from: number
  /** First instant after the range, ms. */
  readonly before: number
}

const pattern =
  /^(\d{4})-(\d{2})-(\d{2})(?:[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?(Z|z|[+-]\d{2}(?::?\d{2})?)?)?$/

interface Bound {
  readonly at: number
  /** How many milliseconds the text covers: a day, or the precision in which it was written. */
  readonly width: number
}

/**
 * Undefined if the text is not a date. Decision: a date-time means exactly its instant. Without seconds or with whole
 * seconds it is that one instant, as in other ISO 8601 parsers, and not the minute or second that begins there.
 */
const parseBound = (text: string): Bound | undefined => {
  // The `+` of an offset arrives as a space if the caller forgot to escape it.
  const match = pattern.exec(text.trim().replace(/ (\d{2}:?\d{2})$/, "+$1"))
  if (match === null) return undefined
  const [, year, month, day, hour, minute, second, fraction, zone] = match
  const date = Date.UTC(Number(year), Number(month) - 1, Number(day))
  const back = new Date(date)
  // Otherwise day 31 of a month with 30 days, or month 13, would silently become another date.
  if (
    Number(month) < 1 ||
    Number(month) > 12 ||
    back.getUTCDate() !== Number(day) ||
    back.getUTCMonth() !== Number(month) - 1
  )
    return undefined
  if (hour === undefined) return { at: date, width: DAY_MS }
  const [h, m, s] = [Number(hour), Number(minute), Number(second ?? 0)]
  if (h > 24 || m > 59 || s > 60 || (h === 24 && (m > 0 || s > 0))) return undefined
  const ms = Math.floor(Number(`0.${fraction ?? 0}`) * 1_000)
  const offset = /^([+-])(\d{2}):?(\d{2})?$/.exec(zone ?? "")
  const offset_ms =
    offset === null ? 0 : (offset[1] === "-" ? -1 : 1) * (Number(offset[2]) * 60 + Number(offset[3] ?? 0)) * 60_000
  return { at: date + ((h * 60 + m) * 60 + s) * 1_000 + ms - offset_ms, width: 1 }
}

/** Checks a single bound, for schemas. */
export const dateRefusal = (text: string): string | undefined =>
  parseBound(text) === undefined ? "An ISO 8601 date or date-time" : undefined

type DateRangeResult =
  | { readonly ok: true; readonly range: DateRange }
  | { readonly ok: false; readonly issues: ReadonlyArray<{ readonly path: "from" | "to"; readonly message: string }> }

/** Both bounds, or what is wrong with either; the range itself is checked only if both are well-formed. */
export const parseDateRange = (from: string | undefined, to: string | undefined): DateRangeResult => {
  const read = (path: "from" | "to", text: string | undefined): Bound | string =>
    text === undefined || text === ""
      ? `\`${path}\` is required: an ISO 8601 date or date-time`
      : (parseBound(text) ?? `\`${path}\` must be an ISO 8601 date or date-time`)
  const bounds = { from: read("from", from), to: read("to", to) }
  const refuse = (message: string): DateRangeResult => ({ ok: false, issues: [{ path: "to", message }] })
  if (typeof bounds.from === "string" || typeof bounds.to === "string") {
    return {
      ok: false,
      issues: (["from", "to"] as const).flatMap((path) =>
        typeof bounds[path] === "string" ? [{ path, message: bounds[path] as string }] : []
      )
    }
  }
  const before = bounds.to.at + bounds.to.width
  if (before <= bounds.from.at) return refuse("`to` must not be before `from`")
  // Bounds are inclusive, so a range to the same instant 366 days later is 366 days and one instant, and is allowed.
  if (before - bounds.from.at > RANGE_DAYS_MAX * DAY_MS + 1)
    return refuse(`The range must not be longer than ${RANGE_DAYS_MAX} days`)
  return { ok: true, range: { from: bounds.from.at, before } }
}
