/**
 * The delay between two requests to a host, after Scrapy's AutoThrottle: the mean of the current delay and of the
 * last response time, so that a slow host gets slow requests. An error response never shortens the delay. Pure; times
 * are milliseconds.
 */
const DELAY_FLOOR_MS = 200
export const DELAY_START_MS = 1_000
const DELAY_CEILING_MS = 30_000
/** Consecutive failures after which a job gives the host up. */
export const FAILURES_MAX = 5
/** A host that asks for a longer wait is given up. */
export const RETRY_AFTER_MAX_S = 120

export interface PaceRules {
  /** The job's own delay, which replaces the throttle; 0 is no delay at all. */ readonly asked_ms?: number | undefined
  /** The delay in robots.txt, which is a minimum. */ readonly robots_ms?: number | undefined
}

/** The new delay after a response of the host. */
export const throttled = (delay_ms: number, latency_ms: number, isFailure: boolean): number => {
  const mean = (delay_ms + latency_ms) / 2
  return Math.min(DELAY_CEILING_MS, Math.max(DELAY_FLOOR_MS, isFailure ? Math.max(delay_ms, mean) : mean))
}
export const delayOf = (throttle_ms: number, { asked_ms, robots_ms = 0 }: PaceRules): number =>
  Math.max(robots_ms, asked_ms ?? throttle_ms)

/** Seconds of a `Retry-After` that is a number or a date; undefined if it is neither. */
export const retryAfterSeconds = (header: string | undefined, now: number): number | undefined => {
  if (header === undefined) return undefined
  if (/^\d{1,9}$/.test(header.trim())) return Number(header)
  const at = Date.parse(header)
  return Number.isNaN(at) ? undefined : Math.max(0, Math.ceil((at - now) / 1_000))
}
