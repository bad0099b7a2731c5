/** Shared by `crash-vectors.test.ts` and its child. */
import { randomOf } from "./random.ts"

export const COUNT = 3_000
export const DIMENSIONS = 64
/** The vector of a document in its n-th version. */
export const vectorOf = (at: number, n: number): number[] => {
  const { next } = randomOf(at * 7_919 + n)
  return Array.from({ length: DIMENSIONS }, () => Math.fround(next() - 0.5))
}
