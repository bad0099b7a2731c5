/** The one place of the package that asks what time it is, and only where the caller brings no clock. */
export const systemClock_ms = (): number => Date.now()
/** Whole microseconds; only differences mean anything. */
export const monotonic_us = (): number => Math.round(performance.now() * 1000)
