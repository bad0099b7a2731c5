/**
 * When a delivery is retried. Pure: the chance is an argument.
 *
 * Decision: a manual redelivery or a recovery begins a new round of six attempts under the same id.
 */
export const ATTEMPTS_MAX = 6
const WAIT_BASE_MS = 30_000
const WAIT_CAP_MS = 15 * 60_000

/** The upper bound of the wait after the n-th attempt (n from 1). */
export const waitMax_ms = (n: number): number => Math.min(WAIT_BASE_MS * 2 ** (n - 1), WAIT_CAP_MS)

/**
 * Full jitter: uniform in [0, waitMax]. `chance` is uniform in [0, 1). Undefined after the last attempt. Integer
 * milliseconds.
 */
export const waitAfter_ms = (n: number, chance: number): number | undefined =>
  n >= ATTEMPTS_MAX ? undefined : Math.floor(chance * (waitMax_ms(n) + 1))
