/**
 * Groups texts that are given to the model together: of similar length, because every text of a run takes as long as
 * the longest, and no more than fit the time that others may have to wait. Pure.
 */

/** Indexes of the texts of each run, given the lengths of all: shortest first; texts of length zero are in no run. */
export const runsOf = (lengths: ReadonlyArray<number>, tokensMax: number): ReadonlyArray<ReadonlyArray<number>> => {
  const runs: Array<Array<number>> = []
  const order = lengths.map((_, index) => index).filter((index) => lengths[index]! > 0)
  for (const index of order.toSorted((a, b) => lengths[a]! - lengths[b]!)) {
    const run = runs.at(-1)
    // Sorted by length, so the current text is the longest of its run.
    if (run !== undefined && (run.length + 1) * lengths[index]! <= tokensMax) run.push(index)
    else runs.push([index])
  }
  return runs
}

const RUN_MS = 40
const TOKENS_LEAST = 32,
  TOKENS_MOST = 2_048

/** Learns from past runs how many tokens take `RUN_MS`. */
export class Pace {
  #tokensPerMs = 2

  get tokensMax(): number {
    return Math.min(TOKENS_MOST, Math.max(TOKENS_LEAST, Math.floor(RUN_MS * this.#tokensPerMs)))
  }
  took(tokens: number, ms: number): void {
    this.#tokensPerMs += 0.2 * (tokens / Math.max(0.1, ms) - this.#tokensPerMs)
  }
}
