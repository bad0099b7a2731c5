/**
 * Adjusts the p-values of several variants against one control (Holm 1979), so that the chance of any false positive
 * among all of them is no greater than for a single test. In the order given.
 *
 * @example
 * ```ts
 * import { holm } from "@dowser/engine-sdk/experiments"
 *
 * holm([0.01, 0.04]) // [0.02, 0.04]
 * ```
 */
export const holm = (ps: ReadonlyArray<number>): ReadonlyArray<number> => {
  const order = ps.map((_p, i) => i).sort((a, b) => ps[a]! - ps[b]!)
  const adjusted = ps.map(() => 1)
  let most = 0
  order.forEach((index, rank) => {
    most = Math.max(most, Math.min(1, ps[index]! * (ps.length - rank)))
    adjusted[index] = most
  })
  return adjusted
}
