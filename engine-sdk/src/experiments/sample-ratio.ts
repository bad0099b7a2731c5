/**
 * Tests whether units are split by the weights, at any number of looks: the Bayes factor of counts from a
 * Dirichlet-multinomial around the weights against the weights themselves (Lindon & Malek 2022). If the split is right,
 * it ever exceeds 1 / p only with probability p; if it is wrong, every figure of the experiment is worthless.
 */
import { logGamma } from "./log-gamma.ts"

/** How close to the weights a wrong split is expected to be: within a percent or two. */
const CONCENTRATION = 2_000
/**
 * A split is considered wrong below this p-value.
 *
 * @example
 * ```ts
 * import { SAMPLE_RATIO_ALPHA, sampleRatioP } from "@dowser/engine-sdk/experiments"
 *
 * const isSplitWrong = sampleRatioP([5_400, 4_600], [1, 1]) < SAMPLE_RATIO_ALPHA
 * ```
 */
export const SAMPLE_RATIO_ALPHA = 0.001

/**
 * p of one look; the least of all looks is the test's p-value. 1 if nothing was counted.
 *
 * @example
 * ```ts
 * import { sampleRatioP } from "@dowser/engine-sdk/experiments"
 *
 * sampleRatioP([5_400, 4_600], [1, 1]) // tiny: the visitors were not split in halves
 * ```
 */
export const sampleRatioP = (units: ReadonlyArray<number>, weights: ReadonlyArray<number>): number => {
  const total = weights.reduce((sum, weight) => sum + weight, 0),
    n = units.reduce((sum, count) => sum + count, 0)
  if (n === 0 || units.length < 2) return 1
  let log = logGamma(CONCENTRATION) - logGamma(CONCENTRATION + n)
  for (let i = 0; i < units.length; i++) {
    const share = weights[i]! / total,
      prior = CONCENTRATION * share
    log += logGamma(prior + units[i]!) - logGamma(prior) - units[i]! * Math.log(share)
  }
  return Math.min(1, Math.exp(-log))
}
