/**
 * When a search stops looking (`search_cutoff_ms`). Whoever goes through many documents asks the clock every few thousand of
 * them. Candidates that are missing make an answer incomplete, which it says; a filter that is incomplete would be wrong
 * (under a negation it lets too much through), so it is given up as a whole and lets nothing through.
 */
export class Cutoff {
  private readonly at: number
  /** Somebody has stopped. */ isPast = false
  /** In `performance.now()`. */
  constructor(at: number) { this.at = at }
  check(): boolean { return this.isPast ||= performance.now() > this.at }
  /** For a later part of the search, which gets so much time in any case: what was found in time is worth ordering and counting. */
  atLeast(ms: number): Cutoff { return new Cutoff(Math.max(this.at, performance.now() + ms)) }
}
/** Documents between two looks at the clock, less one. */
export const CUTOFF_STEP_MASK = 4_095
/** Thrown inside of a filter, and caught where it was begun. */
export const FILTER_GIVEN_UP = Symbol("time ran out inside of a filter")
