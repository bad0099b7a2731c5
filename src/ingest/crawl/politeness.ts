/**
 * How long a host is left alone between two pages. After Scrapy's AutoThrottle: the mean of the delay so far and of the
 * time that the last answer took, so that a slow host is asked slowly; an answer that is an error never makes it
 * faster. Pure; times are milliseconds.
 */
export const DELAY_FLOOR_MS = 200
const DELAY_START_MS = 1_000,
  DELAY_CEILING_MS = 30_000
/** In a row; then the host is given up. */
export const FAILURES_MAX = 5
/** A host that asks for more patience is given up for this job. */
export const RETRY_AFTER_MAX_S = 120

export interface Pace {
  readonly delay_ms: number
  readonly failures: number
}
interface PaceRules {
  /** What the job asks for in place of the throttle; 0 is none at all. */ readonly asked_ms?: number | undefined
  /** What robots.txt asks for. */ readonly robots_ms?: number | undefined
}
/** What came of one request. `retry_s`: of 429 and 503. */
export interface Turnout {
  readonly latency_ms: number
  readonly isFailure: boolean
  readonly retry_s?: number | undefined
}

const bounded = (delay_ms: number, { asked_ms, robots_ms = 0 }: PaceRules): number =>
  Math.max(robots_ms, asked_ms ?? Math.min(DELAY_CEILING_MS, Math.max(DELAY_FLOOR_MS, delay_ms)))

export const firstPace = (rules: PaceRules): Pace => ({ delay_ms: bounded(DELAY_START_MS, rules), failures: 0 })

export const nextPace = (pace: Pace, { isFailure, latency_ms }: Turnout, rules: PaceRules): Pace => {
  const mean = (pace.delay_ms + latency_ms) / 2
  return {
    delay_ms: bounded(isFailure ? Math.max(pace.delay_ms, mean) : mean, rules),
    failures: isFailure ? pace.failures + 1 : 0
  }
}

/** `Retry-After` in seconds, of a number or a date; undefined where it says nothing. */
export const retryAfterSeconds = (header: string | undefined, now: number): number | undefined => {
  if (header === undefined) return undefined
  if (/^\d{1,9}$/.test(header.trim())) return Number(header)
  const at = Date.parse(header)
  return Number.isNaN(at) ? undefined : Math.max(0, Math.ceil((at - now) / 1_000))
}
