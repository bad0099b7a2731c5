/**
 * Several variants against one control (Holm 1979): each p as large as it must be for one false find in all of them to
 * stay as unlikely as in one. In the order given.
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
