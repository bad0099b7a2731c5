/**
 * The assignment written as its definition, with the library's SHA-256 and exact integers; it produced the golden
 * vectors. Weights are integers, and traffic is a share in millionths.
 */
import { createHash } from "node:crypto"

const bitsOf = (seed: string, unit: string): bigint =>
  BigInt(
    `0x${createHash("sha256")
      .update(Buffer.concat([Buffer.from(seed), Buffer.from([0x1f]), Buffer.from(unit)]))
      .digest("hex")
      .slice(0, 12)}`
  )

export interface Case {
  readonly experiment_id: string
  readonly run: number
  readonly traffic: number
  readonly weights: ReadonlyArray<number>
  readonly unit: string
}

/** The index of the variant, or null for a unit that takes no part. */
export const slowVariantOf = ({ experiment_id, run, traffic, unit, weights }: Case): number | null => {
  const millionths = BigInt(Math.round(traffic * 1_000_000))
  if (bitsOf(`${experiment_id}/${run}/traffic`, unit) * 1_000_000n >= millionths * 2n ** 48n) return null
  const total = weights.reduce((sum, weight) => sum + BigInt(weight), 0n)
  const at = bitsOf(`${experiment_id}/${run}/variant`, unit) * total
  let end = 0n
  return weights.findIndex((weight) => {
    end += BigInt(weight)
    return at < end * 2n ** 48n
  })
}
