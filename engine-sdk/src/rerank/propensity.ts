/**
 * How likely a visitor looks at a row of a list (counted from 0). Training and judgments from clicks divide by it.
 *
 * @example
 * ```ts
 * import { propensityOf } from "@dowser/engine-sdk/rerank"
 *
 * propensityOf(0) // 1
 * propensityOf(2) // 0.5
 * ```
 */
export const propensityOf = (row: number): number => 1 / Math.log2(row + 2)
