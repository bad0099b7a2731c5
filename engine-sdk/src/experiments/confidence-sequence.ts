/**
 * An interval and a p-value that stay valid no matter how often and when they are read: an asymptotic confidence
 * sequence (Waudby-Smith et al., "Time-uniform central limit theory", 2021). The price is an interval wider than that
 * of a single look; `tuning` is the number of units, both arms together, at which it is narrowest.
 */
import type { Estimate } from "./ratio-estimate.ts"

/** Decision: one number for all experiments, because choosing it after a look would make the looks count again. */
const TUNING_UNITS = 5_000
/** Minimum units in each arm, because an asymptotic bound does not hold for fewer. */
const UNITS_MIN = 100

const rhoSquared = (alpha: number, tuning: number): number => {
  const log = -2 * Math.log(alpha)
  return (log + Math.log(1 + log)) / tuning
}

/**
 * Half width of the interval around a difference with this standard error after `n` units.
 *
 * @example
 * ```ts
 * import { halfWidth } from "@dowser/engine-sdk/experiments"
 *
 * halfWidth(0.01, 20_000, 0.05) // the interval is the difference plus or minus this
 * ```
 */
export const halfWidth = (standardError: number, n: number, alpha: number, tuning = TUNING_UNITS): number => {
  const rho2 = rhoSquared(alpha, tuning),
    grown = n * rho2 + 1
  return standardError * Math.sqrt(n) * Math.sqrt(((2 * grown) / (n * n * rho2)) * Math.log(Math.sqrt(grown) / alpha))
}

/**
 * The p-value of one look at a difference of `z` standard errors. The least over all looks is that of the test.
 *
 * @example
 * ```ts
 * import { sequentialP } from "@dowser/engine-sdk/experiments"
 *
 * sequentialP(3, 20_000, 0.05) // p of this look; the least of all looks counts
 * ```
 */
export const sequentialP = (z: number, n: number, alpha: number, tuning = TUNING_UNITS): number => {
  const rho2 = rhoSquared(alpha, tuning),
    grown = n * rho2 + 1
  return Math.min(1, Math.exp(0.5 * Math.log(grown) - (z * z * n * rho2) / (2 * grown)))
}

export interface Comparison {
  /** Relative to the control; null if the control's mean is 0. */ readonly lift: number | null
  /** Interval of the lift; also null if there are too few units. */
  readonly interval: readonly [low: number, high: number] | null
  /** p-value of this look. */ readonly p: number
  /** The difference in units of its standard error. */ readonly z: number
}

/**
 * Compares a variant with the control. The interval is that of the difference divided by the control's measured mean,
 * so it contains 0 exactly when p is above `alpha`.
 *
 * @example
 * ```ts
 * import { compare } from "@dowser/engine-sdk/experiments"
 *
 * const control = { units: 10_000, mean: 0.1, standardError: 0.003 }
 * const { interval, lift } = compare(control, { ...control, mean: 0.12 }, 0.05)
 * ```
 */
export const compare = (control: Estimate, variant: Estimate, alpha: number): Comparison => {
  const difference = variant.mean - control.mean,
    n = control.units + variant.units
  const standardError = Math.hypot(control.standardError, variant.standardError)
  const lift = control.mean === 0 ? null : difference / control.mean
  if (Math.min(control.units, variant.units) < UNITS_MIN || standardError === 0)
    return { lift, interval: null, p: 1, z: 0 }
  const z = difference / standardError
  const half = halfWidth(standardError, n, alpha) / Math.abs(control.mean)
  return { lift, interval: lift === null ? null : [lift - half, lift + half], p: sequentialP(z, n, alpha), z }
}
