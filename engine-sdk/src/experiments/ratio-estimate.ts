/**
 * A variant's figure and its uncertainty, from the sums of its units. The figure is a ratio (clicks per search) whose
 * denominator is also random, and searches of one visitor are correlated; so its variance is computed over units, by
 * the delta method, and never as if searches were independent.
 */
import { addSums, NO_UNITS, type UnitSums } from "./unit-sums.ts"

export interface Estimate {
  readonly units: number
  readonly mean: number
  /** Standard error of the mean; 0 if nothing varies. */ readonly standardError: number
}

/** Covariance over units, from the sum of products and the two sums. */
const covariance = (n: number, ab: number, a: number, b: number): number => (n < 2 ? 0 : (ab - (a * b) / n) / (n - 1))

/**
 * undefined if the denominator is 0.
 *
 * @example
 * ```ts
 * import { addSums, NO_UNITS, ratioEstimate, unitSums } from "@dowser/engine-sdk/experiments"
 *
 * const sums = [unitSums(1, 4), unitSums(0, 2)].reduce(addSums, NO_UNITS)
 * ratioEstimate(sums)?.mean // 1 click in 6 searches
 * ```
 */
export const ratioEstimate = ({ n, x, xx, xy, y, yy }: UnitSums): Estimate | undefined => {
  if (n === 0 || y === 0) return undefined
  const mean = x / y,
    perUnit = y / n
  const variance =
    (covariance(n, xx, x, x) - 2 * mean * covariance(n, xy, x, y) + mean * mean * covariance(n, yy, y, y)) /
    (perUnit * perUnit)
  return { units: n, mean, standardError: Math.sqrt(Math.max(0, variance) / n) }
}

/** If a smaller share of units is known, the known ones say little about all. */
const KNOWN_SHARE_MIN = 0.5
/**
 * By chance, a covariate explains less of the variance than this in 999 of 1,000 runs (chi squared with one degree of
 * freedom, divided by the number of units).
 */
const CHANCE = 10.83

interface Adjusted {
  /** In the order of the variants. */ readonly estimates: ReadonlyArray<Estimate>
  /** Share of the variance that is removed, over all variants together. */ readonly reduction: number
}

/**
 * CUPED (Deng et al. 2013): what units did before the experiment explains part of what they do in it, and this part is
 * removed from each variant's figure. All variants share one slope, or the effect of the variants would be removed too.
 * undefined if fewer than half of the units were known before, or no more is explained than by chance.
 *
 * @example
 * ```ts
 * import { addSums, cupedEstimates, NO_UNITS, unitSums } from "@dowser/engine-sdk/experiments"
 *
 * const control = [unitSums(1, 4, 3), unitSums(0, 2, 1)].reduce(addSums, NO_UNITS)
 * const variant = [unitSums(2, 4, 3), unitSums(1, 2, 1)].reduce(addSums, NO_UNITS)
 * cupedEstimates([control, variant])?.reduction // undefined where the time before explains nothing
 * ```
 */
export const cupedEstimates = (variants: ReadonlyArray<UnitSums>): Adjusted | undefined => {
  const all = variants.reduce(addSums, NO_UNITS)
  if (all.n === 0 || all.known < KNOWN_SHARE_MIN * all.n) return undefined
  const plain = variants.flatMap((sums) => ratioEstimate(sums) ?? [])
  if (plain.length < variants.length) return undefined
  /** Covariance of a unit's linearized ratio with its covariate. */
  const withCovariate = ({ c, n, x, xc, y, yc }: UnitSums): number =>
    (covariance(n, xc, x, c) - (x / y) * covariance(n, yc, y, c)) / (y / n)
  let shared = 0,
    spread = 0
  for (const sums of variants) {
    shared += (sums.n - 1) * withCovariate(sums)
    spread += (sums.n - 1) * covariance(sums.n, sums.cc, sums.c, sums.c)
  }
  if (!(spread > 0)) return undefined
  const slope = shared / spread
  let before = 0,
    after = 0
  const estimates = variants.map((sums, i) => {
    const { mean, standardError, units } = plain[i]!
    const own = standardError ** 2 * units
    const left = Math.max(
      0,
      own - 2 * slope * withCovariate(sums) + slope ** 2 * covariance(sums.n, sums.cc, sums.c, sums.c)
    )
    before += own * units
    after += left * units
    return { units, mean: mean - slope * (sums.c / sums.n - all.c / all.n), standardError: Math.sqrt(left / units) }
  })
  const reduction = before === 0 ? 0 : 1 - after / before
  return reduction * all.n < CHANCE ? undefined : { estimates, reduction }
}
