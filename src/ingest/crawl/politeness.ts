/**
 * How long a host is left alone between two pages. After Scrapy's AutoThrottle: the mean of the delay so far and of the
 * time that the last answer took, so that a slow host is asked slowly; an answer that is an error never makes it
 * faster. Pure; times are milliseconds.
 */
const DELAY_FLOOR_MS = 200
export const DELAY_START_MS = 1_000
const DELAY_CEILING_MS = 30_000
/** In a row; then a job gives the host up. */
export const FAILURES_MAX = 5
/** A host that asks for more patience is given up. */
export const RETRY_AFTER_MAX_S = 120

export interface PaceRules {
  /** What the job asks for in place of the throttle; 0 is none at all. */ readonly asked_ms?: number | undefined
  /** What robots.txt asks for: never less. */ readonly robots_ms?: number | undefined
}

/** What the host's answers so far make of its delay. */
export const throttled = (delay_ms: number, latency_ms: number, isFailure: boolean): number => {
  const mean = (delay_ms + latency_ms) / 2
  return Math.min(DELAY_CEILING_MS, Math.max(DELAY_FLOOR_MS, isFailure ? Math.max(delay_ms, mean) : mean))
}
export const delayOf = (throttle_ms: number, { asked_ms, robots_ms = 0 }: PaceRules): number =>
  Math.max(robots_ms, asked_ms ?? throttle_ms)

/** `Retry-After` in seconds, of a number or a date; undefined where it says nothing. */
export const retryAfterSeconds = (header: string | undefined, now: number): number | undefined => {
  if (header === undefined) return undefined
  if (/^\d{1,9}$/.test(header.trim())) return Number(header)
  const at = Date.parse(header)
  return Number.isNaN(at) ? undefined : Math.max(0, Math.ceil((at - now) / 1_000))
}
