/** The one place of the package that asks what time it is, and only where the caller brings no clock. */
export const systemClock_s = (): number => Math.floor(Date.now() / 1000)
