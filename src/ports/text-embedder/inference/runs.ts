/**
 * Texts given to the model together: of nearly equal length, because all texts of a run take as long as its longest,
 * and no more than fits the time that others may wait. Pure.
 */

/** Indexes of texts of one run, by the lengths of all: shortest first, texts of no length in none. */
export const runsOf = (lengths: ReadonlyArray<number>, tokensMax: number): ReadonlyArray<ReadonlyArray<number>> => {
  const runs: Array<Array<number>> = []
  const order = lengths.map((_, index) => index).filter((index) => lengths[index]! > 0)
  for (const index of order.toSorted((a, b) => lengths[a]! - lengths[b]!)) {
    const run = runs.at(-1)
    // In order of length: the one that comes is the longest of them.
    if (run !== undefined && (run.length + 1) * lengths[index]! <= tokensMax) run.push(index)
    else runs.push([index])
  }
  return runs
}

const RUN_MS = 40
const TOKENS_LEAST = 32,
  TOKENS_MOST = 2_048

/** How many tokens take `RUN_MS`, learned from runs. */
export class Pace {
  #tokensPerMs = 2

  get tokensMax(): number {
    return Math.min(TOKENS_MOST, Math.max(TOKENS_LEAST, Math.floor(RUN_MS * this.#tokensPerMs)))
  }
  took(tokens: number, ms: number): void {
    this.#tokensPerMs += 0.2 * (tokens / Math.max(0.1, ms) - this.#tokensPerMs)
  }
}
