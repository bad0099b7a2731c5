/** The only place in the package that reads the time, and only if the caller provides no clock. */
export const systemClock_ms = (): number => Date.now()
/** Integer microseconds; only differences are meaningful. */
export const monotonic_us = (): number => Math.round(performance.now() * 1000)
