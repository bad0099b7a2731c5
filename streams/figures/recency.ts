/**
 * Recent use as a sum that only grows: a search weighs twice as much as one a week earlier (forward decay, Cormode et
 * al., 2009), so stored sums never need to be decayed. Only ratios of weights are meaningful. Pure.
 *
 * A day's weight is an eleven-bit integer times a power of two: sums and retractions are exact in doubles for searches
 * within twenty weeks of each other, in whatever order they are added.
 */
import { DAY_MS } from "./grain.ts"

const HALF_LIFE_DAYS = 7
/** 1 January 2026. Doubles suffice for 1,000 half-lives from here. */
const FIRST_DAY = Date.UTC(2026, 0, 1) / DAY_MS

/** The weight of a search at `at` (ms), by day, so that all searches of a day weigh the same. */
export const weightOf = (at: number): number => {
  const day = Math.floor(at / DAY_MS) - FIRST_DAY
  const halves = Math.floor(day / HALF_LIFE_DAYS)
  return Math.round(2 ** ((day - halves * HALF_LIFE_DAYS) / HALF_LIFE_DAYS) * 1_024) * 2 ** halves
}
