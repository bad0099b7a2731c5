/**
 * An interval, and a p-value, that stay true however often and whenever somebody looks: an asymptotic confidence
 * sequence (Waudby-Smith et al., "Time-uniform central limit theory", 2021). It pays for that with a wider interval
 * than one look would have; `tuning` is the number of units, both arms together, at which it is narrowest.
 */
import type { Estimate } from "./ratio-estimate.ts"

/** Decision: one number for all experiments, since one that is chosen after a look would make the looks count again. */
const TUNING_UNITS = 5_000
/** Least units in each arm: an asymptotic bound does not hold for fewer. */
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
 * Evidence of one look at a difference that is `z` standard errors from zero. The least over all looks is the p-value.
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
  /** Relative to the control; null where the control's mean is 0. */ readonly lift: number | null
  /** Interval of the lift; null too where there are too few units to tell. */
  readonly interval: readonly [low: number, high: number] | null
  /** p-value of this look. */ readonly p: number
  /** The difference in standard errors. */ readonly z: number
}

/**
 * A variant against the control. The interval is that of the difference over the control's mean as it was measured, so
 * it holds 0 exactly where p is above `alpha`.
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
