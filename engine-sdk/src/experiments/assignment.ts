/**
 * The variant of an experiment that a unit (a session, a user) is shown. Pure and stateless: anyone who knows the
 * experiment's id, its run number, traffic and weights computes the same variant, even offline, so assignment is sticky
 * across processes and restarts without a table.
 */
import { first48Bits, paddedLength } from "./sha-256.ts"

const SEPARATOR = 0x1f
const encoder = new TextEncoder()
/** Reused for every short text, so that a search allocates nothing. */
const shared = new Uint8Array(1_024)

/**
 * A unit's position between 0 and 1: 48 bits of SHA-256(seed, 0x1f, unit) / 2^48, both texts in UTF-8. Uniform over
 * units, and independent between seeds.
 *
 * @example
 * ```ts
 * import { shareOf } from "@dowser/engine-sdk/experiments"
 *
 * shareOf("exp_1/1/variant", "visitor-7") // the same number between 0 and 1 on every call
 * ```
 */
export const shareOf = (seed: string, unit: string): number => {
  // UTF-8 takes at most three bytes for each UTF-16 unit of a text.
  const room = paddedLength(3 * (seed.length + unit.length) + 1)
  const bytes = room <= shared.length ? shared : new Uint8Array(room)
  const { written } = encoder.encodeInto(seed, bytes)
  bytes[written] = SEPARATOR
  const rest = encoder.encodeInto(unit, bytes.subarray(written + 1))
  return first48Bits(bytes, written + 1 + rest.written) / 2 ** 48
}

/**
 * One seed decides whether a unit takes part, and another one its variant, so raising the traffic adds units without
 * moving those already in. Each run has its own seeds, so a variant with lucky units in one run does not get the same
 * units in the next.
 *
 * @example
 * ```ts
 * import { seedsOf, variantOf } from "@dowser/engine-sdk/experiments"
 *
 * const split = { seeds: seedsOf("exp_1", 1), traffic: 0.5, weights: [1, 1] }
 * const variant = variantOf(split, "visitor-7")
 * ```
 */
export const seedsOf = (experimentId: string, run: number): { readonly traffic: string; readonly variant: string } => ({
  traffic: `${experimentId}/${run}/traffic`,
  variant: `${experimentId}/${run}/variant`
})

export interface Split {
  readonly seeds: { readonly traffic: string; readonly variant: string }
  /** Share of units that take part, 0 to 1. */ readonly traffic: number
  /** Weight of each variant, positive; only their ratio counts. */ readonly weights: ReadonlyArray<number>
}

/**
 * The index of the unit's variant: the first one at which the cumulative weight exceeds the unit's share of all
 * weights. undefined for a unit that takes no part. Takes some 2 µs, and twice that if `traffic` is below 1.
 *
 * @example
 * ```ts
 * import { seedsOf, variantOf } from "@dowser/engine-sdk/experiments"
 *
 * const split = { seeds: seedsOf("exp_1", 1), traffic: 0.5, weights: [1, 1] }
 * variantOf(split, "visitor-7") // 0, 1, or undefined: takes no part
 * ```
 */
export const variantOf = ({ seeds, traffic, weights }: Split, unit: string): number | undefined => {
  if (traffic < 1 && shareOf(seeds.traffic, unit) >= traffic) return undefined
  let total = 0
  for (const weight of weights) total += weight
  const at = shareOf(seeds.variant, unit) * total
  let end = 0
  for (let i = 0; i < weights.length; i++) {
    end += weights[i]!
    if (at < end) return i
  }
  // A sum of doubles may end slightly below the total.
  return weights.length - 1
}
