/**
 * Quantiles of times from counts in buckets that grow by 5 % (as in DDSketch, Masson et al. 2019): every quantile is
 * within 2.5 % of the true one, two sketches are merged by adding counts, and there are some 370 buckets, no matter how
 * many times were counted.
 */
const GROWTH = 1.05
/** A minute, in microseconds; longer times are counted in the last bucket. */
const LONGEST_US = 60_000_000
/**
 * Maximum number of buckets in a sketch of times.
 *
 * @example
 * ```ts
 * import { BUCKETS_MAX } from "@dowser/engine-sdk/experiments"
 *
 * const counts = new Array<number>(BUCKETS_MAX).fill(0)
 * ```
 */
export const BUCKETS_MAX = Math.ceil(Math.log(LONGEST_US) / Math.log(GROWTH)) + 1

/**
 * Bucket of a time in microseconds.
 *
 * @example
 * ```ts
 * import { bucketOf, quantileOf } from "@dowser/engine-sdk/experiments"
 *
 * const sketch = [[bucketOf(12_000), 40]] as const
 * quantileOf(sketch, 0.95) // some 12,000 µs
 * ```
 */
export const bucketOf = (took_us: number): number =>
  took_us <= 1 ? 0 : Math.min(BUCKETS_MAX - 1, Math.ceil(Math.log(took_us) / Math.log(GROWTH)))
/** The time in the middle of a bucket. */
const timeOf = (bucket: number): number => (bucket === 0 ? 1 : (2 * GROWTH ** bucket) / (GROWTH + 1))

/** Counts by bucket. */
export type Sketch = ReadonlyArray<readonly [bucket: number, count: number]>

const countOf = (sketch: Sketch): number => sketch.reduce((sum, [, count]) => sum + count, 0)
/** The first bucket at which the cumulative count reaches `share` of all; undefined if there are none. */
const bucketAt = (sketch: Sketch, share: number): number | undefined => {
  const wanted = share * countOf(sketch)
  let sum = 0
  let last: number | undefined
  for (const [bucket, count] of sketch.toSorted(([a], [b]) => a - b)) {
    if (count <= 0) continue
    sum += count
    last = bucket
    if (sum >= wanted) return bucket
  }
  return last
}
/**
 * In microseconds; undefined without times.
 *
 * @example
 * ```ts
 * import { bucketOf, quantileOf } from "@dowser/engine-sdk/experiments"
 *
 * quantileOf([[bucketOf(900), 99], [bucketOf(40_000), 1]], 0.5) // some 900 µs
 * ```
 */
export const quantileOf = (sketch: Sketch, share: number): number | undefined => {
  const bucket = bucketAt(sketch, share)
  return bucket === undefined ? undefined : timeOf(bucket)
}

/**
 * How far the rank of the true quantile may be from `share` among `n` times, simultaneously for all n, except with
 * probability `alpha` (Howard & Ramdas 2022, theorem 1, stitched).
 */
const reach = (share: number, n: number, alpha: number): number => {
  const l = (1.4 * Math.log(Math.log(2.1 * n)) + Math.log(10 / alpha)) / n
  return 1.5 * Math.sqrt(share * (1 - share) * l) + 0.8 * l
}
const isSlowerFor = (control: Sketch, variant: Sketch, share: number, alpha: number): boolean => {
  const upper = share + reach(share, countOf(control), alpha / 2)
  const lower = share - reach(share, countOf(variant), alpha / 2)
  if (upper >= 1 || lower <= 0) return false
  return bucketAt(variant, lower)! > bucketAt(control, upper)!
}

/** Minimum number of times in each variant for a result. */
const TIMES_MIN = 100
const HALVINGS = 40

/**
 * A p-value for whether the variant's quantile is greater than the control's, at any number of looks: the least alpha
 * at which the two confidence sequences are disjoint. Assumes independent times; on a server they mostly are.
 *
 * @example
 * ```ts
 * import { bucketOf, slowerP } from "@dowser/engine-sdk/experiments"
 *
 * slowerP([[bucketOf(900), 5_000]], [[bucketOf(1_200), 5_000]], 0.5) // small: the variant is slower
 * ```
 */
export const slowerP = (control: Sketch, variant: Sketch, share: number): number => {
  if (Math.min(countOf(control), countOf(variant)) < TIMES_MIN || !isSlowerFor(control, variant, share, 1)) return 1
  let [low, high] = [-40, 0]
  if (isSlowerFor(control, variant, share, Math.exp(low))) return Math.exp(low)
  for (let i = 0; i < HALVINGS; i++) {
    const middle = (low + high) / 2
    if (isSlowerFor(control, variant, share, Math.exp(middle))) high = middle
    else low = middle
  }
  return Math.exp(high)
}
