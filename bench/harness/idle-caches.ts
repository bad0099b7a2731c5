/**
 * What a pause costs on this machine: a fixed walk through memory that fits a processor's second cache, at once and
 * after a pause of the length between searches at a low rate. In the meantime a virtual machine's host may let others
 * use the processor, and its caches lose their content; then every search costs more, whatever the program does.
 */
import { round } from "./harness.ts"

const CELLS = 65_536,
  STEPS = 20_000,
  ROUNDS = 200,
  PAUSE_MS = 6
/** A multiplier and an increment for which the walk visits every cell. */
const MULTIPLIER = 40_503 * 4 + 1,
  INCREMENT = 12_345

const median = (values: ReadonlyArray<number>): number => values.toSorted((a, b) => a - b)[values.length >> 1]!

interface IdleCaches {
  readonly walk_ms: number
  readonly walk_after_pause_ms: number
  readonly ratio: number
}
/** Takes two seconds. */
export const idleCaches = async (): Promise<IdleCaches> => {
  const cells = Uint32Array.from({ length: CELLS }, (_, i) => ((Math.imul(i, MULTIPLIER) + INCREMENT) % CELLS) >>> 0)
  let at = 0
  const walked_ms = (): number => {
    const began = performance.now()
    for (let step = 0; step < STEPS; step++) at = cells[at]! % CELLS
    return performance.now() - began
  }
  const atOnce: Array<number> = [],
    paused: Array<number> = []
  for (let round_ = 0; round_ < ROUNDS; round_++) atOnce.push(walked_ms())
  for (let round_ = 0; round_ < ROUNDS; round_++) {
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
    paused.push(walked_ms())
  }
  const [walk_ms, walk_after_pause_ms] = [median(atOnce), median(paused)]
  return {
    walk_ms: round(walk_ms),
    walk_after_pause_ms: round(walk_after_pause_ms),
    ratio: round(walk_after_pause_ms / walk_ms, 1)
  }
}
