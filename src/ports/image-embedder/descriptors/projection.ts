/**
 * Reduces many numbers to few by sums with signs from a seed (Achlioptas, "Database-friendly random projections",
 * 2003), which approximately keep angles. The signs are part of the model: other signs make incomparable vectors. Pure.
 */
const SEED = 0x5eed_1a7e

/** xorshift32, one bit per sign. */
const signsOf = (n: number): Int8Array => {
  const signs = new Int8Array(n)
  let state = SEED
  for (let i = 0; i < n; i++) {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    signs[i] = (state >>> 31) * 2 - 1
  }
  return signs
}
export class Projection {
  readonly #signs: Int8Array
  readonly #to: number

  constructor(from: number, to: number) {
    this.#signs = signsOf(from * to)
    this.#to = to
  }
  /** O(from × to), less if most of the numbers are 0. */
  project(given: Float32Array): Float32Array {
    const to = this.#to
    const made = new Float32Array(to)
    for (let i = 0; i < given.length; i++) {
      const value = given[i]!
      if (value === 0) continue
      for (let j = 0, at = i * to; j < to; j++, at++) made[j]! += value * this.#signs[at]!
    }
    return made
  }
}
